"""CTranslate2: a folder that `ctranslate2.Translator` opens, made through its own specification objects.

The folder also has our tokenizer. The vocabulary is our tokens as they are, a leading space included. A
source is given without its end: CTranslate2 adds it, and starts from `<s>`.
"""

import json
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from jumok.answers import Answer, ranked
from jumok.checkpoint.model import LoadedModel
from jumok.config import RunConfig, TransformerConfig
from jumok.errors import ModelError
from jumok.export.foreign_files import every_row, names_in_order
from jumok.export.format import WriteOptions
from jumok.export.layouts import position_table, projections, table_rows
from jumok.native.library import thread_count
from jumok.native.shortlist import NO_TEXT
from jumok.text.foreign import ForeignTokenizer
from jumok.text.tokenizer import BOS, EOS, FIRST_BYTE, PAD, SPECIALS, UNK, Tokenizer

TYPES = ("float32", "int8")
NEEDS = ("ctranslate2",)
EXTRA = "ct2"
FILE = False

POSITIONS = 1024  # rows of a table that is computed; CTranslate2 cuts a source there unless told otherwise
NEVER = (BOS, PAD, UNK, *(FIRST_BYTE + byte for byte in NO_TEXT))
HIGH = tuple(range(FIRST_BYTE + 0x80, FIRST_BYTE + 0x100))
"""Bytes that are a part of a character."""

Spell = Callable[[str], str]
Ids = Sequence[int]
Weights = Mapping[str, Tensor]
SIDES = ("source", "target")


def check(config: RunConfig) -> list[str]:
    """Why CTranslate2 cannot run such a model."""
    model, reasons = config.model, list[str]()
    if not isinstance(model, TransformerConfig):
        return [f"it has no {model.arch} models (model.arch={model.arch}), only Transformers"]
    if not model.residual:
        reasons.append("its layers always add to their input (model.residual=false)")
    if model.norm == "none":
        reasons.append("its layers always have a norm (model.norm=none)")
    if model.copy:
        reasons.append("CTranslate2 has no pointing at the source (model.copy=true)")
    return reasons


def write(loaded: LoadedModel, folder: Path, options: WriteOptions) -> None:
    """model.bin, config.json and the vocabularies of CTranslate2, and our tokenizer beside them."""
    write_model(loaded, folder, options)
    for name, data in loaded.tokenizers.files().items():
        (folder / name).write_bytes(data)


def write_model(loaded: LoadedModel, folder: Path, options: WriteOptions, spell: Spell = str) -> None:
    """CTranslate2's own files; `spell` turns a token of ours into its name in the vocabulary."""
    options.progress("writing for ctranslate2", 0, 3)
    spec = make_spec(loaded, spell)
    options.progress("writing for ctranslate2", 1, 3)
    spec.validate()
    spec.optimize(quantization=options.type)
    options.progress("writing for ctranslate2", 2, 3)
    spec.save(str(folder))
    options.progress("writing for ctranslate2", 3, 3)


