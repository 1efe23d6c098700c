"""Test sentences in bins of about equal size by the length of their source, cut where training ended."""

from collections.abc import Mapping, Sequence
from math import sqrt
from typing import Any

import numpy as np

from jumok.evaluation.lengths import THIN, Group, TrainLengths, Unit, length_of
from jumok.evaluation.metrics import Statistics
from jumok.evaluation.report import metric_of

MOST_BINS = 6
SENTENCES = 2 * THIN  # a bin has at least so many, where the test set allows
WORDS = 8  # shorter texts, and those of scripts without spaces, are counted in characters


def unit_for(sources: Sequence[str]) -> Unit:
    """Words where the median source has a few of them, else characters."""
    words = np.median([length_of(text, "source_words") for text in sources])
    return "source_words" if words >= WORDS else "source_characters"


def longest_seen(lengths: TrainLengths | None, unit: Unit) -> int | None:
    """Length of the longest training source, rounded up as its histogram is; None if nobody counted."""
    bars = lengths.bars.get(unit) if lengths else None
    return bars.width * len(bars.counts) if bars and bars.counts else None


def equal_groups(sources: Sequence[str], unit: Unit, trained_to: int | None) -> list[Group]:
    """Groups in rising length; equal lengths stay together, and none holds both sides of `trained_to`."""
    lengths = np.array([length_of(text, unit) for text in sources], dtype=np.int64)
    seen = np.sort(lengths if trained_to is None else lengths[lengths <= trained_to])
    count = min(MOST_BINS, max(1, len(seen) // SENTENCES))
    starts = {int(seen[len(seen) * i // count]) for i in range(count)} if len(seen) else set()
    if trained_to is not None:
        starts.add(trained_to + 1)
    edges = sorted(starts)
    which = np.searchsorted(edges, lengths, side="right") - 1
    groups = []
    for place in range(len(edges)):
        lines = np.flatnonzero(which == place)
        if len(lines):
            held = lengths[lines]
            groups.append(Group(int(held.min()), int(held.max()), tuple(lines.tolist())))
    return groups


def by_length(
    sources: Sequence[str], statistics: Statistics, trained: TrainLengths | None, bootstrap: int
) -> dict[str, Any]:
    """The metric of each group with its interval: `by_length` of compare/1."""
    unit = unit_for(sources)
    trained_to = longest_seen(trained, unit)
    bins = []
    for group in equal_groups(sources, unit, trained_to):
        beyond = trained_to is not None and group.lo > trained_to
        found = scored(statistics.select(group.sentences), bootstrap)
        figures = {"value": found["value"], "ci95": found["ci95"], "thin": group.thin, "beyond": beyond}
        bins.append({"lo": group.lo, "hi": group.hi, "n": len(group.sentences), **figures})
    return {"unit": unit, "trained_to": trained_to, "bins": bins}


def scored(statistics: Statistics, bootstrap: int) -> dict[str, Any]:
    """A metric's value, interval and signature; the interval of a share is Wilson's, others are resampled."""
    share = statistics.name == "exact" and bootstrap > 0
    found = metric_of(statistics, 0 if share else bootstrap)
    ci95 = wilson(float(statistics.rows[:, 0].sum()), len(statistics.rows)) if share else found.ci95
    signature = f"{found.signature}|ci:wilson" if share else found.signature
    return {"value": found.value, "ci95": None if ci95 is None else list(ci95), "signature": signature}


def hopeless(part: Mapping[str, Any], *, lower: bool) -> bool:
    """Whether a bin's interval reaches 0 %, or 100 % of errors: from there nothing can fall."""
    low, high = part["ci95"]
    return bool(high >= 100 if lower else low <= 0)


def wilson(right: float, n: int) -> tuple[float, float]:
    """The 95 % interval of a share of n in percent (Wilson 1927), with z = 1.96 and p = right / n:

        (p + z²/2n ± z √(p(1-p)/n + z²/4n²)) / (1 + z²/n)

    Where all are right every resample is, too, and the bootstrap would call 30 sentences certainty.
    """
    z, p = 1.96, right / n
    middle, side = p + z * z / (2 * n), z * sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    low, high = ((middle + sign * side) / (1 + z * z / n) for sign in (-1, 1))
    return (100 * max(low, 0.0) if right else 0.0), (100 * min(high, 1.0) if right < n else 100.0)
