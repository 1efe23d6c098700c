"""Sentences laid end to end: the one layout in which models read text. Nothing is padding.

Axis letters: B sentences, L tokens of all of them, n those that are no fillers, T steps in time, D width.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from jumok.nn.functional import length_mask
from jumok.nn.spans import Lengths, Spans, causal_spans, cross_spans, own_spans, to_device


@dataclass(frozen=True, eq=False)
class Sentences:
    """Tokens of several sentences, one sentence after the other.

    Fillers, tokens that only fill a fixed room up, may stand at the end, each a sentence of its own.
    """

    tokens: Tensor  # (L,) ids, or (L, P) patches of pictures
    range: Tensor  # (2, L) int32: where the token's own sentence lies, half-open
    longest: int
    """No sentence has more tokens."""
    lengths: Lengths | None = None
    """Tokens of each sentence (B,), fillers left out, on the host; None inside a captured step."""
    reads: Tensor | None = None
    """Of a target (2, L): the source tokens of the same pair; None: sentence i reads source i."""
    readers: Tensor | None = None
    """Of a target (2, source tokens): the target tokens that read each source token."""

    @staticmethod
    def lay(rows: Sequence[Any], device: torch.device) -> "Sentences":
        """Rows of ids, or of patches as bytes, one after the other."""
        lengths = np.array([len(row) for row in rows], dtype=np.int64)
        if len(rows) and len(rows[0]) and isinstance(rows[0][0], bytes):
            patches = [np.frombuffer(patch, dtype=np.uint8) for row in rows for patch in row]
            return Sentences.of(torch.from_numpy(np.stack(patches)).to(device), lengths)
        ids = torch.tensor([id for row in rows for id in row], dtype=torch.long)
        return Sentences.of(ids.to(device), lengths)

    @staticmethod
    def of(tokens: Tensor, lengths: Lengths) -> "Sentences":
        """Tokens (L,) that are sentences of these lengths."""
        ends = lengths.cumsum()
        bounds = np.stack((ends - lengths, ends)).repeat(lengths, axis=1).astype(np.int32)
        longest = int(lengths.max(initial=0))
        return Sentences(tokens, torch.from_numpy(bounds).to(tokens.device), longest, lengths)

    def __len__(self) -> int:
        """B."""
        return len(self.known_lengths)

    @property
    def known_lengths(self) -> Lengths:
        assert self.lengths is not None, "lengths are unknown inside a captured step"
        return self.lengths

    @property
    def device(self) -> torch.device:
        return self.tokens.device

    @cached_property
    def positions(self) -> Tensor:
        """The place of every token in its own sentence (L,)."""
        begin = self.range[0]
        return torch.arange(len(begin), dtype=begin.dtype, device=begin.device) - begin

    @cached_property
    def row_and_place(self) -> tuple[Tensor, Tensor]:
        """Of each real token (n,): its sentence, and its place in that."""
        lengths = self.known_lengths
        row = np.arange(len(lengths)).repeat(lengths)
        place = np.arange(lengths.sum()) - (lengths.cumsum() - lengths).repeat(lengths)
        both = to_device(self.device, row, place)
        return both[0], both[1]

    @cached_property
    def mask(self) -> Tensor:
        """(B, longest), True at real tokens."""
        return length_mask(torch.from_numpy(self.known_lengths).to(self.device), self.longest)

    def grid(self, x: Tensor) -> Tensor:
        """What belongs to the tokens (L, …) as a rectangle (B, longest, …); zeros behind short sentences."""
        row, place = self.row_and_place
        room = x.new_zeros(len(self), self.longest, *x.shape[1:])
        return room.index_put((row, place), x[: len(row)])

    def flat(self, grid: Tensor) -> Tensor:
        """The inverse of `grid`: (B, longest, …) -> (L, …); fillers get zeros."""
        x = grid[self.row_and_place]
        fillers = len(self.tokens) - len(x)
        return x if not fillers else torch.cat((x, x.new_zeros(fillers, *x.shape[1:])))

    def select(self, rows: Sequence[int]) -> tuple["Sentences", Tensor]:
        """These sentences in this order, and the places (L',) that their tokens had."""
        lengths = self.known_lengths
        begins, picked = lengths.cumsum() - lengths, np.asarray(rows, dtype=np.int64)
        counts = lengths[picked]
        places = np.arange(counts.sum()) + (begins[picked] - counts.cumsum() + counts).repeat(counts)
        (where,) = to_device(self.device, places)
        return Sentences.of(self.tokens[where], counts), where

    def with_tokens(self, tokens: Tensor) -> "Sentences":
        """The same sentences with other tokens (L,)."""
        return replace(self, tokens=tokens)

    @cached_property
    def own_spans(self) -> Spans:
        """Every token sees its whole sentence."""
        return own_spans(self.range, self.lengths)

    @cached_property
    def causal_spans(self) -> Spans:
        """Every token sees its sentence up to itself."""
        return causal_spans(self.range, self.lengths)

    def spans_over(self, source: "Sentences") -> Spans:
        """The tokens of a target sentence see the source of the same pair."""
        if self.reads is not None and self.readers is not None:
            reads, readers = self.reads, self.readers
        else:
            reads = spread_ranges(source.known_lengths, self.known_lengths, self.device)
            readers = spread_ranges(self.known_lengths, source.known_lengths, self.device)
        both = None if self.lengths is None else (self.lengths, source.known_lengths)
        return cross_spans(reads, readers, both)

    @cached_property
    def time(self) -> "TimeOrder":
        return time_order(self.known_lengths, self.device)


def spread_ranges(bounds_of: Lengths, lengths: Lengths, device: torch.device) -> Tensor:
    """(2, L): for each token of sentences with `lengths`, where sentence i of the other side lies."""
    ends = bounds_of.cumsum()
    ranges = np.stack((ends - bounds_of, ends)).repeat(lengths, axis=1).astype(np.int32)
    return torch.from_numpy(ranges).to(device)


@dataclass(frozen=True)
class TimeOrder:
    """The order in which a recurrent cell reads sentences that lie end to end.

    A cell takes one step in all sentences at once, so it wants all first tokens, then all second ones, and so
    on. With the longest sentence first, those that still go on at a step stand together:

        laid out        a0 a1 b0 b1 b2 c0
        longest first   b, a, c
        order of time   b0 a0 c0 | b1 a1 | b2          sizes 3, 2, 1
    """

    places: Tensor  # (n,) where each token lies, in order of time
    sizes: Tensor  # (T,) sentences that still go on at each step; on the CPU, as cuDNN wants it
    order: Tensor  # (B,) sentences, longest first
    inverse: Tensor  # (B,) the rank of each sentence in that order


def time_order(lengths: NDArray[np.int64], device: torch.device) -> TimeOrder:
    """The order of time of sentences with these lengths, each 1 or more."""
    order = np.argsort(-lengths, kind="stable")
    falling = lengths[order]
    sizes = np.searchsorted(-falling, -np.arange(falling[0]))  # how many are longer than 0, 1, 2, …
    time = np.arange(falling[0]).repeat(sizes)
    rank = np.arange(len(time)) - (sizes.cumsum() - sizes).repeat(sizes)
    begins = lengths.cumsum() - lengths
    places, there, back = to_device(device, begins[order][rank] + time, order, np.argsort(order))
    return TimeOrder(places, torch.from_numpy(sizes), there, back)
