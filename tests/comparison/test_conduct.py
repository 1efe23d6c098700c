"""Children that end well, fail, are killed or told to stop: each is recorded, and the others go on.

The children here are real processes that speak the child's language and train nothing.
"""

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter

from jumok.comparison import conduct as conducting
from jumok.comparison.conduct import ExperimentCallbacks, conduct, last_words
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
        on_event=lambda event: seen.append(event["step"]),
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

    def note(event: Any) -> None:
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
    def fails(event: Any) -> None:
        raise SystemExit(130)  # a second Ctrl-C

    with pytest.raises(SystemExit):
        conduct(
            experiment(tmp_path, a="waits"), ExperimentCallbacks(on_event=fails)
        )  # and it waits for no one


def test_an_order_is_what_the_child_reads(tmp_path: Path) -> None:
    from jumok.comparison.child import EntryJob

    conduct(experiment(tmp_path, a="well"), ExperimentCallbacks())
    folder = tmp_path / "plain" / "entries" / "a"
    job = TypeAdapter(EntryJob).validate_json((folder / "entry.json").read_bytes())
    assert (job.run, job.data) == (tmp_path / "plain" / "a", tmp_path / "plain" / "data")
    assert job.entry.name == "a"


def test_last_words(tmp_path: Path) -> None:
    (tmp_path / "log.txt").write_text("")
    assert last_words(3, tmp_path / "log.txt")["message"] == "the process ended with code 3: without a word"
    assert last_words(-15, tmp_path / "log.txt")["message"] == "the process was killed by SIGTERM"
