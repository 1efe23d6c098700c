"""Every tensor on the way from ids to the loss, its shape and how it was made, taken from one real pass."""

from collections.abc import Collection, Sequence

import torch
from torch import Tensor

from jumok.config import ModelConfig
from jumok.models.interface import Memory, Seq2Seq
from jumok.models.sentences import Sentences
from jumok.models.shape_backend import ShapeBackend
from jumok.models.tensor_rows import How, RowList, ShapeTrace, memory_words
from jumok.nn.patches import MIDDLE, PatchEmbedding


def trace_shapes(
    model: Seq2Seq,
    config: ModelConfig,
    source: Sentences,
    target_in: Sentences,
    wanted: Sequence[int] | None = None,
    keep: Collection[int] | None = None,
) -> ShapeTrace:
    """Run the model on one pair, the target shifted right, and note what each op gives.

    `wanted` are the right tokens, for the loss; without them it is that of any tokens. Of the tensors only
    those at the places to `keep` stay; None: all.
    """
    rows = RowList(keep)
    ops = ShapeBackend(model, config, source, rows)
    model = model.using(ops)
    with torch.inference_mode():
        if source.tokens.dim() == 2:
            add_patches(rows, model, source)
            ops.embedded = rows.last
        else:
            ops.ids["source"] = rows.add("source", "ids", "[B,S]", source.tokens[None])
        memory = model.encode(source)
        add_memory(rows, config, memory, ops.after_cell)
        ops.ids["target"] = rows.add("target", "ids, shifted right", "[B,T]", target_in.tokens[None])
        ops.side, ops.stage = "target", ""
        logits = model.decode(target_in, memory).logits()
        right = target_in.tokens if wanted is None else logits.new_tensor(wanted, dtype=torch.long)
        add_loss(rows, logits, right, ops)
    return rows.trace()


def add_patches(rows: RowList, model: Seq2Seq, source: Sentences) -> None:
    """From the bytes of patches to vectors."""
    embedding = model.source_embedding
    assert isinstance(embedding, PatchEmbedding)
    patches = rows.add("source", "patches", "[B,S,P]", source.tokens[None])
    x = source.tokens.to(embedding.project.weight.dtype) / MIDDLE - 1
    scaled = rows.add(
        "encoder", "patch / 127.5 - 1", "[B,S,P]", x[None], "pixels", patches, number=MIDDLE, detail=True
    )
    weight = rows.weight("encoder", "W", "[P,D]", embedding.project.weight.T)
    bias = rows.weight("encoder", "b", "[D]", embedding.project.bias)
    x = embedding.project(x)
    made = rows.add(
        "encoder",
        "patch W + b",
        "[B,S,D]",
        x[None],
        "product",
        scaled,
        weight,
        bias,
        detail=embedding.positions is not None,
    )
    if embedding.positions is not None:
        places = embedding.positions[source.positions.clamp(max=len(embedding.positions) - 1)]
        at = rows.add("encoder", "E_pos", "[B,S,D]", places[None], detail=True)
        rows.add("encoder", "patch W + b + E_pos", "[B,S,D]", (x + places)[None], "sum", made, at)


def add_memory(rows: RowList, config: ModelConfig, memory: Memory, cell: int) -> None:
    """What the encoder hands over; `cell` is the place of a recurrent encoder's last row."""
    states, final = memory_words(config)
    before = rows.place_of(memory.states, cell if cell >= 0 else rows.last)
    how: How = "same" if rows.rows[before].shape[-1] == memory.states.shape[-1] else "opaque"
    place = rows.add("memory", states, "[B,S,D]", memory.states[None], how, before)
    rows.remember(memory.states, place)
    if memory.final is not None:
        rows.add("memory", final, "[B,N,C,D]", memory.final, "opaque", before)


def add_loss(rows: RowList, logits: Tensor, right: Tensor, ops: ShapeBackend) -> None:
    """From logits to the loss."""
    how: How = "opaque" if ops.copies else "product"
    z = rows.add("output", "logits", "[B,T,V]", logits[None], how, *ops.head)
    probabilities = logits.softmax(-1)
    p = rows.add("output", "p = softmax(logits)", "[B,T,V]", probabilities[None], "softmax", z)
    y = rows.add("output", "y, the right ids", "[B,T]", right[None], detail=True)
    each = -logits.log_softmax(-1).gather(1, right[:, None])[:, 0]
    one = rows.add("output", "-log p(y), of each token", "[B,T]", each[None], "loss", p, y, detail=True)
    rows.add("output", "loss = -1/N · sum log p(y)", "[]", each.mean(), "average", one)
