"""Marian's own format: weights and settings in one `.npz`, vocabulary and SentencePiece models beside it.

Marian computes x W, so its matrices are ours transposed. Waves stand sines first, then cosines.
"""

import json
import re

from jumok.architectures import Activation, TransformerConfig
from jumok.errors import ModelError, TokenizerFileError
from jumok.importing.blueprint import (
    Blueprint,
    alternating,
    cross_attention,
    linear,
    norm,
    reordered,
    self_attention,
)
from jumok.importing.brought import COPY, BroughtFolder, missing
from jumok.importing.incoming import Incoming
from jumok.importing.npz_file import read_npz
from jumok.importing.stored import Made, Parts
from jumok.importing.their_settings import TheirSettings
from jumok.importing.tokenizer_files import is_marker, listed_tokens, no_tokenizer, read_spm
from jumok.importing.vocabulary import ForeignVocabulary, LaidVocabulary, SpecialPlaces, lay_vocabulary
from jumok.text.foreign import ForeignTokenizer
from jumok.text.foreign_form import TextCut
from jumok.text.frame import END, PLAIN, TARGET, TEXT, Frame
from jumok.text.tokenizer import Tokenizers

ACTIVATIONS: dict[str, Activation] = {"relu": "relu", "swish": "silu", "gelu": "gelu"}
_LINE = re.compile(r"^([A-Za-z0-9_-]+):\s*(.*)$")
_WHOLE = re.compile(r"-?[0-9]{1,18}")
_ENTRY = re.compile(r"^(.+):\s+(\d+)\s*$")
PLAIN_ONES = {
    "transformer-preprocess": ("", "d"),
    "transformer-postprocess": ("dan",),
    "transformer-postprocess-emb": ("d", ""),
    "transformer-decoder-autoreg": ("self-attention",),
    "transformer-train-position-embeddings": ("false",),
}
"""What the layers must be like to be ours."""


def read_marian(
    folder: BroughtFolder, name: str, beside: BroughtFolder | None, languages: tuple[str, str]
) -> Incoming:
    """The model of a file of Marian, with the vocabulary and the SentencePiece models beside it."""
    folder.digest(name)
    tensors, text = read_npz(folder.file(name))
    where = str(folder.path / name)
    said = settings_of(text.decode("utf-8", "replace"), where)
    parts = Parts(tensors, where, "special:model.yml")
    vocabulary = read_marian_vocabulary(beside or folder)
    end, unknown = vocabulary.number("</s>"), vocabulary.number("<unk>")
    if end is None:
        raise TokenizerFileError("the vocabulary has no token </s>", where=str(folder.path))
    rows = parts.tensors["Wemb"].shape[0] if "Wemb" in parts else len(vocabulary.tokens)
    laid = lay_vocabulary(vocabulary, SpecialPlaces(None, None, end, unknown), rows, where)
    tags = [token for token in vocabulary.tokens if token.startswith(">>") and token.endswith("<<")]
    frame = PLAIN
    if tags:
        frame = Frame(source=(TARGET, TEXT, END), languages=tuple((tag[2:-2], tag) for tag in tags))
    return Incoming(
        family="transformer",
        program="Marian",
        blueprint=marian_blueprint(said, parts, laid),
        tokenizers=Tokenizers(*ForeignTokenizer(laid.form).sides(), frame),
        files={**folder.used, **(beside.used if beside else {})},
        source_rows=laid.rows,
        target_rows=laid.rows,
        languages=languages,
    )


def settings_of(text: str, where: str) -> TheirSettings:
    """The settings inside the file: one to a line; lists and what is nested are left out."""
    fields: dict[str, object] = {}
    for line in text.splitlines():
        if (found := _LINE.match(line)) and found[2].strip():
            value = found[2].strip().strip("\"'")
            fields[found[1]] = int(value) if _WHOLE.fullmatch(value) else value
    if fields.get("type") != "transformer":
        raise ModelError(
            f"a model of type {str(fields.get('type'))[:40]!r} of Marian: only transformer can be imported",
            where=where,
            code="foreign_model",
        )
    for name, allowed in PLAIN_ONES.items():
        value = str(fields.get(name, allowed[0]))
        if value not in allowed:
            raise ModelError(
                f"{name}={value!r}, and only {' or '.join(map(repr, allowed))} is computed here",
                where=where,
                code="unsupported",
            )
    return TheirSettings(fields, where, "special:model.yml")


