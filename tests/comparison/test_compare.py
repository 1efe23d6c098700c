"""`jumok.compare()`: the options of the command as arguments, and the report as a value."""

import json
from pathlib import Path
from typing import Any

import pytest

import jumok
from jumok.comparison.budget import Budget
from jumok.comparison.compare import ComparisonReport, compare, read_request
from jumok.comparison.experiment import Experiment
from jumok.comparison.plan import TUNED
from jumok.errors import ConfigError, RunError
from tests.comparison.conftest import tiny_request


@pytest.fixture
def conducted(monkeypatch: pytest.MonkeyPatch) -> list[Experiment]:
    """The experiments that would have been carried out; no model of them ends well."""
    seen: list[Experiment] = []

    def conduct(experiment: Experiment, callbacks: object) -> dict[str, Any]:
        seen.append(experiment)
        error = {"message": "no time", "where": "", "hint": ""}
        return {entry.name: {"status": "failed", "error": error} for entry in experiment.entries}

    monkeypatch.setattr("jumok.comparison.compare.conduct", conduct)
    return seen


def call(corpus: Path, **more: Any) -> ComparisonReport:
    given = tiny_request(corpus).given
    sides = {side: given[f"data.{side}"] for side in ("source", "target")}
    rest = {key: value for key, value in given.items() if key not in ("data.source", "data.target")}
    return compare(**{"out": corpus / "out", "overrides": rest, "device": "cpu", **sides, **more})


def test_the_options_of_the_command(corpus: Path, conducted: list[Experiment]) -> None:
    found = call(corpus, archs=["transformer", "rnn"], seeds=[1, 2], ablate=["no-scale"], metrics=["chrf"])
    [experiment] = conducted
    assert (experiment.request.budget, experiment.request.match) == (Budget("time", 600.0), True)
    assert [entry.name for entry in experiment.entries] == [
        *("rnn-s1", "transformer-s1", "rnn-s2", "transformer-s2"),
        *("transformer-s1 no-scale", "transformer-s2 no-scale"),
    ]
    assert experiment.options.metrics == ("chrf",)
    assert found.report == json.loads((corpus / "out" / "report.json").read_bytes())
    assert found.report["command"] == "jumok.compare()"
    assert found.page.read_text(encoding="utf-8").startswith("<!doctype html>")
    assert "rnn-s1 failed: no time." in found.summary
    assert repr(found) == f"ComparisonReport({str(found.page)!r}, 6 models)"


def test_arguments_stand_above_the_file_and_overrides_above_both(
    corpus: Path, conducted: list[Experiment]
) -> None:
    file = corpus / "settings.toml"
    file.write_text('seed = 3\n[data]\nsource = "elsewhere"\n[training]\nlr = 0.002\nclip = 2.0\n')
    given = tiny_request(corpus).given
    call(corpus, config=file, overrides=given | {"training.lr": 0.005}, archs=["transformer"], match=False)
    [experiment] = conducted
    assert experiment.request.match is False
    assert experiment.request.given == given | {"seed": 3, "training.lr": 0.005, "training.clip": 2.0}


def test_one_budget_at_most(corpus: Path, conducted: list[Experiment]) -> None:
    with pytest.raises(ConfigError, match="time_limit and max_steps exclude each other"):
        call(corpus, time_limit=5, max_steps=7)
    with pytest.raises(ConfigError, match="a budget of 0 steps cannot work"):
        call(corpus, max_steps=0)
    call(corpus, max_steps=7)
    assert conducted[0].request.budget == Budget("steps", 7)


def budget_of(given: dict[str, Any], *values: float | None) -> Budget:
    budgets = dict(zip(("time_limit", "max_steps", "flops"), values or (None,) * 3, strict=True))
    return read_request(
        given, archs="rnn", seeds="", ablate="", metric="", budgets=budgets, out=Path("runs")
    ).budget


def test_a_budget_is_given_by_an_option_a_setting_or_the_data() -> None:
    assert budget_of({}, 600.0, None, None) == budget_of({}) == Budget("time", 600.0)
    assert budget_of({}, None, 50, None) == Budget("steps", 50)
    assert budget_of({}, None, None, 1e12) == Budget("flops", 1e12)
    assert budget_of({"data.name": "dates"}) == Budget("steps", TUNED["dates"].steps)
    given = {"training.max_steps": 70, "training.time_limit": 0}
    assert budget_of(given) == Budget("steps", 70)
    assert given == {}  # a budget is no setting of its own any more
    assert budget_of({"training.max_steps": 70}, 5.0, None, None) == Budget("time", 5.0)


def test_an_interruption_is_an_error(corpus: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("jumok.comparison.compare.conduct", lambda experiment, callbacks: None)
    with pytest.raises(RunError, match="the comparison was interrupted"):
        call(corpus)


def test_the_package_has_it_also_after_its_room_is_imported() -> None:
    assert jumok.compare is compare
