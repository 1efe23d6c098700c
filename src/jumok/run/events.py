"""Where a run's events go, and what it says first."""

import logging
import platform
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from typing import Any

import torch

from jumok import __version__
from jumok.run.machine import Machine
from jumok.settings import config_to_toml
from jumok.training.log import JsonLines, Log, TensorBoard, has_tensorboard
from jumok.training.loop import Event, notice
from jumok.training.state import LoopState
from jumok.training.work import RunWork

logger = logging.getLogger("jumok")


@contextmanager
def logs(folder: Path, on_event: Log) -> Iterator[list[Log]]:
    """Where this sitting's events go, closed at the end."""
    with ExitStack() as stack:
        lines, samples = JsonLines(folder / "metrics.jsonl"), JsonLines(folder / "samples.jsonl")
        stack.callback(forgiving(lines.close))
        stack.callback(forgiving(samples.close))
        log_to: list[Log] = [forgiving(lines), forgiving(samples_log(samples)), on_event]
        if has_tensorboard():
            with suppress(OSError):  # curves are a comfort; a full disk shows when a checkpoint is due
                board = TensorBoard(folder / "tensorboard")
                stack.callback(forgiving(board.close))
                log_to.append(forgiving(board))
        notices = Notices([*log_to])
        log_to.append(notices.follow)
        logger.addHandler(notices)
        stack.callback(logger.removeHandler, notices)
        yield log_to


class Notices(logging.Handler):
    """The library's warnings as events of the run: a kernel that does not run here, and the like."""

    def __init__(self, log_to: Sequence[Log]) -> None:
        super().__init__(logging.WARNING)
        self.log_to, self.step = log_to, 0

    def follow(self, event: Event) -> None:
        """Know the step that the run has come to."""
        self.step = event.get("step") or self.step

    def emit(self, record: logging.LogRecord) -> None:
        for log in self.log_to:
            log(notice(self.step, "warning", "library", record.getMessage()))


def forgiving(call: Callable[..., None]) -> Callable[..., None]:
    """The same, but a full disk does not end a run over a line of its log: saving has its own rules."""

    def attempt(*args: Any) -> None:
        with suppress(OSError):
            call(*args)

    return attempt


def samples_log(lines: JsonLines) -> Log:
    """Keeps the validation samples over time in a file of their own."""

    def log(event: Event) -> None:
        if event["type"] == "valid" and event.get("samples"):
            lines({"type": "samples", "step": event["step"], "samples": event["samples"]})

    return log


def start_event(work: RunWork, machine: Machine, parameters: int, state: LoopState) -> Event:
    """What this sitting is, before its first step."""
    prepared, config = work.prepared, work.config
    return {
        "type": "start",
        "run": work.checkpoints.run.name,
        "config_sha256": sha256(config_to_toml(config).encode()).hexdigest(),
        "params": parameters,
        "device": machine.device,
        "dtype": "bfloat16" if work.autocast else "float32",
        "data": {
            "train": len(prepared.train),
            "valid": len(prepared.valid),
            "left_out": prepared.train.left_out,
            "cut": prepared.train.cut,
        },
        "versions": {
            "jumok": __version__,
            "torch": str(torch.__version__),
            "python": platform.python_version(),
        },
        "seed": config.seed,
        "processes": work.world.size,
        "resumed_from": state.step or None,
    }