class CTranslate2Answerer:
    """Answers through `ctranslate2.Translator`, which uses one thread for each sentence at work.

    It cannot be told which bytes make a character, nor our length penalty: all answers of its beam are scored
    once more, broken ones go, and ours is the order.
    """

    def __init__(self, folder: Path) -> None:
        import ctranslate2

        self._source, self._target = vocabularies(folder)
        self._ids = {name: i for i, name in enumerate(self._target)}
        try:
            self._translator: Any = ctranslate2.Translator(
                str(folder), inter_threads=thread_count(), intra_threads=1
            )
        except RuntimeError as error:
            raise ModelError(
                f"ctranslate2 cannot open the model: {error}", where=str(folder), hint="export it again"
            ) from None

    def answer(
        self, sources: Sequence[Ids], limits: Sequence[int], *, beam: int, length_penalty: float
    ) -> list[Answer]:
        """The best answer to each source; those with the same limit go together."""
        groups = defaultdict[int, list[int]](list)
        for i, limit in enumerate(limits):
            groups[limit].append(i)
        best: dict[int, Answer] = {}
        for limit, places in groups.items():
            beams = self._search([sources[i] for i in places], limit, beam)
            best |= {i: ranked(answers, length_penalty)[0] for i, answers in zip(places, beams, strict=True)}
        return [best[i] for i in range(len(sources))]

    def _search(self, sources: Sequence[Ids], limit: int, beam: int) -> list[list[Answer]]:
        """The answers to each source, of at most `limit` tokens, with log-probabilities."""
        beams = self._beams(sources, limit, beam, NEVER)
        broken = [i for i, answers in enumerate(beams) if any(map(is_broken, answers))]
        if broken:  # a second try without the bytes of which some made no character
            again = self._beams([sources[i] for i in broken], limit, beam, (*NEVER, *HIGH))
            for i, answers in zip(broken, again, strict=True):
                beams[i] = [ids for ids in beams[i] if not is_broken(ids)] or answers
        pairs = [(source, ids) for source, answers in zip(sources, beams, strict=True) for ids in answers]
        scored = self._translator.score_batch(
            [[self._source[i] for i in source] for source, _ in pairs],
            [[self._target[i] for i in ids if i != EOS] for _, ids in pairs],
            max_input_length=0,
        )
        made = (as_answer(ids, score.log_probs) for (_, ids), score in zip(pairs, scored, strict=True))
        return [[next(made) for _ in answers] for answers in beams]

    def _beams(
        self, sources: Sequence[Ids], limit: int, beam: int, never: Ids
    ) -> list[list[tuple[int, ...]]]:
        """The answers of each beam without the ids in `never`, each with its end if it has one."""
        results = self._translator.translate_batch(
            [self.cut(source) for source in sources],
            beam_size=beam,
            num_hypotheses=beam,
            suppress_sequences=[[self._target[i]] for i in never],
            return_end_token=True,
            max_input_length=0,
            max_decoding_length=limit,
            min_decoding_length=0,
        )
        return [
            [tuple(self._ids[name] for name in names) for names in result.hypotheses] for result in results
        ]

    def cut(self, source: Ids) -> list[str]:
        """A source as it is searched for; a program that cuts text itself may have other tokens."""
        return [self._source[i] for i in source]


open = CTranslate2Answerer  # noqa: A001


def as_answer(ids: Ids, log_probs: Sequence[float]) -> Answer:
    """An answer from the ids of a beam and the log-probabilities of its tokens and of an end."""
    finished = bool(ids) and ids[-1] == EOS
    tokens = tuple(ids[:-1] if finished else ids)
    return Answer(tokens, tuple(float(value) for value in log_probs[: len(tokens) + finished]), finished)


def is_broken(ids: Ids) -> bool:
    """Whether some of the bytes make no character."""
    text = b"".join(bytes([i - FIRST_BYTE]) if FIRST_BYTE <= i < FIRST_BYTE + 256 else b" " for i in ids)
    try:
        text.decode()
    except UnicodeDecodeError:
        return True
    return False


def vocabularies(folder: Path) -> tuple[list[str], list[str]]:
    """The names of the source's and the target's tokens, in the order of their ids."""
    shared = folder / "shared_vocabulary.json"
    paths = [shared] * 2 if shared.exists() else [folder / f"{side}_vocabulary.json" for side in SIDES]
    source, target = (json.loads(path.read_text(encoding="utf-8")) for path in paths)
    return source, target


def make_spec(loaded: LoadedModel, spell: Spell = str) -> Any:
    """The model as CTranslate2 describes one; raises what it raises if a part is missing."""
    from ctranslate2.specs import transformer_spec

    config, ours = loaded.config.model, loaded.model.state_dict()
    assert isinstance(config, TransformerConfig)
    how = described(config)
    spec = transformer_spec.TransformerSpec(
        transformer_spec.TransformerEncoderSpec(config.encoder_layers, config.heads, **how),
        transformer_spec.TransformerDecoderSpec(config.decoder_layers, config.heads, **how),
    )
    source, target = (
        list(map(spell, names_of(one))) for one in (loaded.tokenizers.text_source, loaded.tokenizers.target)
    )
    spec.register_source_vocabulary(source)
    spec.register_target_vocabulary(target)
    bos, _, eos, unk = target[: len(SPECIALS)]
    spec.config.bos_token, spec.config.eos_token, spec.config.unk_token = bos, eos, unk
    spec.config.decoder_start_token, spec.config.layer_norm_epsilon = bos, config.norm_epsilon
    spec.config.add_source_bos, spec.config.add_source_eos = False, True

    spec.encoder.embeddings[0].weight = array(ours["source_embedding.weight"])
    spec.decoder.embeddings.weight = array(ours["target_embedding.weight"])
    output = "target_embedding.weight" if config.tied else "output.weight"
    spec.decoder.projection.weight = array(ours[output])
    if config.logits_bias:
        spec.decoder.projection.bias = array(ours["logits_bias"])
    for side, stack in (("encoder", spec.encoder), ("decoder", spec.decoder)):
        put_stack(stack, loaded, ours, side)
    return spec


