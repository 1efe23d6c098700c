"""A run in plain lines, as a log and a notebook have it."""

from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import jumok
from jumok.config import ENDLESS
from jumok.run.plan import Choice
from jumok.run.report import (
    SpacedLines,
    check_command,
    data_lines,
    end_line,
    event_line,
    kept_scores,
    plan_lines,
)
from jumok.run.train import RunCallbacks
from jumok.training.log import JsonLines
from tests.run.conftest import quick_settings

TRAIN: dict[str, Any] = {
    "type": "train",
    "step": 4200,
    "loss": 3.4124,
    "lr": 6.9e-4,
    "tokens_per_s": 6310.4,
    "elapsed_s": 662.0,
}
VALID: dict[str, Any] = {
    "type": "valid",
    "step": 4000,
    "loss": 3.51,
    "bleu": 12.8,
    "chrf": 35.0,
    "best": True,
}


@pytest.mark.parametrize(
    ("event", "text"),
    [
        (TRAIN, "train step=4200/20000 loss=3.412 lr=6.9e-04 tok_s=6310 eta=41m30s"),
        (VALID, "valid step=4000 loss=3.510 bleu=12.80 chrf=35.00 best=true"),
        ({"type": "valid", "step": 5, "loss": 1.0, "best": False}, "valid step=5 loss=1.000"),
        (
            {"type": "notice", "step": 5, "code": "nan_skipped", "message": "no weight was changed"},
            "notice step=5 nan_skipped: no weight was changed",
        ),
    ],
)
def test_plain_lines(event: dict[str, Any], text: str) -> None:
    assert event_line(event, 20_000, 0.0) == text


def test_a_line_of_a_run_that_its_time_ends() -> None:
    line, both = event_line(TRAIN, ENDLESS, 1324.0), event_line(TRAIN, 5_000, 1324.0)
    assert line is not None
    assert both is not None
    assert line.startswith("train step=4200 time=11m02s/22m04s loss=3.412 ")
    assert both.startswith("train step=4200/5000 time=11m02s/22m04s loss=3.412 ")


def test_reasons_of_a_plan_stand_in_a_column_of_their_own() -> None:
    choices = [
        Choice("model.width", 64, "the data is small"),
        Choice("training.lr", 0.002, "it was measured"),
        Choice("training.warmup", 400, "it was measured"),
        *(Choice(f"model.{'x' * 20}{n}", n, "there is more") for n in range(4)),
    ]
    plan: Any = SimpleNamespace(choices=choices, notes=["a note"], seconds=60.0, tokens_per_second=1000.0)
    title, *lines, note, last = plan_lines(plan)
    assert (title, note) == ("plan", "  a note")
    places = [line.index(choices[n].reason) for line, n in zip(lines, (0, 1, 3), strict=True)]
    assert places[0] == places[1] == 2 + 60 + 2  # what is longer pushes its own reason on alone
    assert places[2] > places[1]
    assert last.endswith("(a forecast)")
    plan.choices = choices[:3]
    assert plan_lines(plan)[1:3] == [
        f"  {'width 64':<21}  the data is small",
        "  lr 0.002 · warmup 400  it was measured",
    ]


def test_old_pairs_are_scored_at_the_start_and_by_the_best_model(tmp_path: Path) -> None:
    log = JsonLines(tmp_path / "metrics.jsonl")
    for step, score, best in ((0, 30.0, True), (3, 25.0, True), (6, 28.0, True), (9, 20.0, False)):
        log({"type": "valid", "step": step, "kept_bleu": score, "best": best})
    log({"type": "valid", "step": 9, "kept_bleu": 40.0, "best": True, "averaged": [3, 6]})
    log.close()
    config = SimpleNamespace(training=SimpleNamespace(metric="bleu"))
    done: Any = SimpleNamespace(config=config, folder=tmp_path)
    assert kept_scores(done) == [(30.0, 28.0)]


def test_other_events_have_no_line() -> None:
    for kind in ("start", "checkpoint", "end"):
        assert event_line({"type": kind, "step": 1}, 10, 0.0) is None


