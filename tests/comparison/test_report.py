"""Entries to a report."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from jumok.comparison.entry import ComparisonEntry
from jumok.comparison.measure import TESTED
from jumok.comparison.report import build_report, change_interval, slope_of, telling_lines, worse
from jumok.errors import DataError
from jumok.evaluation.metrics import exact
from jumok.evaluation.report import paired_test
from tests.comparison.experiments import (
    FACTS,
    REFERENCES,
    SOURCES,
    answers,
    entry,
    failed,
    figures,
    longer_than,
    measured,
)

RNN, LUONG, TRANSFORMER = entry("rnn"), entry("luong"), entry("transformer")
ABLATION = entry("transformer", "no-scale")


def report_of(
    out: Path, hypotheses: dict[str, list[str]], entries: list[ComparisonEntry], **others: Any
) -> dict[str, Any]:
    found = {one.name: measured(out, one, hypotheses[one.name], **others) for one in entries}
    return build_report(out, entries, found, FACTS)


def test_a_report_of_plain_entries_and_an_ablation(tmp_path: Path) -> None:
    made = {
        "rnn": answers(longer_than(10)),
        "luong": answers([1, 2]),
        "transformer": answers([1]),
        "transformer no-scale": answers(range(0, 240, 3)),
    }
    entries = [RNN, LUONG, TRANSFORMER, ABLATION]
    report = report_of(tmp_path, made, entries)
    assert json.loads(json.dumps(report, allow_nan=False)) == report
    assert report["schema"] == "compare/1"
    assert [one["name"] for one in report["entries"]] == [one.name for one in entries]
    assert [one["group"] for one in report["entries"]] == ["plain"] * 3 + ["no-scale"]
    assert report["entries"][3]["changes"] == {"model.scaled": False}
    signature = report["entries"][0]["quality"]["metrics"]["exact"]["signature"]
    assert signature.startswith("nrefs:1|")
    assert report["metric"] == {
        "name": "exact",
        "label": "exact",
        "lower_is_better": False,
        "signature": signature,
    }
    assert report["budget"] == {**FACTS["budget"], "spread": 0.0}
    told = ("title", "made", "version", "command", "data", "machine")
    assert {name: report[name] for name in told} == {name: FACTS[name] for name in told}
    pairs = [(pair["before"], pair["after"]) for pair in report["pairs"]]
    assert pairs == [("rnn", "luong"), ("luong", "transformer"), ("transformer", "transformer no-scale")]
    for pair in report["pairs"]:
        before, after = (exact(made[pair[side]], REFERENCES) for side in ("before", "after"))
        assert (pair["delta"], pair["p"]) == paired_test(before, after)
    assert report["summary"]


def test_who_falls_with_length(tmp_path: Path) -> None:
    made = {"rnn": answers(longer_than(10)), "luong": answers([])}
    rnn, luong = report_of(tmp_path, made, [RNN, LUONG])["slopes"]
    assert (rnn["entry"], rnn["falls"]) == ("rnn", True)
    assert rnn["short"]["value"] == 100
    assert rnn["long"]["value"] == 0
    assert rnn["change"] == -100
    assert (luong["falls"], luong["change"]) == (False, 0)


def test_between_a_fall_and_none_it_is_open(tmp_path: Path) -> None:
    """Intervals that overlap do not show that nothing fell: here the interval of the change is below 0."""
    some = [i for n, i in enumerate(longer_than(22)) if n % 5 < 2]
    few = [i for i in range(240) if len(SOURCES[i]) <= 7][::5]
    (slope,) = report_of(tmp_path, {"rnn": answers([*some, *few])}, [RNN])["slopes"]
    short, long = slope["short"]["ci95"], slope["long"]["ci95"]
    assert long[1] > short[0]
    assert slope["ci95"][1] < 0
    assert slope["falls"] is None
    assert slope["ci95"][0] < slope["change"] < slope["ci95"][1]


def test_nothing_to_lose_is_no_proof(tmp_path: Path) -> None:
    """A model that is wrong everywhere does not fall with length, and shows nothing by that."""
    report = report_of(tmp_path, {"rnn": answers(range(240))}, [RNN], trained_to=20)
    (slope,) = report["slopes"]
    assert (slope["change"], slope["falls"]) == (0, None)
    assert not any("No worse" in one for one in report["summary"])


def test_the_interval_of_a_change() -> None:
    before, after = {"value": 50.0, "ci95": [47.0, 54.0]}, {"value": 40.0, "ci95": [36.0, 43.0]}
    low, high = change_interval(before, after)
    assert (low, high) == pytest.approx((-10 - (4**2 + 4**2) ** 0.5, -10 + (3**2 + 3**2) ** 0.5))


def test_kinds_of_positions_are_compared_with_what_learned_from_the_same_pairs(tmp_path: Path) -> None:
    short = replace(ABLATION, name="transformer a", group="positions", changes={"data.max_length": 9})
    none = replace(short, name="transformer b", changes={**short.changes, "model.positions": "none"})
    entries = [TRANSFORMER, none, short]
    report = report_of(tmp_path, {one.name: answers([]) for one in entries}, entries)
    pairs = [(pair["before"], pair["after"]) for pair in report["pairs"]]
    assert pairs == [("transformer a", "transformer b"), ("transformer", "transformer a")]


def test_lengths_past_training_are_no_part_of_the_slope(tmp_path: Path) -> None:
    report = report_of(tmp_path, {"rnn": answers(longer_than(20))}, [RNN], trained_to=20)
    (slope,) = report["slopes"]
    assert slope["long"]["hi"] == 20
    assert slope["falls"] is False
    assert [one["beyond"] for one in report["entries"][0]["quality"]["by_length"]["bins"]][-1]


def test_a_failed_entry_costs_the_others_nothing(tmp_path: Path) -> None:
    found = {"rnn": measured(tmp_path, RNN, answers([1])), "luong": failed("diverged"), "transformer": {}}
    found["transformer"] = measured(tmp_path, TRANSFORMER, answers([]))
    report = build_report(tmp_path, [RNN, LUONG, TRANSFORMER], found, FACTS)
    row = report["entries"][1]
    assert (row["status"], row["error"]["message"], row["quality"]) == ("failed", "diverged", None)
    assert row["curves"]["step"] == []
    assert [(pair["before"], pair["after"]) for pair in report["pairs"]] == [("rnn", "transformer")]
    assert report["groups"][1]["mean"] is None
    assert "luong failed: diverged." in report["summary"]


def test_a_failed_entry_shows_how_far_it_came(tmp_path: Path) -> None:
    (tmp_path / "rnn").mkdir()
    events = [
        {"type": "start", "time": "2026-01-01T00:00:00+00:00", "params": 77, "resumed_from": None},
        {"type": "valid", "time": "2026-01-01T00:00:05+00:00", "step": 30, "loss": float("nan"), "bleu": 0.0},
    ]
    (tmp_path / "rnn" / "metrics.jsonl").write_text("\n".join(map(json.dumps, events)), encoding="utf-8")
    report = build_report(tmp_path, [RNN], {"rnn": dict(failed("diverged"))}, FACTS)
    row = report["entries"][0]
    assert (row["parameters"], row["steps"], row["train_s"]) == (77, 30, 5.0)
    assert row["curves"]["loss"] == [None]
    assert json.dumps(report, allow_nan=False)


def test_one_that_was_not_reached_is_stopped(tmp_path: Path) -> None:
    report = build_report(tmp_path, [RNN], {}, FACTS)
    assert report["entries"][0]["status"] == "stopped"
    assert report["summary"] == [
        "rnn was stopped before it was tested.",
        "No model was trained and tested to its end.",
    ]


def test_seeds_are_taken_together(tmp_path: Path) -> None:
    entries = [entry(arch, seed=seed, several=True) for arch in ("rnn", "luong") for seed in (1, 2)]
    wrong = {"rnn-s1": 120, "rnn-s2": 60, "luong-s1": 0, "luong-s2": 12}
    made = {name: answers(range(count)) for name, count in wrong.items()}
    report = report_of(tmp_path, made, entries)
    rnn, luong = report["groups"]
    assert (rnn["name"], rnn["seeds"], rnn["entries"]) == ("rnn", [1, 2], ["rnn-s1", "rnn-s2"])
    assert (rnn["mean"], rnn["min"], rnn["max"]) == (62.5, 50.0, 75.0)
    assert luong["min"] == 95.0
    pairs = [(pair["before"], pair["after"]) for pair in report["pairs"]]
    assert pairs == [("rnn-s1", "luong-s1"), ("rnn-s2", "luong-s2")]


def test_examples_are_the_same_sentences_where_answers_differ(tmp_path: Path) -> None:
    made = {"rnn": answers([7, 8]), "luong": answers([8, 9]), ABLATION.name: answers([2, 3, 4])}
    report = report_of(tmp_path, made, [RNN, LUONG, ABLATION])
    rnn, luong, ablation = (one["quality"]["examples"] for one in report["entries"])
    assert [one["source"] for one in rnn] == [one["source"] for one in luong]
    assert [one["source"] for one in rnn] == [one["source"] for one in ablation]  # which chose none of them
    first = [one["reference"] for one in rnn[:2]]
    assert first == [REFERENCES[7], REFERENCES[9]]
    assert len(rnn) == 12
    assert [one["hypothesis"] for one in rnn[:2]] == ["nothing", REFERENCES[9]]


def test_different_test_sets_are_not_compared(tmp_path: Path) -> None:
    found = {one.name: measured(tmp_path, one, answers([])) for one in (RNN, LUONG)}
    kept = json.loads((tmp_path / "luong" / TESTED).read_bytes())
    (tmp_path / "luong" / TESTED).write_text(json.dumps(kept | {"sha256": "0" * 64}), encoding="utf-8")
    with pytest.raises(DataError, match="luong and rnn were tested on different sentences"):
        build_report(tmp_path, [RNN, LUONG], found, FACTS)


def test_answers_that_are_gone_leave_the_figures(tmp_path: Path) -> None:
    found = {one.name: measured(tmp_path, one, answers([])) for one in (RNN, LUONG)}
    (tmp_path / "rnn" / TESTED).unlink()
    report = build_report(tmp_path, [RNN, LUONG], found, FACTS)
    assert report["pairs"] == []
    assert report["entries"][0]["quality"]["value"] == 100


def test_sizes_that_differ_are_stated(tmp_path: Path) -> None:
    found = {"rnn": measured(tmp_path, RNN, answers([])), "luong": measured(tmp_path, LUONG, answers([]))}
    found["luong"]["parameters"] = 1500
    report = build_report(tmp_path, [RNN, LUONG], found, FACTS)
    assert report["budget"]["spread"] == 0.5
    assert any("luong has 1,500 and rnn 1,000" in sentence for sentence in report["summary"])


def test_trained_but_not_measured_is_not_complete(tmp_path: Path) -> None:
    report = build_report(tmp_path, [RNN], {"rnn": figures() | {"quality": None}}, FACTS)
    assert report["entries"][0]["status"] == "stopped"


def test_a_whole_group_and_a_whole_pair(tmp_path: Path) -> None:
    plain = [entry("rnn", seed=seed, several=True) for seed in (1, 2)]
    lost = replace(plain[0], name="rnn-s1 no-scale", group="no-scale", changes={"model.scaled": False})
    made = {"rnn-s1": answers(range(60)), "rnn-s2": answers(range(120)), "rnn-s1 no-scale": answers([])}
    found = {one.name: measured(tmp_path, one, made[one.name]) for one in [*plain, lost]}
    found["rnn-s3"] = dict(failed("diverged"))
    report = build_report(tmp_path, [*plain, entry("rnn", seed=3, several=True), lost], found, FACTS)
    whole, alone = report["groups"]
    assert whole == {
        "name": "rnn",
        "label": "rnn",
        "arch": "rnn",
        "group": "plain",
        "entries": ["rnn-s1", "rnn-s2", "rnn-s3"],
        "seeds": [1, 2],
        "mean": 62.5,
        "min": 50.0,
        "max": 75.0,
    }
    assert (alone["name"], alone["group"], alone["seeds"]) == ("rnn no-scale", "no-scale", [1])
    [pair] = report["pairs"]
    assert pair == {
        "before": "rnn-s1",
        "after": "rnn-s1 no-scale",
        "metric": "exact",
        "delta": 25.0,
        "p": pair["p"],
        "resamples": 1000,
    }


def bins(*values: float | None, **marks: Any) -> dict[str, Any]:
    """A row whose bins have these values, each sure to a point."""
    found = [
        {"lo": n, "hi": n, "n": 60, "value": value, "thin": False, "beyond": False, **marks}
        | {"ci95": None if value is None else [value - 1, value + 1]}
        for n, value in enumerate(values)
    ]
    return {"name": "rnn", "quality": {"by_length": {"bins": found}}}


def test_a_slope_leads_from_the_first_bin_to_the_last() -> None:
    slope = slope_of(bins(90.0, 50.0, 86.0), lower=False)
    assert slope is not None
    assert (slope["entry"], slope["change"], slope["falls"]) == ("rnn", -4.0, True)
    assert slope["short"] == {"lo": 0, "hi": 0, "n": 60, "value": 90.0, "ci95": [89.0, 91.0]}
    assert (slope["long"]["lo"], slope["long"]["value"]) == (2, 86.0)
    assert slope["ci95"] == pytest.approx([-4 - 2**0.5, -4 + 2**0.5])


@pytest.mark.parametrize(
    ("values", "lower", "falls"),
    [
        ((90.0, 86.0), True, False),  # of errors fewer are better
        ((90.0, 94.0), True, True),
        ((90.0, 88.0), False, None),  # the intervals touch
        ((90.0, 89.0), False, False),
        ((1.0, 1.0), False, None),  # nothing to lose
        ((99.0, 99.0), True, None),
    ],
)
def test_whether_it_falls(values: tuple[float, float], lower: bool, falls: bool | None) -> None:  # noqa: FBT001
    slope = slope_of(bins(*values), lower=lower)
    assert slope is not None
    assert slope["falls"] is falls


def test_what_has_no_slope() -> None:
    assert slope_of(bins(90.0), lower=False) is None
    assert slope_of({"name": "rnn", "quality": None}, lower=False) is None
    for row in (bins(90.0, None), bins(None, 90.0), bins(9.0, 9.0, thin=True), bins(9.0, 9.0, beyond=True)):
        assert slope_of(row, lower=False) is None


def test_of_many_lines_a_dozen_tell_most() -> None:
    assert telling_lines([range(20), [0] * 20]) == [*range(19, 7, -1)]
    assert telling_lines([[3] * 20, [5] * 20]) == [*range(12)]  # as far apart as each other: in their order


def test_lines_that_tell_most() -> None:
    assert telling_lines([[90, 10, 50], [90, 60, 55]]) == [1, 2, 0]
    assert telling_lines([[90, 10, 50]]) == [1, 2, 0]


@pytest.mark.parametrize(
    ("one", "other", "lower", "found"),
    [
        ([1, 2], [3, 4], False, True),
        ([1, 3], [3, 4], False, False),
        ([3, 4], [1, 2], False, False),
        ([3, 4], [1, 2], True, True),
    ],
)
def test_an_interval_on_the_worse_side(
    one: list[float],
    other: list[float],
    lower: bool,  # noqa: FBT001
    found: bool,  # noqa: FBT001
) -> None:
    assert worse(one, other, lower=lower) is found
