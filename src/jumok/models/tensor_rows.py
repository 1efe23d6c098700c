"""The tensors of one pass as rows of a table: where, what, its shape, and how it was made of which others.

    [B,S] int64 → [B,S,D] → … → [B,T,V]

The pass has one sentence, so that B is 1. More of them lie end to end in memory, (B·S, D); `ShapeTrace.batch`
writes them as papers do, (B, S, D). Axis letters: B batch, S source, T target, D width, H heads, d_k width of
one head, F inner width of the feed-forward network, V vocabulary (V_src the source's, where it has its own),
N recurrent layers, C parts of a cell's state (LSTM has two), P numbers of a patch, E all heads side by side
where they are not as wide as the model.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from jumok.config import LuongConfig, ModelConfig, RnnConfig

if TYPE_CHECKING:
    from torch import Tensor

How = Literal[
    "given",  # an input or a weight: nothing made it
    "same",  # the first input, under another name
    "lookup",  # rows of a table by ids, times `number`
    "product",  # x W, or x W + b; of heads, each its own columns of W
    "sum",  # a + b
    "pixels",  # x / number - 1
    "rotate",  # pairs of numbers turned by the angles
    "scores",  # Q Kᵀ
    "additive",  # v · tanh(q + k)
    "divide",  # x / number
    "softmax",  # of scores, where the mask allows
    "weigh",  # weights V
    "join",  # heads side by side
    "beside",  # two vectors side by side
    "mean",  # of a row
    "variance",  # of a row
    "norm",  # (x - mean) / √(variance + number) · γ + β
    "square",  # the mean of a row's squares
    "rms",  # x / √(square + number) · γ
    "relu",  # max(0, x)
    "gelu",  # x · Φ(x)
    "gelu_tanh",  # the same by a formula with tanh
    "silu",  # x / (1 + exp(-x))
    "times",  # a · b, number by number
    "tanh",
    "gate",  # of a recurrent cell: number says which
    "cell",  # the state that gates make
    "loss",  # -log p(y)
    "average",
    "opaque",  # by several steps at once, which are not taken apart
]


@dataclass(frozen=True)
class ShapeRow:
    """One tensor: where in the model, what made it, its axes by letter, its real shape and dtype."""

    stage: str
    operation: str
    axes: str
    shape: tuple[int, ...]
    dtype: str
    how: How = "given"
    inputs: tuple[int, ...] = ()
    """What it was made of: places of other rows."""
    number: float | None = None
    """A constant of the step, such as √d_k."""
    detail: bool = False
    """A weight, or a step within another: not in the table of the papers."""


@dataclass(frozen=True)
class ShapeTrace:
    """All tensors of one pass in the order they first appeared."""

    sizes: dict[str, int]
    """What each letter stands for in this pass."""
    rows: tuple[ShapeRow, ...]
    times: tuple[int, ...]
    """How often each appeared: above 1 where the model loops over time."""
    values: tuple[tuple[Tensor, ...], ...] = ()
    """The tensors themselves, as often as they appeared; of those that were not asked for, none."""

    @property
    def path(self) -> str:
        """In one line: `[B,S] int64 → [B,S,D] → … → [B,T,V]`."""
        first, second = [row for row in self.rows if row.axes.startswith("[B")][:2]
        last = next(row for row in self.rows if row.operation == "logits")
        return f"{first.axes} {first.dtype} → {second.axes} → … → {last.axes} {last.dtype}"

    def batch(self, size: int) -> ShapeTrace:
        """The same pass over `size` such sentences: B is the first axis of all but weights and the loss."""
        rows = tuple(
            replace(row, shape=(size, *row.shape[1:])) if row.axes.startswith("[B") else row
            for row in self.rows
        )
        return ShapeTrace({**self.sizes, "B": size}, rows, self.times)

    def outline(self) -> ShapeTrace:
        """The table of the papers: no weights, and no step within a step."""
        kept = [(row, n) for row, n in zip(self.rows, self.times, strict=True) if not row.detail]
        rows, times = zip(*kept, strict=True)
        return ShapeTrace(sizes_of(rows), rows, times)

    def to_dict(self) -> dict[str, Any]:
        """The shapes alone."""
        names = ("stage", "operation", "axes", "shape", "dtype")
        rows = [
            {name: getattr(row, name) for name in names} | {"times": n}
            for row, n in zip(self.rows, self.times, strict=True)
        ]
        return {"path": self.path, "sizes": self.sizes, "rows": rows}


class RowList:
    """Rows as they come. Of the tensors only those at the places to `keep` stay; None: all."""

    def __init__(self, keep: Collection[int] | None = None) -> None:
        self.keep = keep
        self.places: dict[tuple[str, str], int] = {}
        self.rows: list[ShapeRow] = []
        self.times: list[int] = []
        self.values: list[list[Tensor]] = []
        self._known: dict[int, tuple[Tensor, int]] = {}  # tensors stay, so that no other takes their id

    def add(
        self,
        stage: str,
        operation: str,
        axes: str,
        tensor: Tensor,
        how: How = "given",
        *inputs: int,
        number: float | None = None,
        detail: bool = False,
    ) -> int:
        """Note a tensor, or the next step of one that a loop over time makes; its place."""
        place = self.places.setdefault((stage, operation), len(self.rows))
        if place == len(self.rows):
            dtype = str(tensor.dtype).removeprefix("torch.")
            self.rows.append(
                ShapeRow(stage, operation, axes, tuple(tensor.shape), dtype, how, inputs, number, detail)
            )
            self.times.append(0)
            self.values.append([])
        if self.keep is None or place in self.keep:
            self.values[place].append(tensor)
        self.times[place] += 1
        return place

    def weight(self, stage: str, operation: str, axes: str, tensor: Tensor) -> int:
        """Note a weight; the same one in every step of a loop."""
        place = self.places.get((stage, operation))
        return self.add(stage, operation, axes, tensor.detach(), detail=True) if place is None else place

    def remember(self, tensor: Tensor, place: int) -> int:
        """Say where this very tensor, as the model hands it on, was noted."""
        self._known[id(tensor)] = (tensor, place)
        return place

    def place_of(self, tensor: Tensor, otherwise: int = -1) -> int:
        """Where this very tensor was noted."""
        return self._known.get(id(tensor), (tensor, otherwise))[1]

    @property
    def last(self) -> int:
        return len(self.rows) - 1

    def trace(self) -> ShapeTrace:
        return ShapeTrace(
            sizes_of(self.rows), tuple(self.rows), tuple(self.times), tuple(map(tuple, self.values))
        )


def sizes_of(rows: Sequence[ShapeRow]) -> dict[str, int]:
    """What each letter stands for, read off the shapes."""
    sizes: dict[str, int] = {}
    for row in rows:
        for letter, size in zip(filter(None, row.axes.strip("[]").split(",")), row.shape, strict=True):
            if letter.isidentifier():
                assert sizes.setdefault(letter, size) == size, row
    return sizes


def memory_words(config: ModelConfig) -> tuple[str, str]:
    """Names of the encoder's states and of its last state."""
    match config:
        case RnnConfig():
            return "H, which the decoder never sees", "h_final: the fixed vector, all that the decoder gets"
        case LuongConfig():
            return "H, seen at every step", "h_final, where the decoder starts"
        case _:
            return "seen by every decoder layer", ""
