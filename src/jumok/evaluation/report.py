"""What an evaluation found: a value that can be printed, stored as JSON and compared with another."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import pairwise
from typing import Any

from jumok.errors import DataError
from jumok.evaluation.lengths import Group, TrainLengths, Unit
from jumok.evaluation.metrics import Metric, Statistics
from jumok.evaluation.significance import Significance, paired_test


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
