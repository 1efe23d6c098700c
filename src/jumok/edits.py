"""What a what-if changes inside a model, as values: attention by layer, positions, the bridge. No torch.

How each change acts is in `nn/edit.py` for torch and in `native/c/record.c` for the C library.
Axis letters: L tokens, C cells of a table, N layers, C parts of a state, D width.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Kind = Literal["enc_self", "dec_self", "cross", "copy"]
"""`copy` is where a model that copies points: one layer, one head, and its `out` is the share copied."""
Where = tuple[Kind, int]
"""An attention: its kind and its layer."""
Whole = NDArray[np.int64]
BLOCK = 8  # positions that `exchanged` exchanges among each other


@dataclass(frozen=True)
class AttentionEdit:
    """Changes to one attention layer. Heads count from 0, positions are absolute; outside ones do nothing."""

    scaled: bool = True
    """False: no division by sqrt(d_k)."""
    factors: tuple[tuple[int, float], ...] = ()
    """(head, factor): the head's context is multiplied by it; nothing is renormalised."""
    cut: tuple[tuple[int, int, int], ...] = ()
    """(head, q, k): -inf before the softmax, so the row renormalises over the keys that are left."""
    rows: tuple[tuple[int, int, tuple[tuple[int, float], ...]], ...] = ()
    """(head, q, ((k, w), …)): the row after the softmax; weights of keys in sight, normalised to sum 1."""
    uniform: tuple[int, ...] = ()
    """Heads that give every allowed key the same weight."""

    @cached_property
    def cut_table(self) -> Whole:
        return table(self.cut)  # (C, 3)

    @cached_property
    def row_table(self) -> tuple[Whole, NDArray[np.float32]]:
        """Cells (C, 3) and weights (C,) of all rows that are set."""
        entries = [(head, q, k, w) for head, q, keys in self.rows for k, w in keys]
        return table([one[:3] for one in entries]), np.array([one[3] for one in entries], np.float32)


def table(entries: Sequence[tuple[int, int, int]]) -> Whole:
    return np.array(entries, dtype=np.int64).reshape(-1, 3)  # (C, 3)


@dataclass(frozen=True)
class PositionEdit:
    """Other positions for the tokens of one side of a Transformer.

    none: the model adds no position at all. shift: every position moves by `by`, never below 0. shuffle: a
    permutation by `seed`, of a source within its own length, of a target within blocks of 8 positions (so
    that a step knows its position before the end is known).
    """

    mode: Literal["none", "shuffle", "shift"]
    seed: int = 0
    by: int = 0

    def of_source(self, positions: Whole, lengths: Whole) -> Whole | None:
        """Positions (L,) for the tokens of sentences with these lengths."""
        return shuffled(lengths, self.seed) if self.mode == "shuffle" else self.moved(positions)

    def of_target(self, positions: Whole, rows: int | None = None) -> Whole | None:
        """What stands in for these positions (L,); a learned table has so many `rows`."""
        return exchanged(positions, self.seed, rows) if self.mode == "shuffle" else self.moved(positions)

    def moved(self, positions: Whole) -> Whole | None:
        return None if self.mode == "none" else (positions + self.by).clip(min=0)


@dataclass(frozen=True, eq=False)
class Edits:
    """All that a what-if changes inside a model. A model ignores what it does not have."""

    attention: Mapping[Where, AttentionEdit] = field(default_factory=dict)
    source_positions: PositionEdit | None = None
    target_positions: PositionEdit | None = None
    bridge: NDArray[np.float32] | None = None
    """(N, C, D), recurrent models: stands in for the final state of every sentence."""

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Edits):
            return NotImplemented
        same = (
            dict(self.attention) == dict(other.attention)
            and self.source_positions == other.source_positions
            and self.target_positions == other.target_positions
        )
        if self.bridge is None or other.bridge is None:
            return same and self.bridge is other.bridge
        return same and np.array_equal(self.bridge, other.bridge)

    __hash__ = None  # type: ignore[assignment]  # arrays compare by their numbers


def shuffled(lengths: Whole, seed: int) -> Whole:
    """(L,): the positions of each sentence in an order that depends on its length and the seed alone."""
    return np.concatenate([permutation(n, seed) for n in lengths.tolist()])


def exchanged(positions: Whole, seed: int, rows: int | None = None) -> Whole:
    """Positions exchanged within blocks of 8 by one permutation, so that no end need be known.

    A table may have so many `rows` only: a block that it cuts off stays as it is.
    """
    place = positions % BLOCK
    others = positions - place + permutation(BLOCK, seed)[place]
    return others if rows is None else np.where(positions < rows - rows % BLOCK, others, positions)


def permutation(count: int, seed: int) -> Whole:
    """The numbers below `count` as torch.randperm of a generator with this seed has them."""
    draws: Any = np.random.RandomState(seed & 0xFFFFFFFF).randint(0, 2**32, size=count, dtype=np.uint32)
    order = list(range(count))
    for i, draw in enumerate(draws.tolist()[:-1]):  # Fisher and Yates; the last one has no choice
        other = i + draw % (count - i)
        order[i], order[other] = order[other], order[i]
    return np.array(order, dtype=np.int64)
