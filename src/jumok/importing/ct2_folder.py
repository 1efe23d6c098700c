"""A folder of CTranslate2: its variables under our names, its vocabulary, and the tokenizer beside them.

Codes of int8 and int16 are turned back into the numbers that they stand for. Such a folder does not say how a
text is cut: the SentencePiece models or the tokenizer.json must lie in it, or in a folder that is named.
"""

from math import isclose, sqrt
from typing import Any

from jumok.architectures import Activation, TransformerConfig
from jumok.errors import Error, ModelError
from jumok.importing.bart_family import tensor2tensor_waves
from jumok.importing.blueprint import Blueprint, linear, norm
from jumok.importing.brought import COPY, BroughtFolder
from jumok.importing.ct2_file import dequantised, read_variables
from jumok.importing.ct2_vocabulary import frame_of, places_of, read_cuts, read_tokens, vocabulary_of
from jumok.importing.incoming import Incoming
from jumok.importing.stored import Made, Parts, ready
from jumok.importing.vocabulary import LaidVocabulary, lay_vocabulary
from jumok.text.foreign import ForeignTokenizer
from jumok.text.tokenizer import Tokenizers

ACTIVATIONS: dict[int, Activation] = {0: "relu", 1: "gelu_tanh", 2: "silu", 3: "gelu"}
COMPUTED = 1024  # rows of a table that CTranslate2 computes
UNKNOWN_PARTS = (
    "relative_position_keys",
    "relative_asymmetric_position_keys",
    "rotary_dim",
    "num_heads_kv",
    "project_in",
    "q_norm",
    "sliding_window",
    "post_attention_layer_norm",
    "input_layer_norm",
)
FLAGS = ("alibi", "scale_alibi", "alibi_use_positive_positions", "multi_query_attention")


class Ct2Parts(Parts):
    """Variables by name; a matrix of codes comes with its scale."""

    def scalar(self, name: str, usual: float = 0) -> float:
        stored = self.tensors.get(name)
        self.taken.add(name)
        return usual if stored is None else float(stored.read().reshape(-1)[0])

    def matrix(self, name: str, *shape: int) -> Made:
        made = self.take(name, *shape)
        scale = self.tensors.get(f"{name}_scale")
        self.taken.add(f"{name}_scale")
        return made if scale is None else dequantised(self.tensors[name], scale)

    def maybe(self, name: str, *shape: int) -> Made | None:
        return self.take(name, *shape) if name in self else None


def read_ct2(folder: BroughtFolder, beside: BroughtFolder | None, languages: tuple[str, str]) -> Incoming:
    """The model of a folder of CTranslate2; its tokenizer lies in `beside`, or in the folder itself."""
    path = folder.file("model.bin")
    folder.digest("model.bin")
    name, variables = read_variables(path)
    if name != "TransformerSpec":
        raise ModelError(
            f"this is a {name[:60]} of CTranslate2, no encoder-decoder for text",
            where=str(path),
            hint="models whose specification is TransformerSpec can be imported",
            code="foreign_model",
        )
    parts = Ct2Parts(variables, str(path), "model.bin")
    settings = folder.object("config.json") if folder.has("config.json") else {}
    cuts = read_cuts(beside or folder)
    tokens = {side: read_tokens(folder, side) for side in ("source", "target")}
    rows = {
        "source": variables[embedding(parts, "encoder")].shape[0],
        "target": variables[embedding(parts, "decoder")].shape[0],
    }
    zero_start = bool(parts.scalar("decoder/start_from_zero_embedding"))
    shared = tokens["source"] == tokens["target"]
    laid = {}
    for n, side in enumerate(("source", "target")):
        chosen = cuts.cuts if shared else cuts.cuts[n : n + 1] or cuts.cuts
        vocabulary = vocabulary_of(tokens[side], cuts, chosen)
        laid[side] = lay_vocabulary(
            vocabulary, places_of(settings, vocabulary, folder, zero_start=zero_start), rows[side], str(path)
        )
    frame = frame_of(settings, tokens["target"], cuts)
    blueprint = make_ct2_blueprint(parts, settings, laid["source"], laid["target"], shared=shared)
    pair = (
        ForeignTokenizer(laid["target"].form).sides()
        if shared
        else (
            ForeignTokenizer(laid["source"].form),
            ForeignTokenizer(laid["target"].form, "target"),
        )
    )

    def opened() -> Any:
        from jumok.importing.ct2_original import Ct2Original

        return Ct2Original(folder.path, tokens["source"], tokens["target"], settings)

    return Incoming(
        family="transformer",
        program="CTranslate2",
        blueprint=blueprint,
        tokenizers=Tokenizers(*pair, frame),
        files={**folder.used, **(beside.used if beside else {})},
        source_rows=laid["source"].rows,
        target_rows=laid["target"].rows,
        open=opened,
        needs=("ctranslate2",),
        languages=languages,
    )


