"""Processes that need not load torch, which takes seconds: they are forked from one that has.

For what has to be computed in a process of its own. Where the start itself is under test, take `subprocess`.
"""

import multiprocessing
import os
import runpy
import subprocess
import sys
from collections.abc import Callable
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from jumok.run import machine

LOADED = [
    *("jumok.run.train", "jumok.server.app", "jumok.comparison.experiment", "jumok.model"),
    *("torch.utils.tensorboard", "torch.distributed.fsdp", "pytest", "sacrebleu"),
]


def start(function: Callable[..., Any], *args: Any) -> ForkServerProcess:
    """`function(*args)` in a process of its own, by one that has loaded torch and nothing of this one."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(LOADED)
    speed = machine.measure_gflops("cpu"), machine.measure_gain()
    process = context.Process(target=as_fast, args=(*speed, function, args))
    process.start()
    return process


def as_fast(gflops: float, gain: float, function: Callable[..., Any], args: tuple[Any, ...]) -> None:
    """`function(*args)` on a machine whose speed was measured already, and whose disk is not waited for."""
    machine.measure_gflops = lambda *_: gflops
    machine.measure_gain = lambda: gain
    os.fsync = os.fstat  # type: ignore[assignment]
    function(*args)


def run_script(script: Path, *words: object, limit: float = 240) -> "subprocess.CompletedProcess[str]":
    """What `python script words…` does and says."""
    command = [str(script), *map(str, words)]
    with TemporaryDirectory() as folder:
        out, err = Path(folder, "out"), Path(folder, "err")
        process = start(become, command, str(out), str(err))
        process.join(limit)
        if process.exitcode is None:
            process.kill()
            process.join()
        assert process.exitcode is not None
        said = (path.read_text(encoding="utf-8") for path in (out, err))
        return subprocess.CompletedProcess(command, process.exitcode, *said)


def run_code(code: str, *words: object, limit: float = 240) -> "subprocess.CompletedProcess[str]":
    """What `python -c code words…` does and says."""
    with TemporaryDirectory() as folder:
        script = Path(folder, "code.py")
        script.write_text(code, encoding="utf-8")
        return run_script(script, *words, limit=limit)


def become(command: list[str], out: str, err: str) -> None:
    """The script of these words, with its streams in files."""
    write_to(out, err)
    sys.argv, sys.path[:0] = command, [str(Path(command[0]).parent)]
    runpy.run_path(command[0], run_name="__main__")


def write_to(out: str, err: str) -> None:
    """All that this process says from now on goes to two files, or to one."""
    for number, name in enumerate((out, err), start=1):
        os.dup2(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND), number)
    sys.stdout, sys.stderr = (os.fdopen(number, "w", buffering=1, encoding="utf-8") for number in (1, 2))
