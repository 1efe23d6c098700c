"""What an evaluation found: a value to be stored as JSON, compared with others and drawn as a table.

Is a difference real? A resample draws as many sentences as there are, with replacement. The draws are a
function of the number of sentences, the count and the seed, and are those of sacrebleu: every metric and
every system on the same test set sees the same resamples.
"""

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jumok.errors import DataError
from jumok.evaluation.lengths import Group, TrainLengths, Unit
from jumok.evaluation.metrics import LABELS, Metric, Statistics
from jumok.evaluation.mistakes import Mistakes
from jumok.explain.heatmap import cells, pad

SEED = 12345
RESAMPLES = 1000
GAP = "   "


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
    signature = re.sub(r"nrefs:\w+\|", rf"\g<0>bs:{count}|seed:{SEED}|", statistics.signature)
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


def paired_interval(
    baseline: Statistics, system: Statistics, count: int = RESAMPLES
) -> tuple[float, float, float]:
    """The difference of two systems on the same sentences, and the bounds of its 95 % interval.

    Both are resampled together (paired bootstrap), so what makes a sentence hard for both is no noise.
    """
    low, high = interval(resampled(system, count) - resampled(baseline, count))
    return system.value - baseline.value, low, high


@dataclass(frozen=True, slots=True)
class Bin:
    """Quality of the sentences of one length."""

    group: Group
    metrics: Mapping[str, Metric]
    length_ratio: float
    examples: tuple[int, ...]
    """Sentence numbers from 0, the worst first."""

    def to_dict(self) -> dict[str, Any]:
        values: dict[str, Any] = {}
        for name, metric in self.metrics.items():
            values[name] = _finite(metric.value)
            values[f"{name}_ci95"] = _bounds(metric)
        size = {"lo": self.group.lo, "hi": self.group.hi, "n": len(self.group.sentences)}
        rest = {"length_ratio": self.length_ratio, "thin": self.group.thin, "examples": list(self.examples)}
        return size | values | rest


@dataclass(frozen=True, slots=True)
class Speed:
    """How fast the test set was translated, end to end."""

    sentences_per_s: float
    target_tokens_per_s: float
    wall_s: float
    engine: Mapping[str, str] | None = None
    """What translated: its name, the type of its numbers, its instructions or its device."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """How good one system's translations of one test set are. `to_dict` is schema eval/1."""

    model: str
    data: str
    sha256: str
    """Of sources and references: equal means the same test set."""
    decode: Mapping[str, Any]
    metrics: Mapping[str, Metric]
    length_ratio: float
    """Characters of the hypotheses per character of the references."""
    length_unit: Unit | None
    bins: tuple[Bin, ...]
    sentence_chrf: tuple[float, ...] = field(repr=False)
    """chrF++ of each sentence, by which the examples of a bin are chosen; nothing without bins."""
    train_lengths: TrainLengths | None
    """How long the training sources were, where the model's folder says so."""
    bootstrap: int
    speed: Speed | None
    notes: tuple[str, ...]
    sources: tuple[str, ...] = field(repr=False)
    references: tuple[str, ...] = field(repr=False)
    """The first of each sentence."""
    all_references: tuple[tuple[str, ...], ...] = field(repr=False)
    hypotheses: tuple[str, ...] = field(repr=False)
    statistics: Mapping[str, Statistics] = field(repr=False, compare=False)
    mistakes: Mistakes | None = field(default=None, repr=False)
    """What kinds of mistakes there are, where someone asked."""

    def to_dict(self) -> dict[str, Any]:
        """Plain values only; nothing in it is NaN or infinite."""
        by_length = {"unit": self.length_unit, "bins": [part.to_dict() for part in self.bins]}
        trained, unit = self.train_lengths, self.length_unit
        bars = trained.bars.get(unit) if trained and unit else None
        return {
            "schema": "eval/1",
            "model": self.model,
            "data": {"name": self.data, "n": len(self.references), "sha256": self.sha256},
            "decode": dict(self.decode),
            "metrics": {
                name: {"value": _finite(part.value), "ci95": _bounds(part), "signature": part.signature}
                for name, part in self.metrics.items()
            },
            "length_ratio": self.length_ratio,
            "by_length": by_length if self.bins else None,
            "train_length_histogram": bars.to_list() if bars else None,
            "train_length_counted": trained.counted if trained and bars else None,
            "speed": asdict(self.speed) if self.speed else None,
            "examples": [self._example(line) for part in self.bins for line in part.examples],
            "notes": list(self.notes),
            "mistakes": self.mistakes.to_dict() if self.mistakes else None,
        }

    def to_json(self) -> str:
        return json.dumps(self.to_dict(), ensure_ascii=False, allow_nan=False)

    def _example(self, line: int) -> dict[str, Any]:
        texts = {"source": self.sources, "reference": self.references, "hypothesis": self.hypotheses}
        score = {"chrf": self.sentence_chrf[line]}
        right = self.all_references[line]
        more = {"references": list(right)} if len(right) > 1 else {}
        return {"line": line} | score | {side: lines[line] for side, lines in texts.items()} | more