def embedding(parts: Parts, side: str) -> str:
    """The name of the table of a side."""
    names = (f"{side}/embeddings_0/weight", f"{side}/embeddings/weight")
    found = [name for name in names if name in parts]
    if not found or f"{side}/embeddings_1/weight" in parts or len(parts.tensors[found[0]].shape) != 2:
        raise ModelError(
            f"the {side} has no table of tokens, or several", where=parts.where, code="unsupported"
        )
    return found[0]


def refuse_strange(parts: Ct2Parts) -> None:
    """Refuse a model with parts that nothing here computes."""
    if strange := sorted({name for name in parts.tensors for part in UNKNOWN_PARTS if part in name}):
        raise ModelError(
            f"the model has {strange[0]}, which no setting here computes",
            where=parts.where,
            code="unsupported",
        )
    for side in ("encoder", "decoder"):
        for flag in FLAGS:
            if parts.scalar(f"{side}/{flag}"):
                raise ModelError(f"the model has {side}/{flag}", where=parts.where, code="unsupported")


def ct2_config(parts: Ct2Parts, settings: dict[str, Any]) -> TransformerConfig:
    """Our settings of such a model, by its variables."""
    refuse_strange(parts)
    layers = {
        side: len(
            {
                name.split("/")[1]
                for name in parts.tensors
                if name.startswith(f"{side}/layer_") and "layer_norm" not in name.split("/")[1]
            }
        )
        for side in ("encoder", "decoder")
    }
    _, width = parts.tensors[embedding(parts, "decoder")].shape
    heads = int(parts.scalar("decoder/num_heads", 8))
    first = "encoder/layer_0/self_attention"
    relative = f"{first}/relative_attention_bias" in parts
    rms = f"{first}/layer_norm/beta" not in parts
    each = int(parts.scalar(f"{first}/head_dim"))
    activation = int(parts.scalar("decoder/activation"))
    if activation not in ACTIVATIONS:
        raise ModelError(
            f"the activation {activation} of CTranslate2 is unknown", where=parts.where, code="unsupported"
        )
    epsilon = settings.get("layer_norm_epsilon") or (1e-6 if rms else 1e-5)
    inner = parts.tensors.get("encoder/layer_0/ffn/linear_0/weight")
    across = (
        parts.tensors[f"{first}/linear_0/weight"].shape[0] // 3
        if f"{first}/linear_0/weight" in parts
        else width
    )
    table = parts.tensors.get("decoder/position_encodings/encodings")
    outputs = parts.scalar("decoder/scale_outputs", 1)
    return TransformerConfig(
        encoder_layers=layers["encoder"],
        decoder_layers=layers["decoder"],
        width=width,
        heads=heads,
        feedforward=inner.shape[0] if inner else 0,
        norm="pre" if parts.scalar("decoder/pre_norm", 1) else "post",
        rms_norm=rms,
        norm_epsilon=float(epsilon),
        scaled=not isclose(parts.scalar(f"{first}/queries_scale", (each or width // heads) ** -0.5), 1.0),
        positions="relative" if relative else "learned",
        max_positions=table.shape[0] if table else COMPUTED,
        buckets=parts.tensors[f"{first}/relative_attention_bias"].shape[0] if relative else 32,
        max_distance=int(parts.scalar(f"{first}/relative_attention_max_distance", 128)),
        activation=ACTIVATIONS[activation],
        gated="encoder/layer_0/ffn/linear_0_noact/weight" in parts,
        head_width=0 if across == width else across // heads,
        embedding_norm="encoder/layernorm_embedding/gamma" in parts,
        embedding_scaled=is_scaled(parts, width) or (outputs != 1 and is_tied(parts)),
        logits_bias=True,
        tied=is_tied(parts),
    )


def is_scaled(parts: Ct2Parts, width: int) -> bool:
    """Whether embeddings are multiplied by sqrt(D): a switch, or the number itself."""
    stored = parts.tensors.get("decoder/scale_embeddings")
    value = parts.scalar("decoder/scale_embeddings", 1)
    if stored is None or stored.kind == "I8":
        return bool(value)
    if not any(isclose(value, known, rel_tol=1e-4) for known in (0, 1, sqrt(width))):
        raise ModelError(f"embeddings are multiplied by {value:g}", where=parts.where, code="unsupported")
    return value > 1


def is_tied(parts: Parts) -> bool:
    return parts.tensors.get("decoder/projection/weight") == parts.tensors[embedding(parts, "decoder")]


def make_ct2_blueprint(
    parts: Ct2Parts, settings: dict[str, Any], source: LaidVocabulary, target: LaidVocabulary, *, shared: bool
) -> Blueprint:
    """Each tensor of ours by what it is made of there."""
    try:
        config = ct2_config(parts, settings)
    except Error:
        raise
    except (ValueError, TypeError, LookupError, ArithmeticError) as error:
        raise ModelError(
            f"the variables or config.json are none of a Transformer ({str(error)[:100]})",
            where=parts.where,
            hint=COPY,
            code="damaged",
        ) from None
    width, shrink = config.width, parts.scalar("decoder/scale_outputs", 1)
    tensors: dict[str, Made] = {}
    for side, laid, ours in (("encoder", source, "source"), ("decoder", target, "target")):
        table = laid.table(parts.matrix(embedding(parts, side), int(laid.rows.max()) + 1, width))
        if side == "decoder" or not shared:
            tensors[f"{ours}_embedding.weight"] = table.times(shrink if config.tied else 1.0)
        tensors |= _around(parts, config, side, ours)
        for n in range(getattr(config, f"{side}_layers")):
            tensors |= _layer(parts, f"{side}.{n}", f"{side}/layer_{n}", config)
    head = parts.matrix("decoder/projection/weight", int(target.rows.max()) + 1, width)
    if not config.tied:
        tensors["output.weight"] = target.table(head).times(shrink)
    tensors["logits_bias"] = target.bias(parts.maybe("decoder/projection/bias", int(target.rows.max()) + 1))
    ignored = (
        "num_heads",
        "pre_norm",
        "activation",
        "alignment_layer",
        "alignment_heads",
        "embeddings_merge",
        "scale_embeddings",
    )
    parts.leave(*(f"{side}/{name}" for side in ("encoder", "decoder") for name in ignored))
    parts.leave(
        *(
            name
            for name in parts.tensors
            if name.endswith(
                (
                    "queries_scale",
                    "head_dim",
                    "relative_attention_bias",
                    "relative_attention_max_distance",
                    "layer_norm_use_residual",
                    "multiply_by_sqrt_depth",
                )
            )
        )
    )
    parts.finish()
    return Blueprint(config, tensors)


def _around(parts: Ct2Parts, config: TransformerConfig, side: str, ours: str) -> dict[str, Made]:
    """What a side has besides its layers: places, norms, distances."""
    width, found = config.width, dict[str, Made]()
    if config.positions == "learned":
        name = f"{side}/position_encodings/encodings"
        computed = ready(tensor2tensor_waves(1, config.max_positions, width))
        found[f"{ours}_positions.table"] = parts.maybe(name, config.max_positions, width) or computed
    else:
        bias = f"{side}/layer_0/self_attention/relative_attention_bias"
        found[f"{side}_bias.weight"] = parts.take(bias, config.buckets, config.heads)
    if config.embedding_norm:
        found |= _norm(parts, f"{ours}_norm", f"{side}/layernorm_embedding", config)
    if config.norm == "pre":
        found |= _norm(parts, f"{side}_norm", f"{side}/layer_norm", config)
    return found


def _norm(parts: Ct2Parts, ours: str, theirs: str, config: TransformerConfig) -> dict[str, Made]:
    bias = None if config.rms_norm else parts.take(f"{theirs}/beta", config.width)
    return norm(ours, parts.take(f"{theirs}/gamma", config.width), bias)


def _layer(parts: Ct2Parts, ours: str, theirs: str, config: TransformerConfig) -> dict[str, Made]:
    """The weights of one layer; queries, keys and values lie below each other as ours do."""
    width, inner = config.width, config.feedforward
    across = config.heads * (config.head_width or width // config.heads)

    def dense(name: str, their: str, rows: int, columns: int) -> dict[str, Made]:
        weight = parts.matrix(f"{theirs}/{their}/weight", rows, columns)
        return linear(f"{ours}.{name}", weight, parts.maybe(f"{theirs}/{their}/bias", rows))

    found = dense("attention.project.linear", "self_attention/linear_0", 3 * across, width)
    found |= dense("attention.output.linear", "self_attention/linear_1", width, across)
    found |= _norm(parts, f"{ours}.add_attention.norm", f"{theirs}/self_attention/layer_norm", config)
    if ours.startswith("decoder"):
        found |= dense("cross.project_query.linear", "attention/linear_0", across, width)
        found |= dense("cross.project_memory.linear", "attention/linear_1", 2 * across, width)
        found |= dense("cross.output.linear", "attention/linear_2", width, across)
        found |= _norm(parts, f"{ours}.add_cross.norm", f"{theirs}/attention/layer_norm", config)
    found |= dense("feedforward.inner", "ffn/linear_0", inner, width)
    if config.gated:
        found |= dense("feedforward.gate", "ffn/linear_0_noact", inner, width)
    found |= dense("feedforward.outer", "ffn/linear_1", width, inner)
    return found | _norm(parts, f"{ours}.add_feedforward.norm", f"{theirs}/ffn/layer_norm", config)
