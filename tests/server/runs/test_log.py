"""A run's story from its events: curves, notices, samples, and the newest word on everything."""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jumok.server.runs.log import (
    LONGEST_TEXT,
    MOST_COLUMNS,
    MOST_NOTICES,
    MOST_SAMPLES,
    CurveTable,
    RunHistory,
    RunLog,
    decimate,
    number,
    sample,
    whole,
)


def told(*events: dict[str, Any]) -> RunHistory:
    story = RunHistory()
    for event in events:
        story.take(event)
    return story


def train(step: int, **numbers: Any) -> dict[str, Any]:
    return {"type": "train", "step": step, "elapsed_s": step / 10, "epoch": 0, **numbers}


@settings(max_examples=60)
@given(rows=st.lists(st.tuples(st.integers(0, 20), st.floats(-5, 5)), max_size=60), points=st.integers(4, 12))
def test_of_two_values_for_a_step_the_newer_one_counts(rows: list[tuple[int, float]], points: int) -> None:
    table = CurveTable()
    for step, value in rows:
        table.add(step, float(step), {"loss": value})
    curve, newest = table.curve("loss", points), dict(rows)
    assert curve["step"] == sorted(curve["step"])
    assert len(curve["step"]) <= points
    assert curve["value"] == [newest[step] for step in curve["step"]]
    assert curve["elapsed_s"] == [float(step) for step in curve["step"]]
    if rows:
        assert {min(newest), max(newest)} <= set(curve["step"])
        assert {min(newest.values()), max(newest.values())} <= set(curve["value"])


def test_numbers_become_curves_and_everything_else_does_not() -> None:
    story = told(
        train(10, loss=2.5, nll=2.0, lr=None, best=True, note="x", skipped_steps=0),
        train(20, loss=2.0, tokens_per_s=900),
        {"type": "valid", "step": 20, "bleu": 12.5, "bleu_signature": "s", "samples": []},
    )
    assert sorted(story.names) == [
        "train.loss",
        "train.nll",
        "train.skipped_steps",
        "train.tokens_per_s",
        "valid.bleu",
    ]
    assert story.tables["train"].curve("tokens_per_s", 10) == {
        "step": [20],
        "elapsed_s": [2.0],
        "value": [900.0],
    }
    assert story.tables["valid"].curve("bleu", 10) == {"step": [20], "elapsed_s": [2.0], "value": [12.5]}
    assert story.tables["train"].curve("unheard_of", 10) == {"step": [], "elapsed_s": [], "value": []}


def test_a_validation_before_any_training_event_has_no_time() -> None:
    story = told({"type": "valid", "step": 5, "loss": 1.0})
    assert story.tables["valid"].curve("loss", 10)["elapsed_s"] == [None]


def test_the_average_of_checkpoints_is_no_point_of_the_curve() -> None:
    story = told(
        {"type": "valid", "step": 5, "bleu": 10.0}, {"type": "valid", "step": 5, "bleu": 99.0, "averaged": 4}
    )
    assert story.tables["valid"].curve("bleu", 10)["value"] == [10.0]


def test_a_start_takes_an_end_back() -> None:
    end = {"type": "end", "status": "stopped", "reason": "signal"}
    assert (told(end).ended, told(end).reason) == ("stopped", "signal")
    assert told(end, {"type": "start"}).ended is None
    assert told(end, {"type": "start"}, {"type": "end", "status": "completed"}).ended == "completed"


def test_the_last_best_checkpoint_is_the_best() -> None:
    def checkpoint(step: int, *, best: bool, metric: Any) -> dict[str, Any]:
        return {"type": "checkpoint", "step": step, "best": best, "metric": metric}

    story = told(
        checkpoint(1, best=True, metric=3.0),
        checkpoint(2, best=True, metric=5.0),
        checkpoint(3, best=False, metric=None),
        checkpoint(4, best=True, metric="high"),
    )
    assert story.best == (2, 5.0)


def test_a_notice_that_is_said_again_is_kept_once() -> None:
    def notice(step: int) -> dict[str, Any]:
        return {"type": "notice", "step": step, "level": "warning", "code": "nan_skipped", "message": "m"}

    story = told(notice(1), notice(2), notice(1), {"type": "notice", "message": 3})
    assert list(story.notices.values()) == [
        {"step": 2, "level": "warning", "code": "nan_skipped", "message": "m"},
        {"step": 1, "level": "warning", "code": "nan_skipped", "message": "m"},
        {"step": None, "level": None, "code": None, "message": None},
    ]
    many = told(*(notice(step) for step in range(MOST_NOTICES + 5)))
    assert [one["step"] for one in many.notices.values()] == [*range(5, MOST_NOTICES + 5)]


