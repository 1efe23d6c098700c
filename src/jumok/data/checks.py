"""What can be wrong with one pair of sentences: pure functions of the pair and of its corpus's habits."""

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice, repeat
from statistics import median

SAMPLE = 20_000  # pairs that show a corpus's habits
WINDOW = 64  # characters of a side that decide its language

LINE_BREAKS = "\n\v\f\x85\u2028\u2029"
"""Characters inside a line at which other tools, not jumok, would start a new one."""
_SUSPECTS = re.compile("[\0-\x08\n-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffd]")
_BREAKS = re.compile(f"[{LINE_BREAKS}]")
_CONTROLS = re.compile("[\0-\x08\x0e-\x1f\r\x7f-\x84\x86-\x9f\ufeff]")


@dataclass(frozen=True, slots=True)
class Profile:
    """The habits of a corpus: the usual length ratio, and which character pairs tell its sides apart."""

    ratio: float = 0.0
    """Median of log((source + 5) / (target + 5)), in characters."""
    tolerance: float = math.inf
    """How far from `ratio` a pair may be."""
    weights: dict[str, float] = field(default_factory=dict)
    """log(p(bigram | source side) / p(bigram | target side))"""


def learn_profile(pairs: Iterable[tuple[str, str]]) -> Profile:
    """Habits of the first pairs of a corpus; with fewer than ten pairs, habits that nothing can offend."""
    ratios: list[float] = []
    sides: tuple[Counter[str], Counter[str]] = (Counter(), Counter())
    for source, target in islice(pairs, SAMPLE):
        ratios.append(log_ratio(source, target))
        sides[0].update(bigrams(source))
        sides[1].update(bigrams(target))
    if len(ratios) < 10:
        return Profile()
    middle = median(ratios)
    spread = 1.4826 * median(abs(ratio - middle) for ratio in ratios)  # equals sigma for a normal curve
    return Profile(middle, max(math.log(3), 5 * spread), log_odds(*sides))


def log_odds(source: Counter[str], target: Counter[str]) -> dict[str, float]:
    """How much each common bigram speaks for the source side, between -4 and 4."""
    offset = math.log(target.total() + 1) - math.log(source.total() + 1)
    return {
        bigram: max(-4.0, min(4.0, math.log((source[bigram] + 1) / (target[bigram] + 1)) + offset))
        for bigram in source.keys() | target.keys()
        if source[bigram] + target[bigram] >= 5
    }


def bigrams(text: str) -> Iterator[str]:
    """Neighbouring characters of the beginning of a text, its edges included."""
    padded = f" {text[:WINDOW].casefold()} "
    return map(str.__add__, padded, padded[1:])


def log_ratio(source: str, target: str) -> float:
    """Logarithm of the ratio of lengths; five characters more on each side forgive short ones."""
    return math.log((len(source) + 5) / (len(target) + 5))


def is_odd_length(source: str, target: str, profile: Profile) -> bool:
    """Whether one side is far longer than is usual in this corpus."""
    return abs(log_ratio(source, target) - profile.ratio) > profile.tolerance


def is_swapped(source: str, target: str, profile: Profile) -> bool:
    """Whether the source reads like a target and the target like a source, both clearly."""
    return speaks_for_source(source, profile) < 0 < speaks_for_source(target, profile)


def speaks_for_source(text: str, profile: Profile) -> int:
    """1: the text clearly reads like a source; -1: like a target; 0: neither is sure."""
    total = sum(map(profile.weights.get, bigrams(text), repeat(0.0)))
    if abs(total) < max(5.0, 0.3 * min(len(text), WINDOW)):  # nats in all, and per character
        return 0
    return 1 if total > 0 else -1


def is_copied(source: str, target: str) -> bool:
    """Whether both sides are the same text, numbers and signs aside."""
    return source == target and any(map(str.isalpha, source))


def stray_symptoms(text: str) -> Iterator[str]:
    """The kinds of stray characters in a raw text."""
    if not _SUSPECTS.search(text):
        return
    if "\0" in text:
        yield "nul"
    if _BREAKS.search(text):
        yield "line_break"
    if _CONTROLS.search(text.replace("\0", "")):
        yield "control"
    if "\ufffd" in text:
        yield "replacement"


def pair_symptom(source: str, target: str, profile: Profile) -> str:
    """The kind of what is wrong with two tidy sides as a pair, or "" when nothing is."""
    if not source or not target:
        return "blank_both" if source == target else "blank_side"
    if is_copied(source, target):
        return "copied"
    if is_swapped(source, target, profile):
        return "swapped"
    return "odd_length" if is_odd_length(source, target, profile) else ""


def without_strays(text: str) -> str:
    """The text without control characters, and with spaces for line breaks."""
    if not _SUSPECTS.search(text):
        return text
    return _CONTROLS.sub("", _BREAKS.sub(" ", text))


def shown(text: str, width: int = 60) -> str:
    """A text for a report: cut to `width`, strays as escapes."""
    cut = text if len(text) <= width else text[: width - 1] + "…"
    return _SUSPECTS.sub(lambda stray: escape(stray[0]), cut)


def escape(character: str) -> str:
    code = ord(character)
    return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}"
