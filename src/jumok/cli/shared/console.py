"""What a person sees while work goes on: a bar on a terminal, a plain line now and then in a log."""

import json
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from importlib.util import find_spec

import click

from jumok.progress import Progress, duration, silent

PLAIN_SECONDS = 30.0


def stderr_is_live() -> bool:
    """Whether stderr is a terminal that can redraw a line."""
    return sys.stderr.isatty() and os.environ.get("TERM") != "dumb"


def wants_colour(stream_is_terminal: bool) -> bool:  # noqa: FBT001
    """The usual rules: NO_COLOR switches off, FORCE_COLOR on, else only on a terminal."""
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return stream_is_terminal and os.environ.get("TERM") != "dumb"


def say(text: str) -> None:
    """One line to stderr: everything that is not the result."""
    click.echo(text, err=True)


def print_json(value: object) -> None:
    """One JSON object on a line of standard output."""
    click.echo(to_json(value))


def to_json(value: object, indent: int | None = None) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, indent=indent)


def stamp() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


@contextmanager
def progress_display(*, quiet: bool = False) -> Iterator[Progress]:
    """Shows every kind of work reported to it until the block ends."""
    if quiet:
        yield silent
    elif stderr_is_live() and find_spec("rich"):  # it comes with jumok[train]
        with live_bars() as report:
            yield report
    else:
        yield PlainLines()


@contextmanager
def live_bars() -> Iterator[Progress]:
    """One bar per kind of work while it lasts, with elapsed and remaining time."""
    from rich import progress as rich
    from rich.console import Console

    columns = (rich.TextColumn("{task.description}"), rich.BarColumn(), rich.MofNCompleteColumn())
    times = (rich.TimeElapsedColumn(), rich.TimeRemainingColumn())
    bars = rich.Progress(*columns, *times, console=Console(stderr=True), transient=True)
    tasks: dict[str, rich.TaskID] = {}

    def report(what: str, done: int, total: int | None) -> None:
        if what not in tasks:
            bars.start()
            tasks[what] = bars.add_task(what, total=total)
        bars.update(tasks[what], completed=done, total=total)
        if total is not None and done >= total:
            bars.remove_task(tasks.pop(what))
        if not tasks:
            bars.stop()  # the terminal belongs to others, such as the training panel

    try:
        yield report
    finally:
        bars.stop()


class PlainLines:
    """A line every 30 seconds or 1 %, whichever is later, and one at the end."""

    def __init__(self) -> None:
        self.last: dict[str, tuple[float, float]] = {}  # what -> (time, share) of the last line
        self.began: dict[str, float] = {}

    def __call__(self, what: str, done: int, total: int | None) -> None:
        now = time.monotonic()
        began = self.began.setdefault(what, now)
        then, share_then = self.last.setdefault(what, (now, 0.0))
        share = done / total if total else 0.0
        finished = total is not None and done >= total
        if finished:
            del self.began[what], self.last[what]  # the same kind of work may come again
            if now - began < 2:
                return  # too quick to be worth a line
        if finished or (now - then >= PLAIN_SECONDS and (total is None or share - share_then >= 0.01)):
            if not finished:
                self.last[what] = (now, share)
            rate = done / max(now - began, 1e-9)
            left = f" left={duration((total - done) / rate)}" if total and rate and not finished else ""
            of = f"/{total}" if total else ""
            say(f"{stamp()} {what} {done}{of} rate={rate:.0f}/s{left}")