def test_samples_of_many_validations_are_thinned_but_never_the_ends() -> None:
    one = {"src": "a", "ref": "b", "hyp": "c", "score": -1.0}
    story = told(*({"type": "valid", "step": step, "samples": [one, 7]} for step in range(1000)))
    assert len(story.samples) <= MOST_SAMPLES
    assert {0, 999} <= set(story.samples)
    assert story.samples[999] == [one]


def test_long_texts_are_cut() -> None:
    found = sample({"src": "x" * 9999, "ref": "", "hyp": ""})
    assert found == {"src": "x" * LONGEST_TEXT, "ref": "", "hyp": "", "score": None}


@pytest.mark.parametrize(
    "event",
    [
        {},
        {"type": 7, "step": 1},
        {"type": "train"},
        {"type": "train", "step": -1, "loss": 1.0},
        {"type": "train", "step": 1.5, "loss": 1.0},
        {"type": "train", "step": True, "loss": 1.0},
        {"type": "train", "step": 10**30, "loss": 1.0},
        {"type": "valid", "step": "10", "bleu": 1.0},
        {"type": "end", "status": 3, "reason": []},
        {"type": "checkpoint", "best": True},
        {"type": ["train"]},
    ],
    ids=str,
)
def test_events_that_make_no_sense_change_nothing(event: dict[str, Any]) -> None:
    story = told(event)
    assert (story.names, story.ended, story.best) == ([], None, None)


def test_a_file_that_invents_names_cannot_fill_the_memory() -> None:
    story = told(*({"type": "train", "step": step, f"name{step}": 1.0} for step in range(MOST_COLUMNS + 50)))
    assert len(story.names) == MOST_COLUMNS


@given(
    st.recursive(
        st.none()
        | st.booleans()
        | st.integers()
        | st.floats(allow_nan=False, allow_infinity=False)
        | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    ),
    st.sampled_from(["start", "train", "valid", "checkpoint", "notice", "end"]),
)
@settings(max_examples=60)
def test_no_field_can_break_a_story(value: Any, kind: str) -> None:
    names = ("step", "loss", "samples", "metric", "best", "message", "status", "elapsed_s", "averaged")
    for name in names:
        told({"type": kind, "step": 3, **{name: value}}, {"type": kind, "step": 3, "samples": [value]})
    assert number(value) is None or math.isfinite(number(value) or 0.0)
    assert whole(value) is None or isinstance(value, int)


