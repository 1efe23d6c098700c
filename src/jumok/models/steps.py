"""The order in which a recurrent model reads sentences that lie end to end.

Laid out, the tokens of a sentence follow each other. A cell takes one step in all sentences at once, so it
wants all first tokens, then all second ones, and so on; with the longest sentence first, those that still go
on at a step stand together and nothing is padded:

    laid out        a0 a1 b0 b1 b2 c0
    longest first   b, a, c
    order of time   b0 a0 c0 | b1 a1 | b2          sizes 3, 2, 1

Axis letters: B sentences, n real tokens, N and M all places of a packed batch, L a length, D width.
"""

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from jumok.models.interface import PackedBatch

Numbers = NDArray[np.int64]


@dataclass(frozen=True)
class Steps:
    """One side of a packed batch in order of time. On the host."""

    sentences: Numbers  # (B,) sentences, longest first
    sizes: Numbers  # (L,) sentences that still go on at each step
    rank: Numbers  # (n,) of each token's sentence among `sentences`
    time: Numbers  # (n,) of each token within its sentence
    place: Numbers  # (n,) of each token among those laid out


def steps_of(lengths: Numbers) -> Steps:
    """The order of time of sentences with these lengths, each 1 or more."""
    sentences = np.argsort(-lengths, kind="stable")
    falling = lengths[sentences]
    sizes = np.searchsorted(-falling, -np.arange(falling[0]))  # how many are longer than 0, 1, 2, …
    time = np.arange(falling[0]).repeat(sizes)
    rank = np.arange(len(time)) - (sizes.cumsum() - sizes).repeat(sizes)
    begins = lengths.cumsum() - lengths
    return Steps(sentences, sizes, rank, time, begins[sentences][rank] + time)


@dataclass(frozen=True)
class Sides:
    """Both sides of a packed batch, and where their tensors live."""

    source: Steps
    target: Steps
    source_lengths: Numbers  # (B,)
    target_lengths: Numbers  # (B,)
    device: torch.device


def sides_of(batch: PackedBatch) -> Sides:
    """A batch as cells read it. One without sentences goes through with one filler a side.

    That way every weight gets its gradient, which is then zero: fillers weigh nothing.
    """
    one = np.ones(1, dtype=np.int64)
    lengths = (batch.source_lengths, batch.target_lengths) if len(batch.source_lengths) else (one, one)
    return Sides(steps_of(lengths[0]), steps_of(lengths[1]), *lengths, batch.source.device)


@dataclass(frozen=True)
class Trip:
    """What takes a packed batch through encoder and decoder. Made on the host, used on the device."""

    source: Tensor  # (n_s,) places of the source tokens in order of time
    target: Tensor  # (n_t,) the same of the target
    source_sizes: Tensor  # (S,) on the CPU, as cuDNN wants it
    target_sizes: Tensor  # (T,) on the CPU
    bridge: Tensor  # (B,) for each target, longest first, the row of its source in that side's order


def trip_of(sides: Sides) -> Trip:
    """All indices of a batch, brought to its device in one copy."""
    source, target = sides.source, sides.target
    bridge = np.argsort(source.sentences)[target.sentences]
    source_places, target_places, rows = to_device(sides.device, source.place, target.place, bridge)
    source_sizes, target_sizes = map(torch.from_numpy, (source.sizes, target.sizes))
    return Trip(source_places, target_places, source_sizes, target_sizes, rows)


@dataclass(frozen=True)
class Tables:
    """Rectangles for the products of attention: sentences of like target length share one, longest first.

    Of all cells of the G tables at most half are empty on the target's side: within a table no target is
    shorter than half of the longest.
    """

    source_cells: Tensor  # (n_s,) cell of each source token, in order of time
    target_cells: Tensor  # (n_t,) cell of each target token, in order of time
    lengths: tuple[Tensor, ...]  # G tensors of (B_g,): source lengths of the rows
    source_shapes: tuple[tuple[int, int], ...]  # (B_g, S_g) of each table
    target_shapes: tuple[tuple[int, int], ...]  # (B_g, T_g)

    def source(self, x: Tensor) -> tuple[Tensor, ...]:
        """Source tokens in order of time (n_s, D) -> tables (B_g, S_g, D); empty cells hold zeros."""
        return as_tables(x, self.source_cells, self.source_shapes)

    def target(self, x: Tensor) -> tuple[Tensor, ...]:
        return as_tables(x, self.target_cells, self.target_shapes)


def as_tables(x: Tensor, cells: Tensor, shapes: tuple[tuple[int, int], ...]) -> tuple[Tensor, ...]:
    areas = [rows * width for rows, width in shapes]
    parts = torch.split(spread(x, cells, sum(areas)), areas)
    return tuple(part.view(*shape, -1) for part, shape in zip(parts, shapes, strict=True))


def tables_of(sides: Sides, *, one: bool = False) -> Tables:
    """Tables whose targets differ in length by less than a factor of two; or just `one`."""
    source, target = sides.source, sides.target
    s, t = (
        sides.source_lengths[target.sentences],
        sides.target_lengths[target.sentences],
    )  # longest target first
    group = np.zeros_like(t) if one else np.log2(t[0] / t).astype(np.int64)  # (B,) never falls
    first = np.flatnonzero(np.diff(group, prepend=-1))  # (G,) first row of each table
    rows = np.diff(first, append=len(t))
    wide_s, wide_t = np.maximum.reduceat(s, first), t[first]
    row_of = np.argsort(target.sentences)  # (B,) row of each sentence
    cells = [
        np.concatenate(([0], wide.repeat(rows).cumsum()))[row] + steps.time
        for wide, row, steps in (
            (wide_s, row_of[source.sentences][source.rank], source),
            (wide_t, target.rank, target),
        )
    ]
    source_cells, target_cells, source_lengths = to_device(sides.device, *cells, s)
    shapes = [tuple(zip(rows.tolist(), wide.tolist(), strict=True)) for wide in (wide_s, wide_t)]
    parts = torch.split(source_lengths, rows.tolist())
    return Tables(source_cells, target_cells, parts, shapes[0], shapes[1])


def to_device(device: torch.device, *arrays: Numbers) -> tuple[Tensor, ...]:
    """These arrays on the device by one copy that nothing waits for."""
    joined = torch.from_numpy(np.concatenate(arrays))
    if device.type == "cuda":
        joined = joined.pin_memory()  # a copy from other memory would wait for the GPU
    return torch.split(joined.to(device, non_blocking=True), [len(array) for array in arrays])


def spread(x: Tensor, places: Tensor, length: int) -> Tensor:
    """Rows (n, D) at their places among `length` rows; the others are zero. Its gradient picks rows."""
    return x.new_zeros(length, *x.shape[1:]).index_copy(0, places, x)
