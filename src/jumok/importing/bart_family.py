"""Marian, BART, mBART, Pegasus, M2M100, NLLB and Blenderbot in the layout of the `transformers` package.

They name their weights alike and differ in where norms stand and how tokens know their places:

    marian       post-norm                       waves, sines then cosines
    bart         post-norm, embeddings normed    a learned table from row 2 on
    mbart        pre-norm, embeddings normed     a learned table from row 2 on
    pegasus      pre-norm                        waves, sines then cosines
    m2m_100      pre-norm                        waves of tensor2tensor from place 2 on, as a table
    blenderbot   pre-norm                        a learned table

Waves become ours by another order of the width. Letters: D width, F inner width, P positions.
"""

from dataclasses import dataclass
from math import log
from typing import Literal

import numpy as np

from jumok.architectures import TransformerConfig
from jumok.errors import ModelError
from jumok.importing.blueprint import (
    Blueprint,
    alternating,
    cross_attention,
    linear,
    norm,
    reordered,
    self_attention,
)
from jumok.importing.stored import Made, Numbers, Parts, ready
from jumok.importing.their_settings import TheirSettings
from jumok.importing.vocabulary import LaidVocabulary


@dataclass(frozen=True)
class BartLayout:
    """What one of them has."""

    pre_norm: bool
    places: Literal["waves", "table", "computed"]
    first: int = 0
    """The row of the first token in its table of places."""
    embedding_norm: bool = False


LAYOUTS = {
    "marian": BartLayout(pre_norm=False, places="waves"),
    "bart": BartLayout(pre_norm=False, places="table", first=2, embedding_norm=True),
    "mbart": BartLayout(pre_norm=True, places="table", first=2, embedding_norm=True),
    "pegasus": BartLayout(pre_norm=True, places="waves"),
    "m2m_100": BartLayout(pre_norm=True, places="computed", first=2),
    "blenderbot": BartLayout(pre_norm=True, places="table"),
}


def bart_config(kind: str, said: TheirSettings) -> TransformerConfig:
    """Our settings of such a model."""
    layout, table = LAYOUTS[kind], said.number("max_position_embeddings", usual=1024)
    if said.flag("normalize_before", usual=layout.pre_norm) != layout.pre_norm:
        raise ModelError(
            f"normalize_before={not layout.pre_norm}: a model of type {kind} has its norms elsewhere",
            where=said.where,
            code="unsupported",
        )
    return TransformerConfig(
        encoder_layers=said.number("encoder_layers"),
        decoder_layers=said.number("decoder_layers"),
        width=said.number("d_model"),
        heads=said.same("encoder_attention_heads", "decoder_attention_heads"),
        feedforward=said.same("encoder_ffn_dim", "decoder_ffn_dim"),
        dropout=said.share("dropout", 0.1),
        norm="pre" if layout.pre_norm else "post",
        positions="sinusoidal" if layout.places == "waves" else "learned",
        max_positions=table if layout.places != "waves" else 1024,
        activation=said.activation(said.fields.get("activation_function", "gelu")),
        embedding_norm=layout.embedding_norm,
        embedding_scaled=said.flag("scale_embedding", usual=kind in ("m2m_100", "pegasus")),
        logits_bias=True,
        tied=said.flag("tie_word_embeddings", usual=True),
    )


def bart_blueprint(
    kind: str, config: TransformerConfig, parts: Parts, source: LaidVocabulary, target: LaidVocabulary
) -> Blueprint:
    """Each tensor of ours by what it is made of there."""
    layout, width = LAYOUTS[kind], config.width
    tensors = _tables(config, parts, source, target)
    for side, ours in (("encoder", "source"), ("decoder", "target")):
        name = f"model.{side}"
        tensors |= _positions(layout, config, parts, side)
        if layout.embedding_norm:
            tensors |= _norm(parts, f"{ours}_norm", f"{name}.layernorm_embedding", width)
        if layout.pre_norm:
            tensors |= _norm(parts, f"{side}_norm", f"{name}.layer_norm", width)
        for n in range(getattr(config, f"{side}_layers")):
            tensors |= _layer(parts, f"{side}.{n}", f"{name}.layers.{n}", config)
    if layout.places == "waves":
        tensors = reordered(tensors, alternating(width))
    parts.finish()
    return Blueprint(config, tensors)