def read_marian_vocabulary(folder: BroughtFolder) -> ForeignVocabulary:
    """A vocabulary in YAML or JSON with `</s>` as 0, and the SentencePiece models of both sides."""
    names = sorted(
        path.name for path in folder.path.iterdir() if path.name.endswith(("vocab.yml", "vocab.json"))
    )
    if not names:
        raise missing(
            folder.path, "the folder has no vocabulary: a file that ends in vocab.yml or vocab.json"
        )
    tokens = listed_tokens(numbers_of(folder.text(names[0]), names[0]), names[0], folder)
    if absent := [name for name in ("source.spm", "target.spm") if not folder.has(name)]:
        raise no_tokenizer(folder, absent)
    hidden = read_spm(folder, "source.spm").controls | read_spm(folder, "target.spm").controls
    return ForeignVocabulary(
        tokens=tokens,
        controls=frozenset(n for n, token in enumerate(tokens) if token in hidden or is_marker(token)),
        spelling="spaces",
        cuts=tuple(TextCut(sentencepiece=folder.bytes(name)) for name in ("source.spm", "target.spm")),
        unknown=tokens.index("<unk>") if "<unk>" in tokens else None,
        name=names[0],
    )


def numbers_of(text: str, name: str) -> dict[str, int]:
    """Tokens with their numbers: JSON, or one `token: number` to a line, quoted or not."""
    try:
        if name.endswith(".json"):
            return {str(token): int(number) for token, number in json.loads(text).items()}
        return _numbers_of_lines(text)
    except (ValueError, TypeError, AttributeError, RecursionError) as error:
        raise TokenizerFileError(
            f"{name} has something that is no token with a number: {str(error)[:100]}", where=name, hint=COPY
        ) from None


def _numbers_of_lines(text: str) -> dict[str, int]:
    numbers: dict[str, int] = {}
    for line in text.split("\n"):
        if not (entry := _ENTRY.match(line)):
            continue
        token = entry[1]
        if token.startswith('"'):
            token = str(json.loads(token))
        elif token.startswith("'"):
            token = token[1:-1].replace("''", "'")
        numbers[token] = int(entry[2])
    return numbers


def marian_blueprint(said: TheirSettings, parts: Parts, laid: LaidVocabulary) -> Blueprint:
    """Each tensor of ours by what it is made of there."""
    rows, width = int(laid.rows.max()) + 1, said.number("dim-emb")
    if str(said.fields.get("tied-embeddings-all", "true")) != "true":
        raise ModelError(
            "its three tables are not tied (tied-embeddings-all=false)", where=said.where, code="unsupported"
        )
    activation = str(said.fields.get("transformer-ffn-activation", "relu"))
    if activation not in ACTIVATIONS:
        raise ModelError(f"the activation {activation!r} is unknown", where=said.where, code="unsupported")
    config = TransformerConfig(
        encoder_layers=said.number("enc-depth"),
        decoder_layers=said.number("dec-depth"),
        width=width,
        heads=said.number("transformer-heads"),
        feedforward=said.number("transformer-dim-ffn"),
        norm="post",
        norm_epsilon=1e-6,
        positions="sinusoidal",
        activation=ACTIVATIONS[activation],
        logits_bias=True,
    )
    tensors = {"target_embedding.weight": laid.table(parts.take("Wemb", rows, width))}
    tensors["logits_bias"] = laid.bias(parts.take("decoder_ff_logit_out_b", 1, rows).flat())
    for side in ("encoder", "decoder"):
        for n in range(getattr(config, f"{side}_layers")):
            tensors |= _layer(parts, f"{side}.{n}", f"{side}_l{n + 1}", config)
    parts.finish()
    return Blueprint(config, reordered(tensors, alternating(width)))


def _layer(parts: Parts, ours: str, theirs: str, config: TransformerConfig) -> dict[str, Made]:
    width, inner = config.width, config.feedforward

    def matrix(kind: str, letter: str) -> tuple[Made, Made]:
        weight = parts.take(f"{theirs}_{kind}_W{letter}", width, width).turned()
        return weight, parts.take(f"{theirs}_{kind}_b{letter}", 1, width).flat()

    def normed(name: str, their: str) -> dict[str, Made]:
        scale = parts.take(f"{theirs}_{their}_ln_scale", 1, width).flat()
        return norm(name, scale, parts.take(f"{theirs}_{their}_ln_bias", 1, width).flat())

    found = self_attention(ours, lambda letter: matrix("self", letter))
    found |= normed(f"{ours}.add_attention.norm", "self_Wo")
    if ours.startswith("decoder"):
        found |= cross_attention(ours, lambda letter: matrix("context", letter))
        found |= normed(f"{ours}.add_cross.norm", "context_Wo")
    for name, number, rows, columns in (("inner", 1, inner, width), ("outer", 2, width, inner)):
        weight = parts.take(f"{theirs}_ffn_W{number}", columns, rows).turned()
        bias = parts.take(f"{theirs}_ffn_b{number}", 1, rows).flat()
        found |= linear(f"{ours}.feedforward.{name}", weight, bias)
    return found | normed(f"{ours}.add_feedforward.norm", "ffn_ffn")
