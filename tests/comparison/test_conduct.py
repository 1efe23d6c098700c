"""Children that end well, fail, are killed or told to stop: each is recorded, and the others go on.

Most children here are real processes that speak the child's language and train nothing.
"""

import io
import json
import subprocess
import sys
import threading
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
import torch
from pydantic import TypeAdapter

from jumok.checkpoint.manifest import checkpoint_folders
from jumok.comparison import conduct as conducting
from jumok.comparison.budget import Budget
from jumok.comparison.conduct import (
    ChildStopped,
    EntryJob,
    ExperimentCallbacks,
    ParentChannel,
    carry_out,
    conduct,
    job_for,
    last_words,
)
from jumok.comparison.entry import ComparisonEntry, MeasureOptions, TestPairs
from jumok.comparison.experiment import Experiment, open_experiment
from tests.comparison.conftest import tiny_request

CHILD = """
import json, os, pathlib, sys, time
folder = pathlib.Path(sys.argv[1])
job = json.loads((folder / "entry.json").read_bytes())
def tell(**line): print(json.dumps(line), flush=True)
tries = folder / "tries.txt"
tries.write_text(tries.read_text() + "x" if tries.exists() else "x")
way = job["entry"]["settings"].get("way")
print("some words", file=sys.stderr)
tell(type="event", event={"type": "train", "step": 1})
tell(type="progress", what="translating", done=1, total=2)
if way == "fails":
    tell(type="error", message="it diverged", where="step 7", hint="lower the rate")
    sys.exit(1)
if way == "killed":
    sys.stdout.write('{"type": "ev'); sys.stdout.flush()
    os.kill(os.getpid(), 9)
if way == "crashes":
    raise TypeError("of its own")
if way == "silent":
    sys.exit(0)
if way == "waits" and len(tries.read_text()) == 1:
    sys.stdin.read()
    tell(type="stopped")
    sys.exit(0)
if way == "leaves":
    tell(type="stopped")
    sys.exit(0)
(folder / "measured.json").write_text(json.dumps({"key": job["key"], "measured": {"status": "completed"}}))
"""


@pytest.fixture(autouse=True)
def child(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "child.py").write_text(CHILD)
    monkeypatch.setattr(conducting, "COMMAND", (sys.executable, "-S", "-E", str(tmp_path / "child.py")))


def experiment(out: Path, **ways: str) -> Experiment:
    made: Any = {
        "request": None,
        "bases": {},
        "entries": tuple(
            ComparisonEntry(name=name, arch="rnn", settings={"way": way}) for name, way in ways.items()
        ),
        "test": TestPairs(name="t", sources=("a",), answers=(("b",),)),
        "options": MeasureOptions(),
        "prepared": None,
        "machine": None,
        "data_seed": 42,
        "fingerprint": "",
    }

    class Placed(Experiment):
        @property
        def out(self) -> Path:
            return out / "plain"

    return Placed(**made)


def tries(out: Path, name: str) -> int:
    file = out / "plain" / "entries" / name / "tries.txt"
    return len(file.read_text()) if file.exists() else 0


def test_one_that_fails_costs_nothing_of_the_others(tmp_path: Path) -> None:
    ways = {
        "a": "well",
        "b": "fails",
        "c": "killed",
        "d": "crashes",
        "e": "silent",
        "f": "leaves",
        "g": "well",
    }
    seen: list[Any] = []
    callbacks = ExperimentCallbacks(
        on_entry=lambda number, entry: seen.append((number, entry.name)),
        on_event=lambda number, event: seen.append(event["step"]),
        progress=lambda what, done, total: seen.append((what, done, total)),
    )
    found = conduct(experiment(tmp_path, **ways), callbacks)
    assert found is not None
    assert seen == [
        part
        for number, name in enumerate(ways, start=1)
        for part in ((number, name), 1, ("translating", 1, 2))
    ]
    assert {name: one["status"] for name, one in found.items()} == {
        **dict.fromkeys("abcdefg", "failed"),
        **dict.fromkeys("ag", "completed"),
        "f": "stopped",
    }
    assert found["b"]["error"] == {"message": "it diverged", "where": "step 7", "hint": "lower the rate"}
    assert found["c"]["error"]["message"] == "the process was killed by SIGKILL"
    assert "run out of memory" in found["c"]["error"]["hint"]
    assert found["d"]["error"]["message"] == "the process ended with code 1: TypeError: of its own"
    assert Path(found["d"]["error"]["where"]).read_text().startswith("some words\nTraceback")
    assert found["e"]["error"]["message"] == "the process ended with code 0: some words"
    assert found["f"]["error"]["message"] == "the process was told to stop"

    mended = experiment(tmp_path, **dict.fromkeys(ways, "well"))
    again = conduct(replace_entries(mended, ways), ExperimentCallbacks())
    assert again is not None
    assert {name: tries(tmp_path, name) for name in ways} == {"a": 1, **dict.fromkeys("bcdef", 2), "g": 1}


