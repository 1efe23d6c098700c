"""From the start of a process to its first translation, in seconds."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from statistics import median
from time import perf_counter

from cpu_peers.arena import CONTESTANTS, Arena, Cell, Contestant, Worker, arena

TEXT = "5. März 2024"


def command_seconds(engine: str) -> float:
    """`jumok translate` of one line with the bundled Transformer."""
    command = [sys.executable, "-m", "jumok", "translate", "-m", "demo/transformer", "--engine", engine, TEXT]
    began = perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode or not done.stdout.strip():
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
    """Median seconds of each, measured in turn, or why there are none."""
    calls: dict[str, Callable[[], float]] = {
        "jumok translate --engine native": lambda: command_seconds("native"),
        "jumok translate --engine torch": lambda: command_seconds("torch"),
    }
    for name in ("ct2-int8", "transformers"):
        if name in chosen:
            with arena([contestant(name)], folder, environments, limit=60) as ring:
                ring.prepare(size)
            calls[f"{name}, {size}"] = lambda name=name: worker_seconds(name, folder, environments, size)  # type: ignore[misc]
    found: dict[str, list[float]] = {what: [] for what in calls}
    problems: dict[str, str] = {}
    for _ in range(rounds):
        for what, call in calls.items():
            if what in problems:
                continue
            try:
                found[what].append(call())
            except RuntimeError as error:
                problems[what] = str(error)
    return {what: problems.get(what) or median(seconds) for what, seconds in found.items()}
