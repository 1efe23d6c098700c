"""Contestants one after the other: each has a limit of time and all the memory, and none stops the others."""

import argparse
import gc
import json
import platform
import signal
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import FrameType
from typing import Any

import torch


class MissingError(Exception):
    """A contestant that this machine does not have, or that cannot do the work of the others."""


class TimeUpError(BaseException):
    """Not an Exception: compilers catch those and go on."""


def read_options(parser: argparse.ArgumentParser, limit: float) -> tuple[argparse.Namespace, torch.device]:
    """What every contest can be told, and where it is held: on the GPU, or in its small form on the CPU."""
    parser.add_argument("--limit", type=float, default=limit, help="seconds that one contestant may take")
    parser.add_argument("--json", type=Path, help="write the rows to this file")
    parser.add_argument("--smoke", action="store_true", help="a tiny model on the CPU")
    args = parser.parse_args()
    if not args.smoke and not torch.cuda.is_available():
        sys.exit("no GPU here: --smoke runs a tiny model on the CPU")
    torch.backends.cuda.enable_cudnn_sdp(enabled=False)  # it builds a plan per shape, 0.4 s each
    return args, torch.device("cpu" if args.smoke else "cuda")


def write_readings(file: Path, rows: Sequence[dict[str, Any]], device: torch.device) -> None:
    """The rows as JSON, with the command, the machine and every version that bears on them."""
    told = {
        "command": " ".join(["python", *sys.argv]),
        "machine": torch.cuda.get_device_name() if device.type == "cuda" else platform.processor(),
        "kept": "all that was measured",
        "versions": {
            "python": platform.python_version(),
            **dict(installed("torch", "triton", "transformers")),
        },
        "rows": rows,
    }
    file.write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")


def installed(*names: str) -> Iterator[tuple[str, str]]:
    for name in names:
        try:
            yield name, version(name)
        except PackageNotFoundError:
            yield name, "none"


def attempt(call: Callable[[], None], device: torch.device, limit: float) -> str:
    """Run a contestant; what went wrong, in one line, or nothing."""
    problem = ""
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats()
    try:
        with at_most(limit):
            call()
    except (MissingError, TimeUpError) as error:
        problem = str(error)
    except Exception as error:  # the others go on
        traceback.print_exc()
        first, *_ = str(error).strip().splitlines() or [""]
        problem = f"{type(error).__name__}: {first[:160]}"
    gc.collect()
    if device.type == "cuda":
        torch.cuda.empty_cache()
    return problem


@contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """Raises TimeUpError in the block when its time is up."""

    def stop(signum: int, frame: FrameType | None) -> None:
        raise TimeUpError(f"stopped after {seconds:.0f} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds, 10)  # again, should something swallow it
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def synchronize(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize()


def peak_memory(device: torch.device) -> float:
    """GB that tensors took up at most since the contestant began."""
    return torch.cuda.max_memory_allocated() / 1e9 if device.type == "cuda" else 0.0


def line(head: Sequence[str], cells: Sequence[str]) -> str:
    """A row as it comes, in words."""
    named = [f"{what} {value}" for what, value in zip(head[1:], cells[1:], strict=False)]
    return f"  {cells[0]}: " + (", ".join(named) if len(cells) == len(head) else cells[1])


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """All rows in Markdown; a short one ends with why."""
    lines = ["| " + " | ".join(row) + " |" for row in (head, *rows)]
    lines.insert(1, "|" + " --- |" * len(head))
    return "\n".join(lines)
