"""Evaluations as one plain table: a row per system, a column per metric and per length bin."""

from collections.abc import Sequence

from jumok.evaluation.metrics import LABELS, Metric
from jumok.evaluation.report import Evaluation
from jumok.evaluation.significance import Significance
from jumok.explain.heatmap import cells, pad

GAP = "   "


def draw_table(evaluations: Sequence[Evaluation], comparisons: Sequence[Significance] = ()) -> str:
    """The table, the signatures, and a line per comparison in the first metric.

    The interval and the length bins are of the first metric; a star marks a bin of few sentences.
    """
    first = next(iter(evaluations[0].metrics))
    rows = [_heading(evaluations), *(_row(evaluation, _has_speed(evaluations)) for evaluation in evaluations)]
    lines = _align(rows)
    if evaluations[0].bins:
        unit = (evaluations[0].length_unit or "").replace("_", " ")
        thin = any(part.group.thin for part in evaluations[0].bins)
        lines.append(f"{LABELS[first]} by {unit}" + ("   * fewer than 30 sentences" if thin else ""))
    lines += [verdict(comparison) for comparison in comparisons if comparison.metric == first]
    lines += [_drawn(evaluation) for evaluation in evaluations if evaluation.decode.get("mbr")]
    lines += _signatures(evaluations)
    return "\n".join(lines)


def verdict(comparison: Significance) -> str:
    """One sentence: which system is how far above which other, and whether chance explains it."""
    return (
        f"{comparison.system} vs {comparison.baseline}: {comparison.delta:+.1f} {LABELS[comparison.metric]}, "
        f"p = {comparison.p:.3f} ({comparison.resamples:,} resamples)"
    )


def _heading(evaluations: Sequence[Evaluation]) -> list[str]:
    model = evaluations[0]
    labels = [LABELS[name] for name in model.metrics]
    interval = ["95 %"] if model.bootstrap else []
    speed = ["tok/s"] if _has_speed(evaluations) else []
    return ["model", labels[0], *interval, *labels[1:], *speed, *(part.group.label for part in model.bins)]


def _row(evaluation: Evaluation, with_speed: bool) -> list[str]:  # noqa: FBT001
    first, *others = evaluation.metrics.values()
    interval = [_interval(first)] if evaluation.bootstrap else []
    speed = (
        [f"{evaluation.speed.target_tokens_per_s:,.0f}" if evaluation.speed else "–"] if with_speed else []
    )
    bins = [_number(part.metrics[first.name]) + ("*" if part.group.thin else " ") for part in evaluation.bins]
    return [evaluation.model, _number(first), *interval, *map(_number, others), *speed, *bins]


def _has_speed(evaluations: Sequence[Evaluation]) -> bool:
    return any(evaluation.speed for evaluation in evaluations)


def _number(metric: Metric) -> str:
    return f"{metric.value:.1f}"


def _interval(metric: Metric) -> str:
    low, high = metric.ci95 or (metric.value, metric.value)
    return f"[{low:.1f}, {high:.1f}]"


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


def _signatures(evaluations: Sequence[Evaluation]) -> list[str]:
    """A line per metric and way of measuring it."""
    lines = dict.fromkeys(
        (LABELS[name], metric.signature)
        for evaluation in evaluations
        for name, metric in evaluation.metrics.items()
    )
    width = max(len(label) for label, _ in lines)
    return [f"{label:{width}}  {signature}" for label, signature in lines]
