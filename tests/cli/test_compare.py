"""`jumok compare` as people and programs use it, with real children that train tiny models."""

import json
import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import click
import pytest
from tests.cli.test_process import as_words, start_quickly, train_events, wait_for_steps
from tests.run.conftest import quick_settings

from jumok.checkpoint.manifest import checkpoint_folders
from jumok.cli.compare import carry_out, introduce, refuse_failed, show
from jumok.cli.shared.console import say
from jumok.comparison.entry import MeasureOptions
from jumok.comparison.experiment import ExperimentPlanner
from jumok.errors import RunError

Call = Callable[..., int]
Captured = pytest.CaptureFixture[str]


def words(corpus: Path, *more: object, **settings: Any) -> list[object]:
    """The command for rnn and luong on the tiny corpus."""
    given = quick_settings(corpus, model__width=16, **settings)
    for key in ("model.arch", "training.max_steps"):
        del given[key]
    return [
        *("compare", "--archs", "rnn,luong", "--device", "cpu", "--out", corpus / "plain"),
        *as_words(given),
        *more,
    ]


@pytest.mark.slow
@pytest.mark.usefixtures("forked_children")
def test_a_failed_architecture_costs_nothing_of_the_others_and_can_be_repeated(
    corpus: Path, call: Call, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    short = partial(MeasureOptions, growth=False, focus=False)
    monkeypatch.setattr("jumok.comparison.experiment.MeasureOptions", short)
    out, command = corpus / "plain", words(corpus, "--max-steps", 6, "--metric", "exact,chrf")
    assert call(*command[:-4], "--flops", "-1") == 2
    assert not out.exists()
    capsys.readouterr()
    check = ExperimentPlanner.check
    monkeypatch.setattr(ExperimentPlanner, "check", lambda self: None)
    out.mkdir()
    (out / "luong").write_text("in the way")  # its run cannot have a folder

    assert call(*command) == 1
    first = capsys.readouterr()
    assert "models   rnn 7,376 · luong 8,144 parameters (not matched: 10% apart)\n" in first.err
    assert "entries  rnn, luong\n" in first.err
    assert "note     no test files are given: tested on the validation pairs" in first.err
    assert "1 of 2: rnn\n" in first.err
    assert f"luong: failed: {out / 'luong'} is a file\n" in first.err
    assert "error: 1 of 2 entries did not end well\n" in first.err
    assert "rnn" in first.out
    report = json.loads((out / "report.json").read_bytes())
    assert [one["status"] for one in report["entries"]] == ["completed", "failed"]
    assert report["entries"][1]["error"]["message"] == f"{out / 'luong'} is a file"
    assert (out / "report.html").read_text().startswith("<!doctype html>")
    monkeypatch.setattr(ExperimentPlanner, "check", check)

    (out / "luong").unlink()
    trained = train_events(out / "rnn")
    assert call(*command, "--json", "-q") == 0
    second = capsys.readouterr()
    assert second.err == ""
    again = json.loads(second.out)
    assert again == json.loads((out / "report.json").read_bytes())
    assert [one["status"] for one in again["entries"]] == ["completed", "completed"]
    assert again["entries"][0] | {"quality": None} == report["entries"][0] | {"quality": None}
    assert train_events(out / "rnn") == trained
    assert again["metric"]["name"] == "exact"
    assert {one["parameters"] for one in again["entries"]} == {7376, 8144}

    assert call(*command) == 0  # nothing is left to do
    third = capsys.readouterr()
    assert "1 of 2: rnn is done already\n2 of 2: luong is done already\n" in third.err
    assert f"goes on with the experiment in {out}" in third.err


@pytest.mark.slow
def test_a_killed_child_is_recorded_and_ctrl_c_saves(corpus: Path) -> None:
    rare = {f"training__{name}": 10**6 for name in ("validate_every", "save_every")}
    command = words(corpus, "--max-steps", 10**6, training__cooldown=0.0, **rare)
    out, said = corpus / "plain", corpus / "said"
    process = start_quickly(said, *command)
    wait_for_steps(out / "rnn", 0)
    os.kill(int((out / "rnn" / ".lock").read_text()), signal.SIGKILL)
    wait_for_steps(out / "luong", 0)
    assert "rnn: failed: the process was killed by SIGKILL" in said.read_text()
    os.kill(process.pid, signal.SIGINT)
    process.join(60)
    assert process.exitcode == 130
    assert said.read_text().endswith("stopped; run the same command again to go on\n")
    assert max(checkpoint_folders(out / "luong")) == max(train_events(out / "luong"))
    pid = int((out / "luong" / ".lock").read_text())
    for _ in range(6000):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            break
        time.sleep(0.01)
    else:
        pytest.fail("the child outlived its parent")
    assert not (out / "report.json").exists()


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--time-limit", "1m", "--max-steps", "5"], "--time-limit and --max-steps exclude each other"),
        (["--time-limit", "soon"], "--time-limit=soon is no time"),
        (["--flops", "0"], "a budget of 0 flops cannot work"),
        (["--archs", "rnn,gpt"], "unknown architecture 'gpt'"),
        (["--ablate", "no-scale"], "--ablate no-scale: rnn, luong has nothing to take away"),
        (["--seeds", "a"], "--seeds=a cannot be read"),
        (["--metric", "blue"], "unknown metric 'blue'"),
        (["--set", "training.lrr=1"], "unknown setting 'training.lrr'"),
        (["--set", "model.heads=2"], "this architecture has no setting 'model.heads'"),
        (["--test-target", "x"], "--test-target is given without --test-source"),
        (["--device", "cuda:77"], "device 'cuda:77' is not available"),
    ],
)
def test_mistakes_are_found_before_anything_is_made(
    corpus: Path, call: Call, capsys: Captured, more: list[str], message: str
) -> None:
    usual = words(corpus)
    if more[0] in ("--archs", "--device"):  # which may be given once
        place = usual.index(more[0])
        del usual[place : place + 2]
    assert call(*usual, *more) == 2
    assert capsys.readouterr().err.startswith(f"error: {message}")
    assert not (corpus / "plain").exists()


