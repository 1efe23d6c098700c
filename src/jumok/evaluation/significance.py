"""Is a difference real? Bootstrap intervals, and the paired test of two systems on the same resamples.

A resample draws as many sentences as there are, with replacement. The draws are a function of the number of
sentences, the count and the seed, and are those of sacrebleu: every metric and every system on the same
test set sees the same resamples.
"""

import re
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from jumok.evaluation.metrics import Metric, Statistics

SEED = 12345
RESAMPLES = 1000


@dataclass(frozen=True, slots=True)
class Significance:
    """How far `system` is above `baseline` in one metric, and how likely chance alone goes that far."""

    metric: str
    baseline: str
    system: str
    delta: float
    p: float
    resamples: int


def resampled(statistics: Statistics, count: int = RESAMPLES, seed: int = SEED) -> NDArray[np.float64]:
    """The metric's value on each resample, (count,)."""
    generator, sentences = np.random.default_rng(seed), len(statistics.rows)
    sums = np.empty((count, statistics.rows.shape[1]))
    for sample in sums:
        draws = generator.choice(sentences, size=sentences, replace=True)
        sample[:] = np.bincount(draws, minlength=sentences) @ statistics.rows
    return statistics.score(sums)


def interval(values: NDArray[np.float64]) -> tuple[float, float]:
    """The bounds that leave out one value in forty on either side."""
    ordered = np.sort(values)
    cut = len(ordered) // 40
    return float(ordered[cut]), float(ordered[-1 - cut])


def metric_of(statistics: Statistics, count: int = RESAMPLES) -> Metric:
    """The metric with its 95 % interval; a count of 0 leaves the interval out."""
    if count == 0:
        return Metric(statistics.name, statistics.value, statistics.signature)
    bounds = interval(resampled(statistics, count))
    signature = re.sub(r"nrefs:\w+\|", rf"\g<0>bs:{count}|seed:{SEED}|", statistics.signature, count=1)
    return Metric(statistics.name, statistics.value, signature, bounds)


def paired_test(baseline: Statistics, system: Statistics, count: int = RESAMPLES) -> tuple[float, float]:
    """(difference, p) of two systems by paired bootstrap (Koehn 2004), two-sided, as sacrebleu computes it.

    With d_i the absolute difference on resample i, shifted to mean 0, and d the observed one:

        p = (1 + #{i : d_i > d}) / (1 + count)

    Two systems that differ on no resample get p = 1; the formula would call a difference of 0 significant.
    """
    difference = system.value - baseline.value
    differences = np.abs(resampled(system, count) - resampled(baseline, count))
    if not differences.any():
        return difference, 1.0
    beyond = np.count_nonzero(differences - differences.mean() > abs(difference))
    return difference, (1 + beyond) / (1 + count)