def test_a_log_is_read_on_and_begins_again_with_its_file(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    log = RunLog(path)
    with log.story() as (story, offset):
        assert (story.names, offset) == ([], 0)
    first, second = (json.dumps(train(step, loss=1.0 * step)).encode() + b"\n" for step in (1, 2))
    path.write_bytes(first + b"garbage\n" + second[:-5])
    with log.story() as (story, offset):
        assert story.tables["train"].curve("loss", 9)["step"] == [1]
        assert offset == len(first) + len(b"garbage\n")
    path.write_bytes(first + b"garbage\n" + second)
    with log.story() as (story, _):
        assert story.tables["train"].curve("loss", 9)["step"] == [1, 2]
    path.write_bytes(second)
    with log.story() as (story, offset):
        assert story.tables["train"].curve("loss", 9)["step"] == [2]
        assert offset == len(second)
    path.write_bytes(b"")
    with log.story() as (story, _):
        assert story.names == []


def test_a_log_is_read_to_its_end_however_much_garbage_is_in_it(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    path.write_bytes((b"nothing" * 20 + b"\n") * 50_000 + json.dumps(train(3, loss=1.0)).encode() + b"\n")
    with RunLog(path).story() as (story, offset):
        assert story.step == 3
        assert offset == path.stat().st_size


CURVES = st.lists(st.floats(allow_nan=False, width=32), max_size=300)


@given(values=CURVES, points=st.integers(4, 60))
def test_ends_extremes_and_order_survive(values: list[float], points: int) -> None:
    kept = decimate(values, points).tolist()
    assert len(kept) <= points
    assert kept == sorted(set(kept))
    if len(values) <= points:
        assert kept == list(range(len(values)))
    else:
        chosen = [values[place] for place in kept]
        assert (kept[0], kept[-1]) == (0, len(values) - 1)
        assert (min(chosen), max(chosen)) == (min(values), max(values))


@given(points=st.integers(4, 100))
def test_a_spike_in_a_long_curve_is_seen(points: int) -> None:
    values = np.zeros(100_000)
    values[77_777] = 9.0
    assert 77_777 in decimate(values, points)


def test_every_stretch_is_represented() -> None:
    kept = decimate(np.sin(np.arange(10_000) / 3), 100)
    assert len(kept) == 100
    assert np.diff(kept).max() < 2 * 10_000 / 49


def test_fewer_than_four_points_cannot_hold_ends_and_extremes() -> None:
    assert decimate([5.0, 1.0, 9.0, 5.0, 5.0, 5.0], 1).tolist() == [0, 1, 2, 5]


def test_at_the_bounds_nothing_is_lost_and_one_beyond_is() -> None:
    names = {f"n{number}": 1.0 for number in range(65)}
    story = told(train(0, **names), train(1, more=1.0))
    assert story.names == [f"train.n{number}" for number in range(64)]  # in the order of the event
    assert len(told(*({"type": "notice", "step": step} for step in range(500))).notices) == 500
    assert min(step for step, *_ in told(*({"type": "notice", "step": n} for n in range(501))).notices) == 1
    one = {"src": "s" * 2001, "ref": "r" * 2000, "hyp": "", "score": 0.5}
    [found] = told({"type": "valid", "step": 3, "samples": [one]}).samples[3]
    assert found == {"src": "s" * 2000, "ref": "r" * 2000, "hyp": "", "score": 0.5}
    many = told({"type": "valid", "step": 3, "samples": [one] * 17})
    assert len(many.samples[3]) == 16
    assert [whole(value) for value in (0, 2**53, 2**53 + 1, -1)] == [0, 2**53, None, None]


def test_of_two_hundred_and_one_validations_every_second_one_keeps_its_samples() -> None:
    one = {"src": "a", "ref": "b", "hyp": "c"}
    events = [{"type": "valid", "step": step, "samples": [one]} for step in range(201)]
    assert list(told(*events[:200]).samples) == list(range(200))
    assert sorted(told(*events).samples) == list(range(0, 201, 2))


def test_each_direction_of_a_validation_has_curves_of_its_own() -> None:
    figures = {"de→en": {"bleu": 12.5, "note": "x"}, "en→de": {"bleu": 9, "x" * 100: 1.0}, "en→ko": None}
    story = told({"type": "valid", "step": 5, "elapsed_s": 2, "bleu": 10.0, "directions": figures})
    assert story.names == ["valid.bleu", "valid.bleu de→en", "valid.bleu en→de", "valid." + "x" * 100]
    german = story.tables["valid"].curve("bleu en→de", 9)
    assert german == {"step": [5], "elapsed_s": [2.0], "value": [9.0]}
    assert told({"type": "valid", "step": 5, "directions": [figures]}).names == []


def test_a_column_that_begins_late_has_no_points_before() -> None:
    story = told(train(1, loss=3.0), train(2, loss=2.0, lr=0.5), train(3, lr=0.25), train(2, loss=1.5))
    assert story.tables["train"].curve("lr", 9) == {
        "step": [2, 3],
        "elapsed_s": [0.2, 0.3],
        "value": [0.5, 0.25],
    }
    assert story.tables["train"].curve("loss", 9)["value"] == [3.0, 1.5]  # of two for a step the newer
    assert (story.step, story.elapsed) == (2, 0.2)


def test_an_end_is_told_with_its_reason_and_a_start_takes_both_back() -> None:
    end = {"type": "end", "status": "stopped", "reason": "r" * 2001}
    assert (told(end).ended, told(end).reason) == ("stopped", "r" * 2000)
    again = told(end, {"type": "start", "step": 7})
    assert (again.ended, again.reason, again.step) == (None, None, 7)


@pytest.mark.parametrize("points", [4, 5, 6])
def test_a_curve_of_seven_is_cut_to_its_ends_and_the_extremes_of_its_stretches(points: int) -> None:
    values = [5.0, 1.0, 9.0, 5.0, 7.0, 2.0, 5.0]
    kept = {4: [0, 1, 2, 6], 5: [0, 1, 2, 6], 6: [0, 1, 2, 4, 5, 6]}[points]
    assert decimate(values, points).tolist() == kept
    assert decimate(values, 7).tolist() == list(range(7))
