"""Sentences sorted into bins by the length of their source, so that quality can be read against length."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from jumok.errors import ConfigError
from jumok.text.normalize import nfc
from jumok.text.sentences import count_sentences

Unit = Literal["source_words", "source_characters"]
UNITS: tuple[Unit, ...] = get_args(Unit)
Bins = Literal["words", "thirds"] | Sequence[int] | None
"""`words`: by ten source words. `thirds`: three bins of about equal size by source characters. Numbers: the
shortest length of each bin in source words. None: words, or thirds when no source has more than ten words."""

WORD_EDGES = (1, 11, 21, 31, 41)
THIN = 30
WIDTHS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)  # of a histogram's bars
MOST_BARS = 50


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
        characters = [length_of(text, "source_characters") for text in sources]
        return "source_characters", _thirds(np.array(characters, dtype=np.int64))
    edges = WORD_EDGES if bins == "words" else _check_edges(bins)
    words = [length_of(text, "source_words") for text in sources]
    return "source_words", _groups(np.array(words, dtype=np.int64), edges)


@dataclass(frozen=True, slots=True)
class Bars:
    """A histogram of lengths: counts[i] texts have i · width + 1 to (i + 1) · width units."""

    width: int
    counts: tuple[int, ...]

    def to_list(self) -> list[list[int]]:
        """[lo, hi, texts] of each bar that is not empty."""
        return [[i * self.width + 1, (i + 1) * self.width, n] for i, n in enumerate(self.counts) if n]


@dataclass(frozen=True, slots=True)
class TrainLengths:
    """How long the sources were that a model learned from; its folder says it under `train_lengths`."""

    pairs: int
    counted: int
    """Pairs that were looked at; fewer than `pairs` means that the bars are scaled up from a sample."""
    bars: Mapping[Unit, Bars]
    several: float | None = None
    """Share of the sources that have more than one sentence; None where no one counted."""

    def to_dict(self) -> dict[str, Any]:
        """Plain values; `parse_train_lengths` reads them."""
        bars = {str(unit): {"width": bar.width, "counts": [*bar.counts]} for unit, bar in self.bars.items()}
        known = {} if self.several is None else {"several": self.several}
        return {"pairs": self.pairs, "counted": self.counted, **known, **bars}


def count_lengths(sources: Sequence[str], pairs: int, language: str = "") -> TrainLengths:
    """The lengths of `pairs` training sources in a language, told from these of them."""
    scale = pairs / max(len(sources), 1)
    bars = {unit: _bars([length_of(text, unit) for text in sources], scale) for unit in UNITS}
    several = sum(count_sentences(" ".join(text.split()), language) > 1 for text in sources) / max(
        len(sources), 1
    )
    return TrainLengths(pairs, len(sources), bars, round(several, 4))


def parse_train_lengths(value: object) -> TrainLengths | None:
    """What `to_dict` wrote; None for anything else, since a model is as good without it."""
    match value:
        case {"pairs": int(pairs), "counted": int(counted), **rest}:
            bars: dict[Unit, Bars] = {}
            for unit in UNITS:
                match rest.get(unit):
                    case {"width": int(width), "counts": [*counts]} if width > 0:
                        if all(isinstance(n, int) for n in counts):
                            bars[unit] = Bars(width, tuple(counts))
            several = rest.get("several")
            share = float(several) if isinstance(several, int | float) else None
            return TrainLengths(pairs, counted, bars, share)
    return None


def length_of(text: str, unit: Unit) -> int:
    """Words, or composed characters with one space between words: a text counts as it does when tidied."""
    words = text.split()
    return len(words) if unit == "source_words" else len(nfc(" ".join(words)))


def _bars(lengths: Sequence[int], scale: float) -> Bars:
    """The narrowest width of `WIDTHS` that needs no more than `MOST_BARS`; what is longer is in the last."""
    longest = max(lengths, default=0)
    width = next((width for width in WIDTHS if longest <= width * MOST_BARS), WIDTHS[-1])
    places = np.clip((np.array(lengths, dtype=np.int64) - 1) // width, 0, MOST_BARS - 1)
    counts = [round(count * scale) for count in np.bincount(places).tolist()]
    return Bars(width, tuple(counts))


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
