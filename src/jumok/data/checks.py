"""What can be wrong with sentence pairs: stray characters, and pairs unlike the others of their corpus."""

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from jumok.data.habits import SideHabits, learn_habits, may_be_spoilt, read_again, spoilt_kinds

Numbers = NDArray[np.float64]
Notes = dict[int, set[str]]

WINDOW = 64  # characters of a side that decide its language
FEWEST = 10  # pairs that show habits
BITS = 18  # of a bigram's bucket; few corpora have so many bigrams that two of them meet
EDGE = "  "  # between two texts; no tidy text has it inside

LINE_BREAKS = "\n\v\f\x85\u2028\u2029"
"""Characters inside a line at which other tools, not jumok, would start a new one."""
_SUSPECTS = re.compile("[\0-\x08\n-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffd]")
_BREAKS = re.compile(f"[{LINE_BREAKS}]")
_CONTROLS = re.compile("[\0-\x08\x0e-\x1f\r\x7f-\x84\x86-\x9f\ufeff]")


@dataclass(frozen=True, slots=True, eq=False)
class Profile:
    """The habits of a corpus: the usual length ratio, and which character pairs tell its sides apart."""

    ratio: float = 0.0
    """Median of log((source + 5) / (target + 5)), in characters."""
    tolerance: float = math.inf
    """How far from `ratio` a pair may be."""
    weights: NDArray[np.float32] | None = None
    """log(p(bigram | source side) / p(bigram | target side)) of each bucket of bigrams"""
    sides: tuple[SideHabits, SideHabits] = field(default_factory=lambda: (SideHabits(), SideHabits()))


def learn_profile(sources: Sequence[str], targets: Sequence[str]) -> Profile:
    """Habits of these tidy pairs; fewer than ten have habits that nothing can offend."""
    if len(sources) < FEWEST:
        return Profile()
    ratios = log_ratios(sources, targets)
    middle = float(np.median(ratios))
    spread = 1.4826 * float(np.median(abs(ratios - middle)))  # equals sigma for a normal curve
    source, target = _count(sources), _count(targets)
    offset = math.log(target.sum() + 1) - math.log(source.sum() + 1)
    odds = np.clip(np.log((source + 1) / (target + 1)) + offset, -4.0, 4.0)
    weights = np.where(source + target >= 5, odds, 0.0).astype(np.float32)
    sides = (learn_habits(sources), learn_habits(targets))
    return Profile(middle, max(math.log(3), 5 * spread), weights, sides)


def bigrams(texts: Sequence[str]) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
    """Buckets of the neighbouring characters of each text's beginning, its edges and then EDGE included; and
    where each text starts among them."""
    padded = [f" {text[:WINDOW].casefold()} " for text in texts]
    codes = np.frombuffer(f"{''.join(padded)} ".encode("utf-32-le"), dtype=np.uint32)
    mixed = codes[:-1] * np.uint32(0x9E3779B1) + codes[1:] * np.uint32(0x85EBCA6B)
    starts = np.cumsum([0, *map(len, padded)])[:-1]
    return mixed >> np.uint32(32 - BITS), starts


def _count(texts: Sequence[str]) -> NDArray[np.int64]:
    buckets, _ = bigrams(texts)
    counts = np.bincount(buckets, minlength=1 << BITS)
    counts[buckets[-1]] = 0  # of EDGE
    return counts


def log_ratios(sources: Sequence[str], targets: Sequence[str]) -> Numbers:
    """Logarithms of the ratios of lengths; five characters more on each side forgive short ones."""
    left, right = (np.array([*map(len, texts)], dtype=np.float64) for texts in (sources, targets))
    ratios: Numbers = np.log((left + 5) / (right + 5))
    return ratios


