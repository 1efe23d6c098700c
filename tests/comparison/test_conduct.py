"""Children that end well, fail, are killed or told to stop: each is recorded, and the others go on.

Most children here are real processes that speak the child's language and train nothing.
"""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter

from jumok.comparison import conduct as conducting
from jumok.comparison.conduct import (
    EntryJob,
    ExperimentCallbacks,
    conduct,
    last_words,
)
from jumok.comparison.entry import ComparisonEntry, MeasureOptions, TestPairs
from jumok.comparison.experiment import Experiment

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
    answers = tmp_path / "plain" / "a" / "tested.json"
    answers.parent.mkdir()
    for number, kept in ((7, "{}"), (8, "{")):  # what the report will read has to be whole, too
        answers.write_text(kept)
        found = conduct(others[-1], ExperimentCallbacks())
        assert tries(tmp_path, "a") == number
        assert found is not None
        assert found["a"]["status"] == ("completed" if kept == "{}" else "failed")


def test_what_was_kept_is_told_of_as_ended_and_never_as_begun(tmp_path: Path) -> None:
    plain, seen = experiment(tmp_path, a="well", b="well"), list[Any]()
    conduct(plain, ExperimentCallbacks())
    callbacks = ExperimentCallbacks(
        on_entry=lambda number, entry: seen.append((number, entry.name)),
        on_event=lambda number, event: seen.append(event),
        on_end=lambda number, entry, measured: seen.append((number, entry.name, measured["status"])),
    )
    assert conduct(plain, callbacks) == {"a": {"status": "completed"}, "b": {"status": "completed"}}
    assert seen == [(1, "a", "completed"), (2, "b", "completed")]


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
    assert last_words(-15, tmp_path / "log.txt") == {
        "message": "the process was killed by SIGTERM",
        "where": str(tmp_path / "log.txt"),
        "hint": "",
    }
    (tmp_path / "log.txt").write_text("a\n" + "b" * 1990 + "c" * 1990 + " \n")
    last = last_words(3, tmp_path / "log.txt")
    assert last["message"] == f"the process ended with code 3: {'b' * 8}{'c' * 1990}"
    assert (last["where"], last["hint"]) == (str(tmp_path / "log.txt"), "")