def test_without_data(call: Call, capsys: Captured, tmp_path: Path) -> None:
    assert call("compare", "--out", tmp_path / "none") == 2
    assert capsys.readouterr().err.startswith("error: there is no data to learn from\n")
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize(("matched", "how"), [(True, "matched"), (False, "not matched: 25% apart")])
def test_what_will_be_compared_is_said_first(
    capsys: Captured, monkeypatch: pytest.MonkeyPatch, *, matched: bool, how: str
) -> None:
    facts = {"name": "dates", "train": 12000, "valid": 500, "test": 1000, "test_name": "test"}
    for name, found in {
        "data_facts": {**facts, "vocabulary": 400},
        "budget_facts": {"kind": "steps", "value": 1800, "matched": matched, "spread": 0.25},
        "parameter_counts": {"rnn": 1000, "luong": 1250},
    }.items():
        monkeypatch.setattr(f"jumok.comparison.publish.{name}", lambda _, found=found: found)
    both = {arch: {"model.bidirectional": True} for arch in ("rnn", "luong")}
    entries = [SimpleNamespace(name="rnn"), SimpleNamespace(name="luong")]
    introduce(cast(Any, SimpleNamespace(bases=both, entries=entries, notes=["a note"])))
    assert capsys.readouterr().err.splitlines() == [
        "data     dates · train 12,000 · valid 500 · test 1,000 (test) · vocabulary 400",
        f"models   rnn 1,000 · luong 1,250 parameters ({how})",
        "each     1,800 updates · the same data and tokens",
        "encoder  rnn and luong read the source in both directions, with the same encoder",
        "entries  rnn, luong",
        "note     a note",
    ]


def test_what_failed_is_told_at_the_very_end_and_where_the_report_is(
    capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("jumok.cli.views.comparison.comparison_text", lambda _: "the table")
    report: dict[str, Any] = {
        "entries": [
            {"name": "rnn", "status": "completed"},
            {"name": "luong", "status": "failed", "error": {"message": "it diverged"}},
            {"name": "transformer", "status": "stopped", "error": {"message": "no memory"}},
        ]
    }
    show(report, Path("runs/my own"), as_json=False, quiet=False)
    said = capsys.readouterr()
    assert said.out == "the table\n"
    assert said.err == "\nreport: runs/my own/report.html\nnext:   jumok serve --runs 'runs/my own'\n"
    show(report, Path("x"), as_json=False, quiet=True)
    assert tuple(capsys.readouterr()) == ("the table\n", "")
    show(report, Path("x"), as_json=True, quiet=False)
    said = capsys.readouterr()
    assert (json.loads(said.out), said.err) == (report, "")
    with pytest.raises(RunError) as caught:
        refuse_failed(report)
    assert str(caught.value).splitlines()[0].endswith("2 of 3 entries did not end well")
    assert caught.value.where == "luong: it diverged\n  transformer: no memory"
    assert caught.value.hint == "the report has the others; run the same command again to try these again"
    del report["entries"][1:]
    refuse_failed(report)


def conducted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, measured: Any, flag: list[int]) -> Any:
    """What goes around an experiment, with one that is made up; gives its request, and what was published."""
    published: list[Any] = []

    def publish(*given: Any) -> dict[str, Any]:
        published.append(given)
        return {"entries": []}

    @contextmanager
    def signals() -> Iterator[list[int]]:
        yield flag

    made = SimpleNamespace(entries=[])
    monkeypatch.setattr("jumok.comparison.experiment.open_experiment", lambda *_: made)
    monkeypatch.setattr("jumok.comparison.conduct.conduct", lambda *_: measured)
    monkeypatch.setattr("jumok.comparison.publish.publish", publish)
    monkeypatch.setattr("jumok.cli.compare.interruptible", signals)
    monkeypatch.setattr("jumok.cli.compare.introduce", lambda _: say("introduced"))
    monkeypatch.setattr("jumok.cli.views.comparison.comparison_text", lambda _: "the table")
    monkeypatch.setattr("sys.argv", ["/bin/jumok", "compare", "--out", "my runs"])
    return SimpleNamespace(out=tmp_path, budget=None), published


def test_a_comparison_that_was_stopped_reports_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: Captured
) -> None:
    request, published = conducted(monkeypatch, tmp_path, None, [15])
    with pytest.raises(click.exceptions.Exit) as stop:
        carry_out(request, as_json=False, quiet=False)
    assert stop.value.exit_code == 128 + 15
    assert capsys.readouterr().err == "introduced\nstopped; run the same command again to go on\n"
    assert published == []


def test_a_report_has_the_command_that_made_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: Captured
) -> None:
    request, published = conducted(monkeypatch, tmp_path, {"rnn": 1}, [])
    carry_out(request, as_json=False, quiet=True)
    assert tuple(capsys.readouterr()) == ("the table\n", "")
    [(_, measured, command)] = published
    assert (measured, command) == ({"rnn": 1}, "jumok compare --out 'my runs'")