def speaks_for_source(texts: Sequence[str], weights: NDArray[np.float32]) -> NDArray[np.int8]:
    """1: a text clearly reads like a source; -1: like a target; 0: neither is sure."""
    buckets, starts = bigrams(texts)
    totals = np.add.reduceat(weights[buckets], starts)
    lengths = np.minimum([len(text) for text in texts], WINDOW)
    sure = abs(totals) >= np.maximum(5.0, 0.3 * lengths)  # nats in all, and per character
    return np.where(sure, np.sign(totals), 0).astype(np.int8)


def is_copied(source: str, target: str) -> bool:
    """Whether both sides are the same text, numbers and signs aside."""
    return source == target and any(map(str.isalpha, source))


def odd_pairs(sources: Sequence[str], targets: Sequence[str], profile: Profile) -> dict[int, str]:
    """The places of tidy pairs that have something wrong with them, and its kind."""
    odd = np.flatnonzero(abs(log_ratios(sources, targets) - profile.ratio) > profile.tolerance)
    long = [place for place, pair in enumerate(zip(sources, targets, strict=True)) if is_long(pair, profile)]
    kinds = dict.fromkeys(odd.tolist(), "odd_length") | dict.fromkeys(long, "long_line")
    if profile.weights is not None and sources:
        left, right = (speaks_for_source(texts, profile.weights) for texts in (sources, targets))
        kinds |= dict.fromkeys(np.flatnonzero((left < 0) & (right > 0)).tolist(), "swapped")
    same = [place for place, pair in enumerate(zip(sources, targets, strict=True)) if is_copied(*pair)]
    return kinds | dict.fromkeys(same, "copied") | blank_pairs(sources, targets)


def is_long(pair: tuple[str, str], profile: Profile) -> bool:
    """Whether a side is far longer than others of its corpus."""
    return any(len(text) > side.longest for text, side in zip(pair, profile.sides, strict=True))


def noted_pairs(raw: Sequence[Sequence[str]], tidied: Sequence[Sequence[str]], profile: Profile) -> Notes:
    """The places of pairs with something worth a word that is no reason to leave them out, and what it is.

    Both are lists of sources and of targets, as they are in the file and tidied.
    """
    kinds: Notes = {}
    for own, texts, side in zip(raw, tidied, profile.sides, strict=True):
        together = "\t".join(own)
        if has_strays(together) or may_be_spoilt(together):
            for place, text in enumerate(own):
                if found := {*stray_kinds(text), *spoilt_kinds(text)}:
                    kinds.setdefault(place, set()).update(found)
        for place, text in enumerate(texts):
            if found := set(side.kinds(text)):
                kinds.setdefault(place, set()).update(found)
    return kinds


def blank_pairs(sources: Sequence[str], targets: Sequence[str]) -> dict[int, str]:
    """The places of pairs that have no text on one side or on both."""
    pairs = enumerate(zip(sources, targets, strict=True))
    return {
        place: "blank_side" if source or target else "blank_both"
        for place, (source, target) in pairs
        if not (source and target)
    }


def has_strays(text: str) -> bool:
    """Whether a raw text has stray characters of any kind."""
    return _SUSPECTS.search(text) is not None


def stray_kinds(text: str) -> Iterator[str]:
    """The kinds of stray characters in a raw text."""
    if not has_strays(text):
        return
    if "\0" in text:
        yield "nul"
    if _BREAKS.search(text):
        yield "line_break"
    if _CONTROLS.search(text.replace("\0", "")):
        yield "control"
    if "\ufffd" in text:
        yield "replacement"


def repaired(text: str) -> str:
    """The text read again in UTF-8, without control characters, and with spaces for line breaks."""
    text = read_again(text)
    return _CONTROLS.sub("", _BREAKS.sub(" ", text)) if has_strays(text) else text


def shown(text: str, width: int = 60) -> str:
    """A text for a report: cut to `width`, strays as escapes."""
    cut = text if len(text) <= width else text[: width - 1] + "…"
    return _SUSPECTS.sub(lambda stray: ascii(stray[0])[1:-1], cut)