def replace_entries(one: Experiment, ways: dict[str, str]) -> Experiment:
    """The same entries as before."""
    return replace(one, entries=experiment(Path(), **ways).entries)


def test_what_is_measured_is_kept_until_entry_test_or_metrics_change(tmp_path: Path) -> None:
    plain = experiment(tmp_path, a="well")
    for _ in range(2):
        assert conduct(plain, ExperimentCallbacks()) == {"a": {"status": "completed"}}
    assert tries(tmp_path, "a") == 1
    others = [
        replace(plain, options=MeasureOptions(metrics=("exact",))),
        replace(plain, test=TestPairs(name="t", sources=("a",), answers=(("c",),))),
        replace(plain, entries=(ComparisonEntry(name="a", arch="rnn", settings={"way": "well", "seed": 3}),)),
    ]
    for number, other in enumerate(others, start=2):
        conduct(other, ExperimentCallbacks())
        assert tries(tmp_path, "a") == number
    for number, damaged in enumerate(('{"key": ', "[]", "{}"), start=5):
        (tmp_path / "plain" / "entries" / "a" / "measured.json").write_text(damaged)
        assert conduct(others[-1], ExperimentCallbacks()) is not None
        assert tries(tmp_path, "a") == number


def test_an_interruption_lets_the_child_save_and_the_next_sitting_goes_on(tmp_path: Path) -> None:
    plain, events = experiment(tmp_path, a="well", b="waits", c="well"), list[Any]()

    def note(number: int, event: Any) -> None:
        events.append(event)

    interrupted = ExperimentCallbacks(on_event=note, interrupted=lambda: len(events) == 2)
    assert conduct(plain, interrupted) is None
    assert [tries(tmp_path, name) for name in "abc"] == [1, 1, 0]
    found = conduct(plain, ExperimentCallbacks())
    assert found is not None
    assert [one["status"] for one in found.values()] == ["completed"] * 3
    assert [tries(tmp_path, name) for name in "abc"] == [1, 2, 1]


def test_nothing_is_started_once_interrupted(tmp_path: Path) -> None:
    assert conduct(experiment(tmp_path, a="well"), ExperimentCallbacks(interrupted=lambda: True)) is None
    assert tries(tmp_path, "a") == 0


def test_an_error_of_the_parent_leaves_no_child_behind(tmp_path: Path) -> None:
    def fails(number: int, event: Any) -> None:
        raise SystemExit(130)  # a second Ctrl-C

    with pytest.raises(SystemExit):
        conduct(
            experiment(tmp_path, a="waits"), ExperimentCallbacks(on_event=fails)
        )  # and it waits for no one


def test_two_at_once(tmp_path: Path) -> None:
    """The third starts when one of the first two has ended; what each says comes with its number."""
    seen: list[Any] = []
    callbacks = ExperimentCallbacks(
        on_entry=lambda number, entry: seen.append(("begins", number)),
        on_event=lambda number, event: seen.append(("event", number)),
        on_end=lambda number, entry, measured: seen.append(("ends", number)),
    )
    found = conduct(experiment(tmp_path, a="well", b="fails", c="well"), callbacks, at_once=2)
    assert found is not None
    assert {name: one["status"] for name, one in found.items()} == {
        "a": "completed",
        "b": "failed",
        "c": "completed",
    }
    assert list(found) == ["a", "b", "c"]
    assert seen[:2] == [("begins", 1), ("begins", 2)]
    assert seen.index(("begins", 3)) > min(seen.index(("ends", 1)), seen.index(("ends", 2)))
    for number in (1, 2, 3):
        own = [what for what, one in seen if one == number]
        assert own == ["begins", "event", "ends"]


def test_an_interruption_ends_all_that_run_side_by_side(tmp_path: Path) -> None:
    both, numbers = experiment(tmp_path, a="waits", b="waits", c="well"), set[int]()
    callbacks = ExperimentCallbacks(
        on_event=lambda number, event: numbers.add(number), interrupted=lambda: len(numbers) == 2
    )
    assert conduct(both, callbacks, at_once=2) is None
    assert [tries(tmp_path, name) for name in "abc"] == [1, 1, 0]
    found = conduct(both, ExperimentCallbacks(), at_once=2)
    assert found is not None
    assert [one["status"] for one in found.values()] == ["completed"] * 3
    assert [tries(tmp_path, name) for name in "abc"] == [2, 2, 1]


def test_an_error_of_the_parent_leaves_none_of_several_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[Any] = []
    popen = subprocess.Popen

    def noted(*words: Any, **options: Any) -> Any:
        started.append(popen(*words, **options))
        return started[-1]

    monkeypatch.setattr(conducting.subprocess, "Popen", noted)
    spoke: set[int] = set()

    def fails(number: int, event: Any) -> None:
        spoke.add(number)
        if len(spoke) == 2:
            raise SystemExit(130)

    with pytest.raises(SystemExit):
        conduct(experiment(tmp_path, a="waits", b="waits"), ExperimentCallbacks(on_event=fails), at_once=2)
    assert [one.returncode for one in started] == [-9, -9]


