"""The child of an experiment: what it trains and measures, and what it tells its parent."""

import io
import json
import subprocess
import sys
import threading
from dataclasses import asdict, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from pydantic import TypeAdapter

from jumok.checkpoint.manifest import checkpoint_folders
from jumok.comparison import conduct as conducting
from jumok.comparison.budget import Budget
from jumok.comparison.conduct import ChildStopped, EntryJob, ParentChannel, carry_out, job_for
from jumok.comparison.experiment import open_experiment
from jumok.errors import DataError
from tests.comparison.conftest import tiny_request
from tests.processes import run_code


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


def test_progress_of_one_kind_is_told_ten_times_a_second(monkeypatch: pytest.MonkeyPatch) -> None:
    out, now = io.StringIO(), [0.0]
    monkeypatch.setattr(conducting, "time", SimpleNamespace(monotonic=lambda: now[0]))
    channel = ParentChannel(out, threading.Event())
    for at, what, done in (
        (5.0, "a", 1),
        (5.09, "a", 2),
        (5.11, "a", 3),
        (5.12, "a", 4),
        (5.13, "b", 1),
        (5.14, "b", 9),
        (5.2, "b", 8),
        (5.25, "b", 7),
    ):
        now[0] = at
        channel.progress(what, done, 9)
    assert [(line["what"], line["done"]) for line in lines(out.getvalue())] == [
        ("a", 1),
        ("a", 3),
        ("b", 1),
        ("b", 9),  # the end is always told
        ("b", 7),
    ]


CHILD_MAIN = """
import sys
from pathlib import Path
from jumok.comparison import conduct
from jumok.errors import DataError

def blank(folder, channel):
    print("said on the way")
    raise DataError("it is blank", where="line 3", hint="fill it in")

if len(sys.argv) > 2:
    conduct.carry_out = blank
sys.exit(conduct.child_main(Path(sys.argv[1])))
"""


def test_an_error_that_nobody_foresaw_is_told_in_short(tmp_path: Path) -> None:
    folder = tmp_path / ("very " * 50).strip()
    ended = run_code(CHILD_MAIN, folder)
    [told] = lines(ended.stdout)
    assert ended.returncode == 1
    assert (told["type"], told["where"], told["hint"]) == ("error", "", "")
    assert told["message"].startswith("FileNotFoundError: ")
    assert told["message"].endswith("very [...]")
    assert 190 < len(told["message"]) <= 200
    assert ended.stderr.startswith("Traceback")


def test_an_error_of_ours_is_told_in_its_own_words(tmp_path: Path) -> None:
    """And nothing else is said where the parent listens."""
    ended = run_code(CHILD_MAIN, tmp_path, "blank")
    assert lines(ended.stdout) == [
        {"type": "error", "message": "it is blank", "where": "line 3", "hint": "fill it in"}
    ]
    assert (ended.returncode, ended.stderr) == (DataError.exit_code, "said on the way\n")


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
