"""Where a run's events go: `metrics.jsonl` always, TensorBoard when it is installed."""

import json
import math
import os
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from jumok.seals import sealed, unsealed
from jumok.training.loop import Event

Log = Callable[[Event], None]

TAGS = {
    "train": ("loss", "nll", "lr", "grad_norm", "tokens_per_s"),
    "valid": ("loss", "bleu", "chrf", "exact", "per", "rouge1", "rougeL"),
}


class JsonLines:
    """Appends one sealed JSON object per event and flushes it; a crash can only cut the last line short."""

    def __init__(self, path: Path) -> None:
        torn = path.exists() and not path.read_bytes().endswith(b"\n") and path.stat().st_size > 0
        self.file = path.open("a", encoding="utf-8")
        if torn:
            self.file.write("\n")

    def __call__(self, event: Event) -> None:
        self.file.write(json.dumps(sealed(timed(event)), ensure_ascii=False) + "\n")
        self.file.flush()

    def close(self) -> None:
        self.file.flush()
        os.fsync(self.file.fileno())
        self.file.close()


def to_json(event: Event) -> str:
    """An event on one line, with the time it is written."""
    return json.dumps(timed(event), ensure_ascii=False)


def timed(event: Event) -> dict[str, Any]:
    """An event as JSON keeps it, its type first, then the time."""
    now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return dict(finite({"type": event["type"], "time": now, **event}))


def read_events(path: Path) -> Iterator[dict[str, Any]]:
    """The events of a run; lines cut short by a crash, or changed since, are left out."""
    for line in path.read_bytes().split(b"\n"):
        try:
            event = unsealed(json.loads(line))
        except (ValueError, RecursionError):
            continue
        if isinstance(event, dict):
            yield event


def finite(value: Any) -> Any:
    """The same value with numbers that JSON cannot hold as null."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: finite(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [finite(one) for one in value]
    return value


class TensorBoard:
    """Curves in TensorBoard's own files."""

    def __init__(self, folder: Path) -> None:
        from torch.utils.tensorboard import SummaryWriter

        self.writer = SummaryWriter(str(folder))
        self.hook, threading.excepthook = threading.excepthook, self.thread_ended

    def __call__(self, event: Event) -> None:
        split = event["type"]
        for key in TAGS.get(split, ()):
            if event.get(key) is not None:
                self.writer.add_scalar(f"{split}/{key}", event[key], event["step"])

    def thread_ended(self, args: threading.ExceptHookArgs) -> None:
        """A full disk ends the thread that writes the curves, without a fright: the run goes on."""
        theirs = type(args.thread).__module__.startswith("tensorboard.")
        if not (theirs and isinstance(args.exc_value, OSError)):
            self.hook(args)

    def close(self) -> None:
        try:
            self.writer.close()
        finally:
            threading.excepthook = self.hook


def has_tensorboard() -> bool:
    return find_spec("tensorboard") is not None
