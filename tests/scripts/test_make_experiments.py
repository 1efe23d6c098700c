"""The pages of experiments: figures and findings follow from the results, and say what these say."""

import importlib.util
import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as xml

import pytest

ROOT = Path(__file__).parents[2]
spec = importlib.util.spec_from_file_location("make_experiments", ROOT / "scripts" / "make_experiments.py")
assert spec is not None
assert spec.loader is not None
make_experiments = importlib.util.module_from_spec(spec)
sys.modules["make_experiments"] = make_experiments
spec.loader.exec_module(make_experiments)

Records = list[dict[str, Any]]


@pytest.fixture
def records() -> Records:
    with make_experiments.RESULTS.open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def test_every_file_is_what_the_results_make(records: Records) -> None:
    for file, text in make_experiments.made(records).items():
        assert file.read_text("utf-8") == text, f"{file}: scripts/make_experiments.py"


def test_every_figure_and_page_is_made(records: Records) -> None:
    made = {file.relative_to(make_experiments.PAGES) for file in make_experiments.made(records)}
    there = {file.relative_to(make_experiments.PAGES) for file in make_experiments.PAGES.rglob("*.*")}
    assert made == there


def test_every_planned_training_has_its_line_with_these_settings(
    records: Records, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    planned = importlib.import_module("experiments").plan()
    assert {one["name"]: one["settings"] for one in records} == {one.name: one.settings for one in planned}


def test_the_numbers_of_a_finding_are_those_of_the_results(records: Records) -> None:
    """Recomputed by other means: the longest third of the RNN in the finding and in the table."""
    longest = [
        one["scores"]["thirds"][-1]["value"]
        for one in records
        if one["experiment"] == "bottleneck" and one["settings"]["model.arch"] == "rnn"
    ]
    mean = f"{sum(longest) / len(longest):.1f}"
    page = (make_experiments.PAGES / "bottleneck.md").read_text("utf-8")
    assert f"{mean} % ({min(longest):.1f}–{max(longest):.1f}) of the longest" in page
    assert re.search(rf"\| RNN \|.*\| {re.escape(mean)} \(", page)


def test_figures_are_well_formed_and_say_their_numbers(records: Records) -> None:
    values = [
        one["scores"]["value"]
        for one in records
        if (one["experiment"], one["variant"]) == ("parts", "no-norm")
    ]
    for language in (make_experiments.ENGLISH, make_experiments.KOREAN):
        for name, drawing in make_experiments.figures(make_experiments.Results(records), language):
            picture = xml.fromstring(drawing)
            told = picture.findtext("{*}desc") or ""
            assert picture.findtext("{*}title"), name
            if name == "parts":
                assert ", ".join(f"{one:.1f}" for one in sorted_by_seed(values, records)) in told


def sorted_by_seed(values: list[float], records: Records) -> list[float]:
    seeds = [one["seed"] for one in records if (one["experiment"], one["variant"]) == ("parts", "no-norm")]
    return [value for _, value in sorted(zip(seeds, values, strict=True))]


def changed(records: Records, experiment: str, variant: str, change: Callable[[int], float]) -> None:
    """Give the seeds of one variant other scores."""
    for one in records:
        if (one["experiment"], one["variant"]) == (experiment, variant):
            one["scores"]["value"] = change(one["seed"])


@pytest.mark.parametrize(
    ("without", "words"),
    [
        (lambda seed: 10.0 + seed, "Holds here."),
        (lambda seed: 91.0 + seed, "Undecided here."),
        (lambda seed: 96.0 + seed, "Does not hold here."),
    ],
)
def test_a_difference_is_claimed_only_where_all_seeds_agree(
    records: Records, without: Callable[[int], float], words: str
) -> None:
    changed(records, "parts", "plain", lambda seed: 91.5 + seed)
    changed(records, "parts", "no-residual", without)
    found = make_experiments.findings(make_experiments.Results(records))
    [line] = [one.line(0) for one in found if one.claim[0].startswith("Residual")]
    assert f"**{words}**" in line


def test_a_missing_experiment_is_an_error() -> None:
    with pytest.raises(SystemExit, match=r"no results of bottleneck/rnn: run benchmarks/experiments\.py"):
        make_experiments.made([])


def test_what_the_pages_say_in_their_own_words_is_so(records: Records) -> None:
    """Sentences that nobody makes: each of these has its place under "How to read it", in both languages."""

    def of(experiment: str, variant: str) -> Records:
        return [one for one in records if (one["experiment"], one["variant"]) == (experiment, variant)]

    def scores(experiment: str, variant: str) -> list[float]:
        return [one["scores"]["value"] for one in of(experiment, variant)]

    def lost(whole: str, less: str) -> float:
        return (sum(scores("parts", whole)) - sum(scores("parts", less))) / 3

    assert round(lost("plain", "no-scale")) == 25
    assert round(lost("one-head", "one-head-no-scale")) == 91
    for one in of("parts", "no-scale"):
        assert one["course"]["exact"] == sorted(one["course"]["exact"])
    assert scores("parts", "no-residual") == [0, 0, 0]
    assert round(lost("plain", "no-norm")) == 2
    assert round(lost("plain", "one-head")) == 3
    assert 0 < max(scores("parts", "one-head")) - min(scores("parts", "plain")) < 0.5
    shortest = [one["scores"]["thirds"][0]["value"] for one in of("parts", "no-positions")]
    assert abs(sum(shortest) / 3 - 100 / 6) < 1
    assert min(scores("parts", "rotary-positions")) > max(scores("parts", "plain"))

    spans = [max(scores("forcing", name)) - min(scores("forcing", name)) for name in ("1", "0-rollout")]
    assert [round(span) for span in spans] == [3, 49]
    assert round(max(scores("forcing", "0-rollout"))) == 95
    assert max(scores("forcing", "0.5")) > min(scores("forcing", "1"))

    def errors(kind: str, letters: int) -> list[float]:
        rows = [row for one in of("positions", kind) for row in one["scores"]["lengths"]]
        return [row["per"] for row in rows if row["letters"] == letters]

    assert abs(sum(errors("sinusoidal", 9)) / 3 - 40) < 2
    assert max(errors("rotary", 11)) < min(errors("sinusoidal", 11))
    assert max(errors("rotary", 12)) > min(errors("sinusoidal", 12))
    assert min(error for letters in range(3, 15) for error in errors("none", letters)) > 48
    long = {row["letters"]: row["n"] for row in of("positions", "none")[0]["scores"]["lengths"]}
    assert (long[13], long[14]) == (50, 42)
    rising = [one["course"]["exact"] for one in of("bottleneck", "rnn")]
    assert all(course[-1] > max(course[:-1]) for course in rising)