def test_an_order_is_what_the_child_reads(tmp_path: Path) -> None:
    conduct(experiment(tmp_path, a="well"), ExperimentCallbacks())
    folder = tmp_path / "plain" / "entries" / "a"
    job = TypeAdapter(EntryJob).validate_json((folder / "entry.json").read_bytes())
    assert (job.run, job.data) == (tmp_path / "plain" / "a", tmp_path / "plain" / "data")
    assert job.entry.name == "a"


def test_last_words(tmp_path: Path) -> None:
    (tmp_path / "log.txt").write_text("")
    assert last_words(3, tmp_path / "log.txt")["message"] == "the process ended with code 3: without a word"
    assert last_words(-15, tmp_path / "log.txt")["message"] == "the process was killed by SIGTERM"


def job_folder(corpus: Path, **more: Any) -> tuple[Path, EntryJob]:
    """A folder with the job for one entry."""
    experiment = open_experiment(tiny_request(corpus, archs=("rnn",), seeds=(7,), bootstrap=10, **more))
    experiment = replace(experiment, options=replace(experiment.options, growth=False, focus=False))
    folder = experiment.out / "entries" / "rnn-s7"
    folder.mkdir(parents=True)
    job = job_for(experiment, experiment.entries[0])
    (folder / "entry.json").write_text(json.dumps(asdict(job), default=str))
    return folder, job


def lines(text: str) -> list[dict[str, Any]]:
    return [json.loads(channel) for channel in text.splitlines()]


def test_an_order_comes_back(corpus: Path) -> None:
    folder, job = job_folder(corpus)
    assert TypeAdapter(EntryJob).validate_json((folder / "entry.json").read_bytes()) == job


def test_it_trains_with_the_shared_data_and_measures(corpus: Path) -> None:
    folder, job = job_folder(corpus)
    prepared = {path: path.stat().st_mtime_ns for path in job.data.iterdir()}
    out, threads = io.StringIO(), torch.get_num_threads()
    torch.set_num_threads(3)  # other than training's
    try:
        carry_out(folder, ParentChannel(out, threading.Event()))
    finally:
        torch.set_num_threads(threads)
    told = lines(out.getvalue())
    events = [channel["event"]["type"] for channel in told if channel["type"] == "event"]
    assert events.count("train") == 6
    assert events[-1] == "end"
    assert {channel["type"] for channel in told} == {"event", "progress"}
    result = json.loads((folder / "measured.json").read_bytes())
    assert result["key"] == job.key
    measured = result["measured"]
    assert measured["speed"]["threads"] == 3
    assert (measured["status"], measured["steps"], measured["quality"]["n"]) == ("completed", 6, 20)
    # Of another seed than the data, it neither holds out other pairs nor makes anything again.
    assert {path: path.stat().st_mtime_ns for path in job.data.iterdir()} == prepared
    assert not (job.run / "data").exists()


def test_told_to_stop_it_raises_at_the_next_word() -> None:
    stopped = threading.Event()
    channel = ParentChannel(io.StringIO(), stopped)
    channel.progress("translating", 1, 9)
    stopped.set()
    with pytest.raises(ChildStopped):
        channel.progress("translating", 2, 9)


def test_a_parent_that_is_gone_tears_nothing() -> None:
    class Gone(io.StringIO):
        def flush(self) -> None:
            raise BrokenPipeError

    stopped = threading.Event()
    ParentChannel(Gone(), stopped).event(
        {"type": "train"}
    )  # in the middle of training: it has to save, not to fail
    assert stopped.is_set()


def test_progress_is_told_now_and_then() -> None:
    out = io.StringIO()
    channel = ParentChannel(out, threading.Event())
    for done in range(1, 1001):
        channel.progress("translating", done, 1000)
    told = lines(out.getvalue())
    assert told[0]["done"] == 1
    assert told[-1]["done"] == 1000
    assert len(told) < 500
    channel.tell("event", event={"loss": float("nan")})
    assert lines(out.getvalue())[-1]["event"] == {"loss": None}


def start_child(folder: Path) -> "subprocess.Popen[str]":
    words = [sys.executable, "-m", "jumok.comparison.conduct", str(folder)]
    streams = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    return subprocess.Popen(words, text=True, **streams)  # type: ignore[call-overload,no-any-return]


@pytest.mark.slow
def test_a_parent_that_goes_away_makes_it_save_and_end(corpus: Path) -> None:
    rare = {"training__validate_every": 10**6, "training__save_every": 10**6}
    folder, job = job_folder(corpus, budget=Budget("steps", 10**6), **rare)
    with start_child(folder) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        for channel in child.stdout:
            if json.loads(channel)["type"] == "event" and json.loads(channel)["event"]["type"] == "train":
                break
        child.stdin.close()
        *_, last = child.stdout
        assert json.loads(last) == {"type": "stopped"}
    assert child.returncode == 0
    assert max(checkpoint_folders(job.run)) >= 1
    assert not (folder / "measured.json").exists()
