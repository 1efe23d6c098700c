"""Which keys each query sees, for sentences laid end to end; and the same as rectangles, for plain torch.

Axis letters: B sentences, S keys, T queries, L either, D width, G tables.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from jumok.nn.functional import causal_mask, length_mask

Lengths = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Spans:
    """Which keys each query sees and which queries see each key, as half-open ranges that never go back.

    Every query sees a key. The two halves say the same, but a key may leave out queries whose result is used
    nowhere: no gradient comes back through them.
    """

    key_begin: Tensor  # (T,) int32
    key_end: Tensor  # (T,) int32: query t sees the keys [begin, end)
    query_begin: Tensor  # (S,) int32
    query_end: Tensor  # (S,) int32: the queries [begin, end) see key s
    lengths: tuple[Lengths, Lengths] | None = None
    """Queries and keys of each sentence (B,), on the host; None inside a captured step."""
    causal: bool = False
    """A query sees no key behind its own place."""

    @cached_property
    def tables(self) -> "Tables":
        """Sentences of like length side by side in rectangles: little of them is empty."""
        return self.make_tables(one=False)

    @cached_property
    def table(self) -> "Tables":
        """All sentences in one rectangle."""
        return self.make_tables(one=True)

    def make_tables(self, *, one: bool) -> "Tables":
        assert self.lengths is not None
        return tables_of(*self.lengths, self.key_begin.device, one=one)


def own_spans(range_: Tensor, lengths: Lengths | None = None) -> Spans:
    """Every token sees its whole sentence; range_ (2, L) is where that lies."""
    begin, end = range_
    return Spans(begin, end, begin, end, None if lengths is None else (lengths, lengths))


def causal_spans(range_: Tensor, lengths: Lengths | None = None) -> Spans:
    """Every token sees its sentence up to itself; range_ (2, L)."""
    begin, end = range_
    place = torch.arange(len(begin), dtype=begin.dtype, device=begin.device)  # (L,)
    both = None if lengths is None else (lengths, lengths)
    return Spans(begin, place + 1, place, end, both, causal=True)


def cross_spans(reads: Tensor, readers: Tensor, lengths: tuple[Lengths, Lengths] | None = None) -> Spans:
    """Target tokens see the source of their pair: reads (2, T), readers (2, S)."""
    return Spans(reads[0], reads[1], readers[0], readers[1], lengths)


def span_mask(spans: Spans) -> Tensor:
    """(T, S), True where query t sees key s."""
    place = torch.arange(len(spans.query_begin), device=spans.key_begin.device)  # (S,)
    return (spans.key_begin[:, None] <= place) & (place < spans.key_end[:, None])  # (T, S)


@dataclass(frozen=True, eq=False)
class Tables:
    """Rectangles for the products of attention: sentences of like query length share one, longest first.

    Within a table no sentence has fewer than half the queries of the longest, so that at most half of its
    cells are empty.
    """

    query_cells: Tensor  # (t,) cell of each real query among the cells of all tables
    key_cells: Tensor  # (s,) cell of each real key
    query_lengths: tuple[Tensor, ...]  # G tensors of (B_g,)
    key_lengths: tuple[Tensor, ...]  # G tensors of (B_g,)
    query_shapes: tuple[tuple[int, int], ...]  # (B_g, T_g) of each table
    key_shapes: tuple[tuple[int, int], ...]  # (B_g, S_g)

    def queries(self, x: Tensor) -> tuple[Tensor, ...]:
        """Queries laid end to end (T, D) -> tables (B_g, T_g, D); empty cells hold zeros."""
        return as_tables(x, self.query_cells, self.query_shapes)

    def keys(self, x: Tensor) -> tuple[Tensor, ...]:
        return as_tables(x, self.key_cells, self.key_shapes)

    def laid(self, tables: list[Tensor], length: int) -> Tensor:
        """What each query got, (B_g, T_g, D), laid end to end again (T, D); fillers get zeros."""
        cells = torch.cat([table.flatten(0, 1) for table in tables])
        x = cells.index_select(0, self.query_cells)
        return x if len(x) == length else torch.cat((x, x.new_zeros(length - len(x), *x.shape[1:])))

    def masks(self, *, causal: bool) -> list[Tensor]:
        """What queries see, (B_g, 1, 1, S_g), or (B_g, 1, T_g, S_g) if causal."""
        found = []
        for lengths, (_, S) in zip(self.key_lengths, self.key_shapes, strict=True):
            mask = length_mask(lengths, S)[:, None, None]  # (B_g, 1, 1, S_g)
            found.append(mask & causal_mask(S, mask.device) if causal else mask)
        return found


def as_tables(x: Tensor, cells: Tensor, shapes: tuple[tuple[int, int], ...]) -> tuple[Tensor, ...]:
    areas = [rows * width for rows, width in shapes]
    room = x.new_zeros(sum(areas), *x.shape[1:]).index_copy(0, cells, x[: len(cells)])
    parts = torch.split(room, areas)
    return tuple(part.view(*shape, *x.shape[1:]) for part, shape in zip(parts, shapes, strict=True))


def tables_of(queries: Lengths, keys: Lengths, device: torch.device, *, one: bool) -> Tables:
    """Tables whose query lengths differ by less than a factor of two; or just `one`, in the given order."""
    order = np.arange(len(queries)) if one else np.argsort(-queries, kind="stable")
    t, s = queries[order], keys[order]
    group = np.zeros_like(t) if one else np.log2(t[0] / t).astype(np.int64)  # (B,) never falls
    first = np.flatnonzero(np.diff(group, prepend=-1))  # (G,) first row of each table
    rows = np.diff(first, append=len(t))
    row_of = np.argsort(order)  # (B,) row of each sentence
    wide = [np.maximum.reduceat(side, first) for side in (t, s)]
    cells = []
    for width, lengths in zip(wide, (queries, keys), strict=True):
        begins = np.concatenate(([0], width.repeat(rows).cumsum()))[row_of]  # (B,) first cell of each row
        offsets = lengths.cumsum() - lengths
        cells.append(np.arange(lengths.sum()) + (begins - offsets).repeat(lengths))
    parts = to_device(device, *cells, t, s)
    split = rows.tolist()
    shapes = [tuple(zip(split, side.tolist(), strict=True)) for side in wide]
    counts = (torch.split(parts[2], split), torch.split(parts[3], split))
    return Tables(parts[0], parts[1], *counts, shapes[0], shapes[1])


def to_device(device: torch.device, *arrays: NDArray[np.int64]) -> tuple[Tensor, ...]:
    """These arrays on the device by one copy that nothing waits for."""
    joined = torch.from_numpy(np.concatenate(arrays))
    if device.type == "cuda":
        joined = joined.pin_memory()  # a copy from other memory would wait for the GPU
    return torch.split(joined.to(device, non_blocking=True), [len(array) for array in arrays])