def _tables(
    config: TransformerConfig, parts: Parts, source: LaidVocabulary, target: LaidVocabulary
) -> dict[str, Made]:
    """Embeddings, the output matrix, and what is added to the logits."""
    width = config.width
    shared = source.form == target.form
    sides = {"encoder": (source, "source"), "decoder": (target, "target")}
    copies = ("model.shared.weight", "model.encoder.embed_tokens.weight", "model.decoder.embed_tokens.weight")
    found: dict[str, Made] = {}
    for side, (laid, ours) in sides.items():
        rows = int(laid.rows.max()) + 1
        names = (f"model.{side}.embed_tokens.weight", *(copies if shared else ("lm_head.weight",)))
        name = next((name for name in names if name in parts), copies[0])
        if not shared or side == "decoder":
            found[f"{ours}_embedding.weight"] = laid.table(parts.take(name, rows, width))
    parts.leave(*copies)
    rows = int(target.rows.max()) + 1
    if not config.tied:
        found["output.weight"] = target.table(parts.take("lm_head.weight", rows, width))
    parts.leave("lm_head.weight")
    bias = parts.take("final_logits_bias", 1, rows).flat() if "final_logits_bias" in parts else None
    return found | {"logits_bias": target.bias(bias)}


def _positions(layout: BartLayout, config: TransformerConfig, parts: Parts, side: str) -> dict[str, Made]:
    name = f"model.{side}.embed_positions.weight"
    ours = "source_positions.table" if side == "encoder" else "target_positions.table"
    rows = config.max_positions
    if layout.places == "table":
        table = parts.take(name, rows + layout.first, config.width)
        return {ours: table.part(layout.first, layout.first + rows)}
    parts.leave(name, f"model.{side}.embed_positions.weights")
    if layout.places == "waves":
        return {}
    return {ours: ready(tensor2tensor_waves(layout.first, rows, config.width))}


def tensor2tensor_waves(first: int, rows: int, width: int) -> Numbers:
    """Rows of the table of tensor2tensor (P, D): all sines, then all cosines, and another exponent than ours.

    f_i = 10000^(-i / (D / 2 - 1))
    """
    half = width // 2
    steps = np.exp(np.arange(half, dtype=np.float32) * np.float32(-log(10_000) / (half - 1)))
    angles = np.arange(first, first + rows, dtype=np.float32)[:, None] * steps  # (P, D / 2)
    return np.concatenate((np.sin(angles), np.cos(angles)), axis=1)


def _layer(parts: Parts, ours: str, theirs: str, config: TransformerConfig) -> dict[str, Made]:
    """The weights of one layer."""
    width, inner = config.width, config.feedforward
    names = {"q": "q_proj", "k": "k_proj", "v": "v_proj", "o": "out_proj"}

    def matrix(attention: str, letter: str) -> tuple[Made, Made | None]:
        name = f"{theirs}.{attention}.{names[letter]}"
        return parts.take(f"{name}.weight", width, width), parts.take(f"{name}.bias", width)

    found = self_attention(ours, lambda letter: matrix("self_attn", letter))
    found |= _norm(parts, f"{ours}.add_attention.norm", f"{theirs}.self_attn_layer_norm", width)
    if ours.startswith("decoder"):
        found |= cross_attention(ours, lambda letter: matrix("encoder_attn", letter))
        found |= _norm(parts, f"{ours}.add_cross.norm", f"{theirs}.encoder_attn_layer_norm", width)
    for name, matrix_name, rows, columns in (("inner", "fc1", inner, width), ("outer", "fc2", width, inner)):
        weight = parts.take(f"{theirs}.{matrix_name}.weight", rows, columns)
        found |= linear(
            f"{ours}.feedforward.{name}", weight, parts.take(f"{theirs}.{matrix_name}.bias", rows)
        )
    return found | _norm(parts, f"{ours}.add_feedforward.norm", f"{theirs}.final_layer_norm", width)


def _norm(parts: Parts, ours: str, theirs: str, width: int) -> dict[str, Made]:
    return norm(ours, parts.take(f"{theirs}.weight", width), parts.take(f"{theirs}.bias", width))
