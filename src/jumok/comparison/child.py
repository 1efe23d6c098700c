"""One entry in a process of its own: train or go on, measure, and tell the parent in JSON lines.

`python -m jumok.comparison.child FOLDER` reads FOLDER/entry.json. Each line on standard output is an object:

{"type": "event", "event": …}                       an event of the run
{"type": "progress", "what", "done", "total"}       work that has no events
{"type": "error", "message", "where", "hint"}       why it failed
{"type": "stopped"}                                 it was told to stop, and saved

Standard input stays open as long as the parent wants the entry: when it ends, because the parent closes it or
is gone, training saves and stops. Everything else that is said goes to standard error.
"""

import json
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from textwrap import shorten
from typing import Any, TextIO

import torch
from pydantic import TypeAdapter

from jumok.checkpoint.folder import replace_file
from jumok.comparison.entry import ComparisonEntry, MeasureOptions, TestPairs
from jumok.comparison.measure import measure_entry
from jumok.errors import Error
from jumok.run.train import Request, Watch, run
from jumok.training.log import finite

JOB, MEASURED = "entry.json", "measured.json"
PAUSE = 0.1  # seconds between two lines about the same work
WORDS = 200  # characters of an error that nobody foresaw; the log has all of it


@dataclass(frozen=True, kw_only=True)
class EntryJob:
    """What a child is told. Paths are the parent's: both work in the same folder."""

    entry: ComparisonEntry
    run: Path
    data: Path
    data_seed: int
    test: Path
    options: MeasureOptions
    key: str
    """What was measured how: a result with the same key need not be found again."""


class ChildStopped(Exception):  # noqa: N818  no error
    """The parent wants no more."""


class ParentChannel:
    """The way to the parent: lines out, and one sign in."""

    def __init__(self, out: TextIO, stopped: threading.Event) -> None:
        self.out, self.stopped = out, stopped
        self.last: tuple[str, float] = ("", 0.0)

    def tell(self, kind: str, **values: Any) -> None:
        """A parent that has gone away wants no more: training saves and stops, and is not torn by it."""
        try:
            self.out.write(json.dumps(finite({"type": kind, **values}), ensure_ascii=False) + "\n")
            self.out.flush()
        except BrokenPipeError:
            self.stopped.set()

    def event(self, event: Mapping[str, Any]) -> None:
        self.tell("event", event=dict(event))

    def progress(self, what: str, done: int, total: int | None) -> None:
        """Tell of work now and then, and stop it when nobody wants it any more."""
        if self.stopped.is_set():
            raise ChildStopped
        before, then = self.last
        now = time.monotonic()
        if what != before or now - then >= PAUSE or done == total:
            self.last = (what, now)
            self.tell("progress", what=what, done=done, total=total)


def carry_out(folder: Path, channel: ParentChannel) -> None:
    """Train and measure as ordered; the result is in the folder when this returns."""
    job = TypeAdapter(EntryJob).validate_json((folder / JOB).read_bytes())
    request = Request(
        given=job.entry.settings,
        out=job.run,
        device=job.options.device,
        data_folder=job.data,
        data_seed=job.data_seed,
    )
    watch = Watch(progress=channel.progress, on_event=channel.event, interrupted=channel.stopped.is_set)
    threads = torch.get_num_threads()
    if run(request, watch).reason == "signal":
        raise ChildStopped
    torch.set_num_threads(threads)  # all are measured alike, whatever suited their training
    test = TypeAdapter(TestPairs).validate_json(job.test.read_bytes())
    measured = measure_entry(job.run, test, job.options, channel.progress)
    result = {"key": job.key, "measured": measured}
    replace_file(folder / MEASURED, json.dumps(result, ensure_ascii=False, allow_nan=False).encode())


def listen(inwards: int, stopped: threading.Event) -> None:
    """Wait until the parent closes its end. Not through a buffer, whose lock would outlive the program."""
    while os.read(inwards, 1024):
        pass
    stopped.set()


def main(folder: Path) -> int:
    """The exit code: 0 also for one that stopped when told."""
    stopped = threading.Event()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole terminal; the parent decides
    signal.signal(signal.SIGTERM, lambda number, frame: stopped.set())
    threading.Thread(target=listen, args=(sys.stdin.fileno(), stopped), daemon=True).start()
    outwards = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # nobody else writes between the lines
    channel = ParentChannel(outwards, stopped)
    try:
        carry_out(folder, channel)
    except ChildStopped:
        channel.tell("stopped")
    except Error as error:
        channel.tell("error", message=error.message, where=error.where, hint=error.hint)
        return error.exit_code
    except Exception as error:
        traceback.print_exc()
        channel.tell("error", message=shorten(f"{type(error).__name__}: {error}", WORDS), where="", hint="")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