def test_python_writes_how_it_goes_unless_it_is_told_not_to(
    corpus: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = quick_settings(corpus, training__max_steps=2, training__log_every=1)
    jumok.train(out=corpus / "run", overrides=given)
    captured = capsys.readouterr()
    lines = captured.err.splitlines()
    assert captured.out == ""
    assert lines[0] == "plan"
    assert f"{corpus / 'run'}: luong on cpu · train 280 pairs · valid 20" in lines
    assert any(line.startswith("train step=1/2 loss=") for line in lines)
    assert lines[-1].startswith("done: all steps are done · 2 steps · ")
    jumok.train(out=corpus / "quiet", overrides=given, quiet=True)
    jumok.train(out=corpus / "heard", overrides=given, callbacks=RunCallbacks())
    assert capsys.readouterr().err == ""


def test_python_says_what_is_wrong_with_the_data(
    corpus: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    given = quick_settings(corpus, training__max_steps=2)
    sources, targets = ((corpus / f"train.{side}").read_text().splitlines() for side in ("src", "tgt"))
    targets[5] = ""
    (corpus / "train.tgt").write_text("".join(f"{line}\n" for line in targets))
    assert len(sources) == len(targets)
    jumok.train(out=tmp_path / "run", overrides=given)
    first = capsys.readouterr().err.splitlines()[0]
    assert first.startswith("data: ")
    assert "1 blank on one side" in first
    assert first.endswith(f": {check_command(given)} shows more")


def test_lines_about_training_come_soon_and_then_further_apart() -> None:
    spaced = SpacedLines()
    times = range(1, 3000)  # an event a second
    said = [now for now in times if spaced.due({"type": "train", "elapsed_s": now})]
    gaps = [after - before for before, after in pairwise(said)]
    assert said[:6] == [1, 2, 3, 4, 5, 7]
    assert gaps == sorted(gaps)
    assert gaps[-1] == 30
    assert spaced.due({"type": "valid", "step": 5, "loss": 1.0})
    assert spaced.due({"type": "train", "elapsed_s": 1.0})  # a clock that begins again


@pytest.mark.parametrize(
    ("settings", "command"),
    [
        ({"data.name": "dates"}, "jumok check --data dates"),
        ({"data.source": "a b.tsv", "data.columns": "1,3"}, "jumok check 'a b.tsv' --columns 1,3"),
        (
            {"data.source": "a", "data.target": "b", "data.valid_source": "c", "data.valid_target": "d"},
            "jumok check a b --valid c d",
        ),
        (
            {"data.source": "a.tsv", "data.target": "", "data.valid_source": "v.tsv", "data.images": "p.zip"},
            "jumok check a.tsv --valid v.tsv '' --images p.zip",
        ),
    ],
)
def test_the_check_of_the_same_data(settings: dict[str, str], command: str) -> None:
    assert check_command({**settings, "training.lr": 1e-3}) == command


def test_the_check_of_several_corpora() -> None:
    given = {
        "data.corpora": ["a b.tsv:de-en", "c.tsv"],
        "data.valid_corpora": ["v.tsv:de-en"],
        "data.name": "x",
    }
    command = "jumok check --data 'a b.tsv:de-en' --data c.tsv --valid-data v.tsv:de-en"
    assert check_command(given) == command
    assert check_command({"data.corpora": ["c.tsv"]}) == "jumok check --data c.tsv"


def test_what_is_said_of_the_data_is_notes_and_one_line_of_faults() -> None:
    given = {"data.name": "dates"}
    parts = [SimpleNamespace(note=note) for note in ("read as CSV", "", "columns 1 and 3")]
    for summary, last in (("5 twice", ["data: 5 twice: jumok check --data dates shows more"]), ("", [])):
        report: Any = SimpleNamespace(parts=parts, summary=lambda said=summary: said)
        assert data_lines(report, given) == ["data: read as CSV", "data: columns 1 and 3", *last]


def test_each_direction_and_old_pairs_have_their_figures_in_a_line() -> None:
    """Of a direction it is the first figure in the usual order, and its loss where there is none."""
    event = {
        **{"type": "valid", "step": 6, "loss": 2.0, "exact": 50.0, "bleu": None, "rougeL": 7.125, "per": 3.0},
        **{"kept_bleu": 1.5, "kept_chrf": 2.5},
        "directions": {"de-en": {"chrf": 40.0, "bleu": 20.0, "loss": 1.0}, "en-de": {"loss": 1.25}},
    }
    assert event_line(event, 10, 0.0) == (
        "valid step=6 loss=2.000 exact=50.00 per=3.00 rougeL=7.12 kept_bleu=1.50 kept_chrf=2.50 "
        "de-en=20.00 en-de=1.25"
    )


def test_the_time_that_is_left_follows_what_is_nearer_to_its_end() -> None:
    """A quarter of the steps in 100 s: three times as long again; half of the limit: as long again."""
    event = {**TRAIN, "step": 5, "elapsed_s": 100.0}
    for steps, limit, left in (
        (20, 0.0, "5m00s"),
        (20, 200.0, "1m40s"),
        (20, 4000.0, "5m00s"),
        (4, 0.0, "0s"),
    ):
        line = event_line(event, steps, limit)
        assert line is not None
        assert line.endswith(f" eta={left}")
    assert str(event_line({**event, "step": 0, "elapsed_s": 0.0}, 20, 0.0)).endswith(" eta=0s")


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({"score": None}, "done: all steps are done · 12,000 steps · 1h01m"),
        ({"reason": "time_limit"}, "done: the time is up · 12,000 steps · 1h01m · best bleu 31.25"),
        ({"score": -1.0}, "done: all steps are done · 12,000 steps · 1h01m · best bleu 0.00"),
        (
            {"reason": "no_better", "metric": "loss", "score": -1.5},
            "done: it no longer improves · 12,000 steps · 1h01m · best loss 1.50",
        ),
        (
            {"reason": "signal", "start_score": 30.0},
            "done: it was interrupted · 12,000 steps · 1h01m · before: 30.00 BLEU, after: 31.25 BLEU",
        ),
        (
            {"metric": "loss", "score": -1.5, "start_score": -2.0},
            "done: all steps are done · 12,000 steps · 1h01m · before: 2.00 loss, after: 1.50 loss",
        ),
    ],
)
def test_how_a_run_ended_is_one_line(tmp_path: Path, changes: dict[str, Any], line: str) -> None:
    (tmp_path / "metrics.jsonl").write_text("")
    facts: dict[str, Any] = {"reason": "max_steps", "steps": 12_000, "seconds": 3660.0, "score": 31.25}
    facts |= {"start_score": None, "metric": "bleu", **changes}
    config = SimpleNamespace(training=SimpleNamespace(metric=facts.pop("metric")))
    done: Any = SimpleNamespace(config=config, folder=tmp_path, **facts)
    assert end_line(done) == line


