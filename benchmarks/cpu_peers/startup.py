"""From the start of a process to its first translation, in seconds."""

import os
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter

from cpu_peers.arena import CONTESTANTS, Arena, Cell, Contestant, Worker, arena
from cpu_peers.task import SIZES, Size, transformer_settings

JUMOK = [sys.executable, "-m", "jumok"]

TEXT = "5. März 2024"


def make_folder(scratch: Path, size: Size) -> Path:
    """A model folder with the layers that the other contestants load, and the vocabulary of dates."""
    there = scratch / "run"
    chosen = {
        **{f"model.{name}": value for name, value in transformer_settings(size).items()},
        "training.validate_every": 1,
        "training.save_every": 1,
    }
    settings = [part for name, value in chosen.items() for part in ("--set", f"{name}={value}")]
    command = [*JUMOK, "train", "--data", "dates", "--arch", "transformer", "--max-steps", "1", *settings]
    done = subprocess.run(
        [*command, "--device", "cpu", "-q", "--out", str(there)], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise RuntimeError((done.stderr.strip().splitlines() or ["no model"])[0][:160])
    return there


def command_seconds(folder: Path, engine: str) -> float:
    """`jumok translate` of one line."""
    command = [*JUMOK, "translate", "-m", str(folder), "--engine", engine, TEXT]
    began = perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError((done.stderr.strip().splitlines() or ["no answer"])[0][:160])
    return perf_counter() - began


def contestant(name: str) -> Contestant:
    return next(one for one in CONTESTANTS if one.name == name)


def worker_seconds(name: str, folder: Path, environments: Path, size: str) -> float:
    """A fresh process of a contestant: import, load a model of this size, translate a sentence."""
    began = perf_counter()
    with Worker(contestant(name), environments, limit=60) as worker:
        told = Arena({name: worker}, folder).ask(worker, Cell(size, 1, 1, 1), "")
        seconds = perf_counter() - began
    if "problem" in told:
        raise RuntimeError(told["problem"])
    return seconds


def measure(folder: Path, environments: Path, size: str, chosen: list[str], rounds: int) -> dict[str, object]:
    """Median seconds of each with a model of one size, measured in turn, or why there are none.

    The contestants are fresh processes that read ids. The command reads its model folder, checks it and cuts
    text into pieces besides.
    """
    with TemporaryDirectory() as scratch:
        model = make_folder(Path(scratch), SIZES[size])
        calls: dict[str, Callable[[], float]] = {
            f"jumok translate --engine {engine}, {size}": partial(command_seconds, model, engine)
            for engine in ("native", "torch")
        }
        for name in chosen:
            with arena([contestant(name)], folder, environments, limit=60) as ring:
                ring.prepare(size)
            calls[f"{name}, {size}"] = partial(worker_seconds, name, folder, environments, size)
        found: dict[str, list[tuple[float, float]]] = {what: [] for what in calls}
        problems: dict[str, str] = {}
        for _ in range(rounds):
            for what, call in calls.items():
                try:
                    if what not in problems:
                        before = processor_time()
                        found[what].append((call(), processor_time() - before))
                except RuntimeError as error:
                    problems[what] = str(error)
    return {
        what: problems.get(what)
        or {"seconds": median(t for t, _ in times), "cpu_s": median(t for _, t in times), "all": times}
        for what, times in found.items()
    }


def processor_time() -> float:
    """Seconds that processes which have ended have computed."""
    times = os.times()
    return times.children_user + times.children_system