def compare_evaluations(evaluations: Sequence[Evaluation]) -> list[Significance]:
    """Each system against the one before it, in every metric that both measured in the same way.

    All must be of one test set; the resamples are then the same for all.
    """
    comparisons = []
    for before, after in pairwise(evaluations):
        if before.sha256 != after.sha256:
            raise DataError(
                f"{after.model} and {before.model} were evaluated on different test sets",
                where=f"sha256 {after.sha256[:12]}… and {before.sha256[:12]}…",
                hint="evaluate both on the same sources and references",
                code="different_data",
            )
        resamples = min(before.bootstrap, after.bootstrap)
        for name, ours in after.statistics.items():
            theirs = before.statistics.get(name)
            if resamples and theirs and theirs.signature == ours.signature:
                delta, p = paired_test(theirs, ours, resamples)
                comparisons.append(Significance(name, before.model, after.model, delta, p, resamples))
    return comparisons


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _bounds(metric: Metric) -> list[float | None] | None:
    return None if metric.ci95 is None else [_finite(bound) for bound in metric.ci95]


def draw_table(evaluations: Sequence[Evaluation], comparisons: Sequence[Significance] = ()) -> str:
    """The table, the signatures, and a line per comparison in the first metric.

    The interval and the length bins are of the first metric; a star marks a bin of few sentences.
    """
    first = next(iter(evaluations[0].metrics))
    timed = any(evaluation.speed for evaluation in evaluations)
    rows = [_heading(evaluations[0], timed=timed), *(_row(one, timed=timed) for one in evaluations)]
    lines = _align(rows)
    if evaluations[0].bins:
        unit = (evaluations[0].length_unit or "").replace("_", " ")
        thin = any(part.group.thin for part in evaluations[0].bins)
        lines.append(f"{LABELS[first]} by {unit}" + ("   * fewer than 30 sentences" if thin else ""))
    lines += [verdict(comparison) for comparison in comparisons if comparison.metric == first]
    lines += [_drawn(evaluation) for evaluation in evaluations if evaluation.decode.get("mbr")]
    lines += _signatures(evaluations)
    for evaluation in evaluations:
        lines += _mistakes(evaluation) if evaluation.mistakes else []
    return "\n".join(lines)


def verdict(comparison: Significance) -> str:
    """One sentence: which system is how far above which other, and whether chance explains it."""
    return (
        f"{comparison.system} vs {comparison.baseline}: {comparison.delta:+.1f} {LABELS[comparison.metric]}, "
        f"p = {comparison.p:.3f} ({comparison.resamples:,} resamples)"
    )


def _heading(model: Evaluation, *, timed: bool) -> list[str]:
    labels = [LABELS[name] for name in model.metrics]
    interval = ["95 %"] if model.bootstrap else []
    speed = ["tok/s"] if timed else []
    return ["model", labels[0], *interval, *labels[1:], *speed, *(part.group.label for part in model.bins)]


def _row(evaluation: Evaluation, *, timed: bool) -> list[str]:
    first, *others = evaluation.metrics.values()
    low, high = first.ci95 or (first.value, first.value)
    interval = [f"[{low:.1f}, {high:.1f}]"] if evaluation.bootstrap else []
    speed = f"{evaluation.speed.target_tokens_per_s:,.0f}" if evaluation.speed else "–"
    bins = [
        f"{part.metrics[first.name].value:.1f}" + ("*" if part.group.thin else " ")
        for part in evaluation.bins
    ]
    values = [f"{metric.value:.1f}" for metric in others]
    return [evaluation.model, f"{first.value:.1f}", *interval, *values, *([speed] if timed else []), *bins]


def _align(rows: Sequence[Sequence[str]]) -> list[str]:
    """Names to the left, numbers to the right."""
    widths = [max(cells(cell) for cell in column) for column in zip(*rows, strict=True)]
    lines = []
    for name, *numbers in rows:
        right = [" " * (width - cells(cell)) + cell for cell, width in zip(numbers, widths[1:], strict=True)]
        lines.append(GAP.join([pad(name, widths[0]), *right]).rstrip())
    return lines


def _drawn(evaluation: Evaluation) -> str:
    """How answers were chosen that no search found."""
    decode = evaluation.decode
    by = f"{decode['mbr']} draws by {decode['utility']}, temperature {decode['temperature']:g}"
    return f"{evaluation.model}: {by}, seed {decode['seed']}"


def _mistakes(evaluation: Evaluation) -> list[str]:
    """How many answers have mistakes, of which kinds, whose fault, and the words that are missed most."""
    found = evaluation.mistakes
    assert found
    said = f"{evaluation.model}: {len(found.lines):,} of {found.n:,} answers have mistakes"
    kinds = ", ".join(f"{kind} {count:,}" for kind, count in found.kinds.items())
    causes = ", ".join(f"{count:,} by the {cause}" for cause, count in sorted(found.causes.items()))
    missed = sorted((word for word in found.words if word.missed), key=lambda word: -word.missed)[:5]
    words = ", ".join(f"{word.word} {word.missed:,} of {word.times:,}" for word in missed)
    parts = [(kinds, "  words: "), (causes, "  answers: "), (words, "  missed: ")]
    return [said, *(label + text for text, label in parts if text)]


def _signatures(evaluations: Sequence[Evaluation]) -> list[str]:
    """A line per metric and way of measuring it."""
    lines = dict.fromkeys(
        (LABELS[name], metric.signature)
        for evaluation in evaluations
        for name, metric in evaluation.metrics.items()
    )
    width = max(len(label) for label, _ in lines)
    return [f"{label:{width}}  {signature}" for label, signature in lines]