def test_the_end_says_what_became_of_old_pairs(tmp_path: Path) -> None:
    looks = [
        '{"type": "valid", "step": 0, "kept_bleu": 30.04}',
        '{"type": "valid", "step": 3, "kept_bleu": 28.96, "best": true}',
    ]
    (tmp_path / "metrics.jsonl").write_text("\n".join(looks) + "\n")
    config = SimpleNamespace(training=SimpleNamespace(metric="bleu"))
    done: Any = SimpleNamespace(
        config=config, folder=tmp_path, reason="max_steps", steps=3, seconds=5.0, score=20.0, start_score=10.0
    )
    assert end_line(done) == (
        "done: all steps are done · 3 steps · 5s · before: 10.00 BLEU, after: 20.00 BLEU"
        " · kept pairs: 30.0, now 29.0"
    )


def test_a_plan_in_full_has_a_line_for_each_setting() -> None:
    choices = [Choice("model.width", 64, "why"), Choice("training.lr", 0.002, "it was measured")]
    plan: Any = SimpleNamespace(choices=choices, notes=[], seconds=3660.0, tokens_per_second=12345.6)
    assert plan_lines(plan, verbose=True) == [
        "plan",
        "  model.width = 64     why",
        "  training.lr = 0.002  it was measured",
        "  about 1h01m, at 12,346 tokens/s (a forecast)",
    ]
