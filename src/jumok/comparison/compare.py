"""`jumok.compare()`: several models trained on the same data with the same budget, and one report of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from jumok.comparison.budget import Budget
from jumok.comparison.conduct import ExperimentCallbacks, conduct
from jumok.comparison.experiment import ComparisonRequest, open_experiment
from jumok.comparison.plan import choose_budget, read_ablations, read_archs, read_seeds
from jumok.comparison.publish import PAGE, publish
from jumok.config import ARCHS
from jumok.errors import RunError
from jumok.evaluation.metrics import check_names
from jumok.settings import Flat, read_toml

OUT = "runs/compare"


@dataclass(frozen=True, repr=False)
class ComparisonReport:
    """A finished comparison: its folder, and its report as plain values (schema compare/1)."""

    folder: Path
    report: Mapping[str, Any]

    @property
    def summary(self) -> list[str]:
        """What the figures carry, in sentences."""
        return list(self.report["summary"])

    @property
    def page(self) -> Path:
        """The report as one HTML file."""
        return self.folder / PAGE

    def __repr__(self) -> str:
        return f"ComparisonReport({str(self.page)!r}, {len(self.report['entries'])} models)"


def compare(  # noqa: PLR0913  each has a default
    config: str | Path | None = None,
    *,
    source: str | Path = "",
    target: str | Path = "",
    data: str = "",
    test_source: str | Path = "",
    test_target: str | Path = "",
    archs: Sequence[str] = ARCHS,
    seeds: Sequence[int] = (),
    ablate: Sequence[str] = (),
    time_limit: float | None = None,
    max_steps: int | None = None,
    flops: float | None = None,
    metrics: Sequence[str] = (),
    match: bool = True,
    out: str | Path = OUT,
    overrides: Mapping[str, Any] | None = None,
    device: str | None = None,
    callbacks: ExperimentCallbacks | None = None,
) -> ComparisonReport:
    """Do what `jumok compare` does: train each model in a process of its own, measure it, write the report.

    Options are those of the command; `config` is a TOML file, `overrides` are settings by full name. Called
    again with the same `out`, it goes on where it stopped. A model that failed is in the report, too.
    """
    plain = {"data.source": str(source), "data.target": str(target), "data.name": data}
    given: Flat = {key: value for key, value in plain.items() if value}
    request = read_request(
        (read_toml(config) if config else {}) | given | dict(overrides or {}),
        archs=",".join(archs),
        seeds=",".join(map(str, seeds)),
        ablate=",".join(ablate),
        metric=",".join(metrics),
        budgets={"time_limit": time_limit, "max_steps": max_steps, "flops": flops},
        match=match,
        out=Path(out),
        test_source=str(test_source),
        test_target=str(test_target),
        device=device,
    )
    callbacks = callbacks or ExperimentCallbacks()
    experiment = open_experiment(request, callbacks.progress)
    measured = conduct(experiment, callbacks)
    if measured is None:
        raise RunError("the comparison was interrupted", hint="call it again to go on", code="interrupted")
    return ComparisonReport(request.out, publish(experiment, measured, "jumok.compare()"))


def read_request(
    given: Flat,
    *,
    archs: str,
    seeds: str,
    ablate: str,
    metric: str,
    budgets: Mapping[str, float | None],
    **more: Any,
) -> ComparisonRequest:
    """What the words of the command ask for; `more` are fields of the request as they are.

    `budgets` has a time in seconds, updates and FLOPs, in this order, by the names of their options.
    """
    chosen = read_archs(archs)
    kinds: tuple[Literal["time", "steps", "flops"], ...] = ("time", "steps", "flops")
    named = {
        option: None if value is None else Budget(kind, value)
        for kind, (option, value) in zip(kinds, budgets.items(), strict=True)
    }
    return ComparisonRequest(
        given=given,  # without the settings that gave the budget
        archs=chosen,
        seeds=read_seeds(seeds) if seeds else (),
        variants=read_ablations(ablate, chosen) if ablate else (),
        budget=choose_budget(named, given),
        metrics=check_names([name.strip() for name in metric.split(",")]) if metric else (),
        **more,
    )
