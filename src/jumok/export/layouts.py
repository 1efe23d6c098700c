"""Which layout of the `transformers` package computes what ours does, and the weights by their names there.

Marian, Pegasus, Blenderbot, BART and mBART name their weights alike. What differs is where the norms stand,
how tokens know their positions, and whether their embeddings go through a norm:

    Marian       post-norm   waves
    Pegasus      pre-norm    waves
    Blenderbot   pre-norm    a learned table
    BART         post-norm   a learned table   normed embeddings
    mBART        pre-norm    a learned table   normed embeddings

T5 is another house (`t5.py`): RMSNorm before each sub-layer, relative positions, and no biases at all.

Our waves alternate, sine and cosine of each frequency in turn; theirs are all sines, then all cosines. The
axis of width D has no order of its own, so all weights are moved to their order: the numbers stay the same.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import sqrt

import torch
from torch import Tensor

from jumok.config import RunConfig, TransformerConfig
from jumok.models.interface import Seq2Seq


@dataclass(frozen=True)
class Layout:
    """One architecture of `transformers`."""

    type: str
    """`model_type` in its config.json."""
    architecture: str
    """The class that loads it."""
    waves: bool = False
    """Positions are sines, then cosines; else a learned table."""
    offset: int = 0
    """Rows of the table before that of the first position."""


LAYOUTS = {
    ("post", "sinusoidal", False): Layout("marian", "MarianMTModel", waves=True),
    ("pre", "sinusoidal", False): Layout("pegasus", "PegasusForConditionalGeneration", waves=True),
    ("pre", "learned", False): Layout("blenderbot", "BlenderbotForConditionalGeneration"),
    ("post", "learned", True): Layout("bart", "BartForConditionalGeneration", offset=2),
    ("pre", "learned", True): Layout("mbart", "MBartForConditionalGeneration", offset=2),
}
"""By where norms stand, the kind of positions, and whether embeddings are normed."""
T5 = Layout("t5", "T5ForConditionalGeneration")
ACTIVATIONS = {"relu": "relu", "gelu": "gelu", "gelu_tanh": "gelu_pytorch_tanh", "silu": "silu"}


def layout_of(config: TransformerConfig) -> Layout | None:
    """The layout that has these norms and positions; None: there is none."""
    if config.positions == "relative":
        return T5 if config.norm == "pre" and config.rms_norm and not config.embedding_norm else None
    return LAYOUTS.get((config.norm, config.positions, config.embedding_norm))


ATTENTION = {"attention": "self_attn", "cross": "encoder_attn"}
NORMS = {
    "add_attention": "self_attn_layer_norm",
    "add_cross": "encoder_attn_layer_norm",
    "add_feedforward": "final_layer_norm",
}


def layout_weights(model: Seq2Seq, config: TransformerConfig, layout: Layout, rows: int) -> dict[str, Tensor]:
    """Every weight under its name in the layout; `rows` is the length of both tables of positions."""
    ours = {name: tensor.detach() for name, tensor in model.state_dict().items()}
    order = torch.arange(config.width)
    if layout.waves:
        order = torch.cat((order[0::2], order[1::2]))
    theirs = {"model.shared.weight": ours["target_embedding.weight"][:, order]}
    if not config.tied:
        theirs["lm_head.weight"] = ours["output.weight"][:, order]
    for side in ("encoder", "decoder"):
        if not config.tied:  # nothing is tied then, not even the two sides: each has its own copy
            theirs[f"model.{side}.embed_tokens.weight"] = theirs["model.shared.weight"]
        table = position_table(model, ours, side, rows)[:, order]
        table = torch.cat((table.new_zeros(layout.offset, config.width), table))
        theirs[f"model.{side}.embed_positions.weight"] = table
        if config.embedding_norm:
            norm = "source_norm" if side == "encoder" else "target_norm"
            theirs |= _outputs(ours, norm, f"model.{side}.layernorm_embedding", order)
        if config.norm == "pre":
            theirs |= _outputs(ours, f"{side}_norm", f"model.{side}.layer_norm", order)
        for n in range(getattr(config, f"{side}_layers")):
            theirs |= _layer(ours, f"{side}.{n}", f"model.{side}.layers.{n}", config, order)
    none = torch.zeros(len(theirs["model.shared.weight"]))
    theirs["final_logits_bias"] = ours.get("logits_bias", none)[None]
    return theirs


def table_rows(config: RunConfig, least: int = 0) -> int:
    """Rows of a table of positions: those learned, or enough for what the model reads and writes."""
    match config.model:
        case TransformerConfig(positions="learned", max_positions=rows):
            return rows
        case _:
            return max(least, config.data.max_length + 1, config.decoding.max_len + 1)


def position_table(model: Seq2Seq, ours: Mapping[str, Tensor], side: str, rows: int) -> Tensor:
    """What is added at each position (P, D): the learned table, else so many computed rows or zeros."""
    learned = ours.get("source_positions.table" if side == "encoder" else "target_positions.table")
    table = model.position_rows(rows) if learned is None else learned
    return torch.zeros(rows, ours["target_embedding.weight"].shape[1]) if table is None else table


def _layer(
    ours: Mapping[str, Tensor], name: str, their: str, config: TransformerConfig, order: Tensor
) -> Iterator[tuple[str, Tensor]]:
    """The weights of one layer. A matrix (out, in) reads the width in columns or writes it in rows."""
    for kind, attention in ATTENTION.items():
        if f"{name}.{kind}.output.linear.weight" not in ours:
            continue
        for letter, (weight, bias) in zip("qkv", queries_keys_values(ours, f"{name}.{kind}"), strict=True):
            # What does not divide by sqrt(d_k) is told to a layout that does by larger queries.
            scale = 1.0 if config.scaled or letter != "q" else sqrt(config.d_k)
            yield f"{their}.{attention}.{letter}_proj.weight", weight[:, order] * scale
            yield f"{their}.{attention}.{letter}_proj.bias", bias * scale
        yield from _outputs(ours, f"{name}.{kind}.output.linear", f"{their}.{attention}.out_proj", order)
    yield f"{their}.fc1.weight", ours[f"{name}.feedforward.inner.weight"][:, order]
    yield f"{their}.fc1.bias", ours[f"{name}.feedforward.inner.bias"]
    yield from _outputs(ours, f"{name}.feedforward.outer", f"{their}.fc2", order)
    for norm, theirs in NORMS.items():
        if f"{name}.{norm}.norm.weight" in ours:
            yield from _outputs(ours, f"{name}.{norm}.norm", f"{their}.{theirs}", order)


def _outputs(
    ours: Mapping[str, Tensor], name: str, their: str, order: Tensor
) -> Iterator[tuple[str, Tensor]]:
    """Weight and bias of what writes numbers along the width."""
    yield f"{their}.weight", ours[f"{name}.weight"][order]
    yield f"{their}.bias", ours[f"{name}.bias"][order]


def queries_keys_values(ours: Mapping[str, Tensor], name: str) -> list[tuple[Tensor, Tensor]]:
    """Matrix (D, D) and bias (D,) of Q, K and V of one attention, whichever way they are stored."""
    if f"{name}.project_query.weight" in ours or f"{name}.project_query.linear.weight" in ours:
        return [*projections(ours, f"{name}.project_query"), *projections(ours, f"{name}.project_memory")]
    return projections(ours, f"{name}.project")


def projections(ours: Mapping[str, Tensor], name: str) -> list[tuple[Tensor, Tensor]]:
    """The matrices that one projection holds: below each other, or one for each head."""
    if f"{name}.linear.weight" in ours:
        weight, bias = ours[f"{name}.linear.weight"], ours[f"{name}.linear.bias"]
        parts = {"project": 3, "project_query": 1, "project_memory": 2}[name.rpartition(".")[2]]
        return list(zip(weight.chunk(parts), bias.chunk(parts), strict=True))
    weight, bias = ours[f"{name}.weight"], ours[f"{name}.bias"]  # (parts, H, D, K), (parts, H, 1, K)
    return [(w.mT.flatten(0, 1), b.flatten()) for w, b in zip(weight, bias, strict=True)]
