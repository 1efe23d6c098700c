"""How good probabilities of change are: do they find the changes, and do they come true?"""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Column = NDArray[np.float64]
Labels = NDArray[np.bool_]

WORST_SHARE = 0.2
"""Of the words, the most doubtful ones: how many of the changes are among them?"""
BINS = 10


@dataclass(frozen=True, slots=True)
class ReliabilityBin:
    """Rows whose probabilities are alike: how many, the mean probability, and the share that was changed."""

    count: int
    predicted: float
    observed: float


@dataclass(frozen=True, slots=True)
class Reliability:
    """Probabilities beside what was changed."""

    count: int
    changed: float
    """The share of all that was changed."""
    auc: float
    """Area under the ROC curve: how often something changed has a higher probability than something kept."""
    found: float
    """The share of the changes among the most doubtful `WORST_SHARE`."""
    most: float
    """The largest `found` that is possible with so many changes."""
    error: float
    """Expected calibration error (Naeini et al. 2015)."""
    bins: tuple[ReliabilityBin, ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return asdict(self)


def reliability(probabilities: Column, changed: Labels) -> Reliability:
    """How good the probabilities are; equal ones count in their order."""
    share = float(changed.mean()) if len(changed) else 0.0
    bins = reliability_bins(probabilities, changed)
    error = sum(one.count * abs(one.predicted - one.observed) for one in bins) / max(len(changed), 1)
    most = min(1.0, WORST_SHARE / share) if share else 1.0
    found = found_share(probabilities, changed)
    return Reliability(len(changed), share, auc(probabilities, changed), found, most, error, bins)


def auc(scores: Column, changed: Labels) -> float:
    """The Mann-Whitney statistic: P(score of a changed one > of a kept one), ties count half; 0.5 is chance.

    AUC = (Σ ranks of the changed − n (n + 1) / 2) / (n m)
    """
    n, m = int(changed.sum()), int((~changed).sum())
    if not n or not m:
        return 0.5
    _, places, counts = np.unique(scores, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[places]
    return float((ranks[changed].sum() - n * (n + 1) / 2) / (n * m))


def found_share(scores: Column, changed: Labels, share: float = WORST_SHARE) -> float:
    """The share of all changes that are among the `share` with the highest scores; without changes 1."""
    worst = np.argsort(-scores, kind="stable")[: round(share * len(scores))]
    return float(changed[worst].sum() / changed.sum()) if changed.any() else 1.0


def reliability_bins(probabilities: Column, changed: Labels, bins: int = BINS) -> tuple[ReliabilityBin, ...]:
    """Rows by the tenth that their probability falls into; tenths that nothing falls into are left out."""
    number = np.minimum((probabilities * bins).astype(np.int64), bins - 1)
    return tuple(
        ReliabilityBin(int(rows.sum()), float(probabilities[rows].mean()), float(changed[rows].mean()))
        for rows in (number == one for one in range(bins))
        if rows.any()
    )
