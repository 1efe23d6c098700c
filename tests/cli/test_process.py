"""What only a process of its own can show: streams that are closed or full, and signals."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import Any

import pytest
from tests.processes import start as fork
from tests.processes import write_to
from tests.run.conftest import quick_settings

import jumok
from jumok.checkpoint.manifest import checkpoint_folders

Call = Callable[..., int]
Captured = pytest.CaptureFixture[str]


def as_words(given: dict[str, Any]) -> list[str]:
    return [part for key, value in given.items() for part in ("--set", f"{key}={value}")]


ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1"}
JUMOK = [sys.executable, "-m", "jumok"]


def start(*words: object, **options: Any) -> "subprocess.Popen[bytes]":
    streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | options
    return subprocess.Popen([*JUMOK, *map(str, words)], env=ENVIRONMENT, **streams)


def test_a_reader_that_went_away_ends_it_quietly() -> None:
    read, write = os.pipe()
    os.close(read)
    process = start("completion", "bash", stdout=write)
    os.close(write)
    _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (0, b"")


@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-", "<&-"])
def test_streams_that_were_never_open(closed: str) -> None:
    shell = f'"$0" -m jumok version -q {closed}'
    done = subprocess.run(["sh", "-c", shell, sys.executable], capture_output=True, env=ENVIRONMENT)
    assert done.returncode == 0
    assert done.stderr == b""
    assert done.stdout == (b"" if closed.startswith(">") else f"{jumok.__version__}\n".encode())


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_output_to_a_full_disk() -> None:
    with open("/dev/full", "wb") as full:
        process = start("completion", "bash", stdout=full)
        _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (1, b"error: No space left on device\n")


def train_events(run: Path) -> dict[int, str]:
    """The loss of every step in full digits."""
    found = {}
    for line in (run / "metrics.jsonl").read_bytes().splitlines():  # of bytes: samples may hold any character
        event = json.loads(line)
        if event["type"] == "train":
            found[event["step"]] = repr(event["loss"])
    return found


def wait_for_steps(run: Path, more_than: int) -> None:
    for _ in range(6000):
        if (run / "metrics.jsonl").exists() and len(train_events(run)) > more_than:
            return
        time.sleep(0.01)
    pytest.fail("the run got nowhere")


def run_command(words: list[str], output: str) -> None:
    """Runs in a process of its own that has torch already; both streams go to a file."""
    from jumok.cli.main import main

    write_to(output, output)
    main(words)


def start_quickly(output: Path, *words: object) -> ForkServerProcess:
    return fork(run_command, [str(word) for word in words], str(output))


def test_one_signal_saves_and_the_same_command_goes_on(corpus: Path, call: Call, capsys: Captured) -> None:
    rare = {"training.max_steps": 10**6, "training.validate_every": 10**6, "training.save_every": 10**6}
    words = as_words(quick_settings(corpus) | rare | {"training.cooldown": 0.0})
    run, before = corpus / "run", 0
    for number, code in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
        process = start_quickly(corpus / "said", "train", "--out", run, *words, "-q")
        wait_for_steps(run, before)
        os.kill(process.pid, number)
        process.join(60)
        assert process.exitcode == code
        steps = max(train_events(run))
        assert steps > before
        assert max(checkpoint_folders(run)) == steps  # no step is lost, although no save was due
        said = (corpus / "said").read_text()
        assert said == (
            f"{signal.Signals(number).name}: finishing the step and saving, 20s at most; "
            "once more ends at once\n"
            f"stopped at step {steps:,}; run the same command again to go on\n"
        )
        before = steps
    words += as_words({"training.max_steps": before + 2})
    for out in (run, corpus / "whole"):
        assert call("train", "--out", out, *words, "-q") == 0
    assert train_events(run) == train_events(corpus / "whole")
    assert max(train_events(run)) == before + 2
    assert capsys.readouterr().err == ""


def test_a_signal_before_the_first_step_ends_at_once(tmp_path: Path) -> None:
    """The source is a pipe that never ends; there is nothing to save."""
    os.mkfifo(tmp_path / "endless.tsv")
    words = ["train", "--source", tmp_path / "endless.tsv", "--out", tmp_path / "run"]
    process = start_quickly(tmp_path / "said", *words)
    with open(tmp_path / "endless.tsv", "wb") as pipe:  # waits until the command reads
        pipe.write(b"one\teins\n")
        pipe.flush()
        os.kill(process.pid, signal.SIGINT)
        process.join(60)
    assert process.exitcode == 130
    assert (tmp_path / "said").read_text().splitlines()[-1] == (
        "SIGINT: ended before the first checkpoint; run the same command again to go on"
    )