def names_of(tokenizer: Tokenizer) -> list[str]:
    """A name for each token, which no other has: ours as shown, those from elsewhere as they were."""
    if isinstance(tokenizer, ForeignTokenizer):
        return names_in_order(tokenizer, every_row(tokenizer))
    return tokenizer.pieces(range(tokenizer.size))


def described(config: TransformerConfig) -> dict[str, Any]:
    """What a stack of layers is, in the words of CTranslate2's specification."""
    from ctranslate2.specs.common_spec import Activation

    kinds = {
        "relu": Activation.RELU,
        "gelu": Activation.GELU,
        "gelu_tanh": Activation.GELUTanh,
        "silu": Activation.SWISH,
    }
    return {
        "pre_norm": config.norm == "pre",
        "rotary_dim": 0 if config.positions == "rotary" else None,
        "activation": kinds[config.activation],
        "ffn_glu": config.gated,
        "rms_norm": config.rms_norm,
        "layernorm_embedding": config.embedding_norm,
        "relative_attention_bias": config.positions == "relative",
        "head_dim": config.head_width or None,
    }


def put_stack(spec: Any, loaded: LoadedModel, ours: Weights, side: str) -> None:
    """One side: positions, layers and the norms around them."""
    config = loaded.config.model
    assert isinstance(config, TransformerConfig)
    spec.scale_embeddings = config.embedding_scaled
    if config.positions not in ("rotary", "relative"):
        table = position_table(loaded.model, ours, side, table_rows(loaded.config, POSITIONS))
        spec.position_encodings.encodings = array(table)
    for n, layer in enumerate(spec.layer):
        put_layer(layer, ours, f"{side}.{n}", scaled=config.scaled)
        if config.positions == "relative":
            layer.self_attention.relative_attention_bias = array(ours[f"{side}_bias.weight"])
            layer.self_attention.relative_attention_max_distance = np.int32(config.max_distance)
    if config.embedding_norm:
        put_norm(spec.layernorm_embedding, ours, "source_norm" if side == "encoder" else "target_norm")
    if config.norm == "pre":
        put_norm(spec.layer_norm, ours, f"{side}_norm")


def put_layer(spec: Any, ours: Weights, name: str, *, scaled: bool) -> None:
    """The weights of one layer of either side."""
    put_attention(spec.self_attention, ours, f"{name}.attention", ["project"], scaled=scaled)
    put_norm(spec.self_attention.layer_norm, ours, f"{name}.add_attention.norm")
    if f"{name}.cross.output.linear.weight" in ours:
        names = ["project_query", "project_memory"]
        put_attention(spec.attention, ours, f"{name}.cross", names, scaled=scaled)
        put_norm(spec.attention.layer_norm, ours, f"{name}.add_cross.norm")
    put_linear(spec.ffn.linear_0, ours, f"{name}.feedforward.inner")
    if f"{name}.feedforward.gate.weight" in ours:
        put_linear(spec.ffn.linear_0_noact, ours, f"{name}.feedforward.gate")
    put_linear(spec.ffn.linear_1, ours, f"{name}.feedforward.outer")
    put_norm(spec.ffn.layer_norm, ours, f"{name}.add_feedforward.norm")


def put_attention(spec: Any, ours: Weights, name: str, stored: Sequence[str], *, scaled: bool) -> None:
    for linear, part in zip(spec.linear, stored, strict=False):
        weights, biases = zip(*projections(ours, f"{name}.{part}"), strict=True)
        linear.weight, linear.bias = array(torch.cat(weights)), array(torch.cat(biases))
    put_linear(spec.linear[-1], ours, f"{name}.output.linear")
    if not scaled:
        spec.queries_scale = 1.0


def put_linear(spec: Any, ours: Weights, name: str) -> None:
    spec.weight, spec.bias = array(ours[f"{name}.weight"]), array(ours[f"{name}.bias"])


def put_norm(spec: Any, ours: Weights, name: str) -> None:
    spec.gamma = array(ours[f"{name}.weight"])
    if f"{name}.bias" in ours:
        spec.beta = array(ours[f"{name}.bias"])


def array(tensor: Tensor) -> NDArray[np.float32]:
    """A copy in float32."""
    return tensor.detach().to("cpu", torch.float32).contiguous().numpy().copy()
