"""Sentences sorted into bins by the length of their source, so that quality can be read against length."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from jumok.errors import ConfigError

Unit = Literal["source_words", "source_characters"]
Bins = Literal["words", "thirds"] | Sequence[int] | None
"""`words`: by ten source words. `thirds`: three bins of about equal size by source characters. Numbers: the
shortest length of each bin in source words. None: words, or thirds when no source has more than ten words."""

WORD_EDGES = (1, 11, 21, 31, 41)
THIN = 30


@dataclass(frozen=True, slots=True)
class Group:
    """The sentences whose source has `lo` to `hi` units; a last bin without an upper end has hi=None."""

    lo: int
    hi: int | None
    sentences: tuple[int, ...]

    @property
    def thin(self) -> bool:
        """Too few sentences to trust the number."""
        return len(self.sentences) < THIN

    @property
    def label(self) -> str:
        if self.hi == self.lo:
            return str(self.lo)
        return f"{self.lo}+" if self.hi is None else f"{self.lo}–{self.hi}"


def group_by_length(sources: Sequence[str], bins: Bins = None) -> tuple[Unit, list[Group]]:
    """The unit that was counted and the bins that hold a sentence; each sentence is in exactly one.

    A source shorter than the first bin belongs to it (a blank line has no word at all).
    """
    if bins is None:
        longest = max((len(text.split()) for text in sources), default=0)
        bins = "words" if longest >= WORD_EDGES[1] else "thirds"
    if bins == "thirds":
        return "source_characters", _thirds(np.array([len(text) for text in sources], dtype=np.int64))
    edges = WORD_EDGES if bins == "words" else _check_edges(bins)
    return "source_words", _groups(np.array([len(text.split()) for text in sources], dtype=np.int64), edges)


def _thirds(lengths: NDArray[np.int64]) -> list[Group]:
    """Cut where a third and two thirds of the sentences are shorter; equal lengths stay together."""
    ordered = np.sort(lengths)
    starts = sorted({int(ordered[len(ordered) * third // 3]) for third in range(3)})
    groups = _groups(lengths, starts)
    last = groups[-1]
    return [*groups[:-1], Group(last.lo, int(ordered[-1]), last.sentences)]


def _groups(lengths: NDArray[np.int64], edges: Sequence[int]) -> list[Group]:
    which = np.maximum(np.searchsorted(edges, lengths, side="right") - 1, 0)
    ends = [edge - 1 for edge in edges[1:]] + [None]
    groups = [
        Group(lo, hi, tuple(np.flatnonzero(which == place).tolist()))
        for place, (lo, hi) in enumerate(zip(edges, ends, strict=True))
    ]
    return [group for group in groups if len(group.sentences)]


def _check_edges(edges: Sequence[int]) -> Sequence[int]:
    rising = all(low < high for low, high in zip(edges, edges[1:], strict=False))
    if isinstance(edges, str) or not edges or not rising or edges[0] < 0:
        raise ConfigError(
            f"length bins {edges!r} cannot work",
            hint="choose 'words', 'thirds', or the shortest length of each bin in rising order: 1, 11, 21",
            code="bad_bins",
        )
    return edges
