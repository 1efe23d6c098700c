"""An experiment carried out: each entry trained and measured in a child process, one after the other or
several side by side.

A child that fails or is killed is recorded, and the others go on. Run again, finished entries are kept and
the rest go on where they stopped.

`python -m jumok.comparison.conduct FOLDER` is the child. It reads FOLDER/entry.json, and each line on its
standard output is an object:

{"type": "event", "event": …}                       an event of the run
{"type": "progress", "what", "done", "total"}       work that has no events
{"type": "error", "message", "where", "hint"}       why it failed
{"type": "stopped"}                                 it was told to stop, and saved

Its standard input stays open as long as the parent wants the entry: when it ends, because the parent closes
it or is gone, training saves and stops. Everything else that is said goes to standard error.
"""

import json
import os
import select
import signal
import subprocess
import sys
import threading
import time
import traceback
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path
from textwrap import shorten
from typing import Any, TextIO

import torch
from pydantic import TypeAdapter

from jumok.checkpoint.folder import replace_file
from jumok.comparison.entry import ComparisonEntry, MeasureOptions, TestPairs
from jumok.comparison.experiment import ENTRIES, TEST, Experiment, data_folder
from jumok.comparison.measure import TESTED, measure_entry
from jumok.errors import Error
from jumok.progress import Progress, silent
from jumok.run.train import RunCallbacks, RunRequest, run
from jumok.seals import sealed, unsealed
from jumok.training.log import finite

JOB, MEASURED = "entry.json", "measured.json"
PAUSE = 0.1  # seconds between two lines about the same work
WORDS = 200  # characters of an error that nobody foresaw; the log has all of it
COMMAND = (sys.executable, "-m", "jumok.comparison.conduct")
LOOK = 0.2  # seconds between two looks at whether somebody interrupts
LAST_WORDS = 2000  # characters of a child's log that may hold the reason of its end
AGAIN = "run the same command again to go on"
MEMORY = "the system may have run out of memory: choose a smaller model or training.batch_tokens"

Event = Mapping[str, Any]


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


@dataclass(frozen=True, kw_only=True)
class ExperimentCallbacks:
    """Called while the experiment goes on; `interrupted` may stop it. Each may be left out."""

    on_entry: Callable[[int, ComparisonEntry], None] = lambda number, entry: None  # from 1, before training
    on_event: Callable[[int, Event], None] = lambda number, event: None  # of that entry's run
    on_end: Callable[[int, ComparisonEntry, Event], None] = lambda number, entry, measured: None
    progress: Progress = silent
    interrupted: Callable[[], bool] = lambda: False


def conduct(
    experiment: Experiment, callbacks: ExperimentCallbacks, *, at_once: int = 1
) -> dict[str, dict[str, Any]] | None:
    """What was measured, by the entries' names; others have a status and an error. None: interrupted.

    `at_once` children work side by side: on one thread each they share the cores, and nobody's times are
    those of a machine of its own.
    """
    found: dict[str, dict[str, Any]] = {}
    waiting = deque(enumerate(experiment.entries, start=1))
    running: list[EntryProcess] = []
    unfinished = False
    try:
        while waiting or running:
            while waiting and len(running) < at_once:
                number, entry = waiting.popleft()
                job, folder = job_for(experiment, entry), experiment.out / ENTRIES / entry.folder
                if (measured := kept(folder, job)) is not None:
                    found[entry.name] = measured
                    callbacks.on_end(number, entry, measured)
                elif callbacks.interrupted():
                    waiting.clear()
                    unfinished = True
                else:
                    callbacks.on_entry(number, entry)
                    running.append(EntryProcess(number, folder, job))
            for child in heard(running, callbacks):
                running.remove(child)
                if (measured := child.result(interrupted=callbacks.interrupted())) is None:
                    unfinished = True
                    continue
                found[child.job.entry.name] = measured
                callbacks.on_end(child.number, child.job.entry, measured)
    finally:
        for child in running:
            child.end()
    return None if unfinished else {entry.name: found[entry.name] for entry in experiment.entries}


def job_for(experiment: Experiment, entry: ComparisonEntry) -> EntryJob:
    """What the entry's child is told."""
    options = experiment.options
    about = [asdict(one) for one in (experiment.test, options, entry)]
    return EntryJob(
        entry=entry,
        run=experiment.out / entry.folder,
        data=data_folder(experiment.out, entry),
        data_seed=experiment.data_seed,
        test=experiment.out / TEST,
        options=options,
        key=sha256(json.dumps(about, sort_keys=True).encode("utf-8", "surrogatepass")).hexdigest(),
    )


def kept(folder: Path, job: EntryJob) -> dict[str, Any] | None:
    """What an earlier sitting measured, if it was the same entry and the same test."""
    try:
        result = unsealed(json.loads((folder / MEASURED).read_bytes()))
        measured: dict[str, Any] | None = result["measured"] if result["key"] == job.key else None
        if (answers := job.run / TESTED).is_file():
            unsealed(json.loads(answers.read_bytes()))  # the report reads them, too
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None
    return measured


class EntryProcess:
    """A child at work on an entry, and what it has said of its end."""

    def __init__(self, number: int, folder: Path, job: EntryJob) -> None:
        self.number, self.folder, self.job = number, folder, job
        folder.mkdir(parents=True, exist_ok=True)
        told = json.dumps(asdict(job), ensure_ascii=False, indent=1, default=str)
        replace_file(folder / JOB, told.encode())
        self.log = folder / "log.txt"
        command, pipe = [*COMMAND, str(folder)], subprocess.PIPE
        with self.log.open("wb") as said:
            self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=said)
        self.rest = b""  # a line cut short is the last of a child that was killed
        self.status = "failed"
        self.error: dict[str, str] | None = None

    def fileno(self) -> int:
        """Where it is heard; `select` asks for it."""
        assert self.process.stdout is not None
        return self.process.stdout.fileno()

    def stop(self) -> None:
        """Tell it to save and end."""
        assert self.process.stdin is not None
        self.process.stdin.close()

    def hear(self, callbacks: ExperimentCallbacks) -> bool:
        """Pass on what it says now; False when it has nothing more to say."""
        if not (said := os.read(self.fileno(), 1 << 16)):
            return False
        *lines, self.rest = (self.rest + said).split(b"\n")
        for line in map(json.loads, lines):
            match line["type"]:
                case "event":
                    callbacks.on_event(self.number, line["event"])
                case "progress":
                    callbacks.progress(line["what"], line["done"], line["total"])
                case "error":
                    self.error = {key: line[key] for key in ("message", "where", "hint")}
                case "stopped":
                    where, self.status = str(self.log), "stopped"
                    self.error = {"message": "the process was told to stop", "where": where, "hint": AGAIN}
        return True

    def result(self, *, interrupted: bool) -> dict[str, Any] | None:
        """What it measured, or why it did not; None when it was interrupted."""
        with self.process:
            code = self.process.wait()
        if code == 0 and (measured := kept(self.folder, self.job)) is not None:
            return measured
        return (
            None
            if interrupted
            else {"status": self.status, "error": self.error or last_words(code, self.log)}
        )

    def end(self) -> None:
        """It does not outlive the block it is used in: what has not ended then is ended."""
        self.process.kill()
        with self.process:
            self.process.wait()


def heard(running: Sequence[EntryProcess], callbacks: ExperimentCallbacks) -> list[EntryProcess]:
    """Wait a moment for what the children say and pass it on; those that ended.

    An interruption closes their input, which tells them to save and end.
    """
    if callbacks.interrupted():
        for child in running:
            child.stop()
    speaking = select.select(running, [], [], LOOK)[0] if running else []
    return [child for child in speaking if not child.hear(callbacks)]


def last_words(code: int, log: Path) -> dict[str, str]:
    """Why a child ended that could not say it."""
    if code < 0:
        name = signal.Signals(-code).name
        hint = MEMORY if -code == signal.SIGKILL else ""
        return {"message": f"the process was killed by {name}", "where": str(log), "hint": hint}
    text = log.read_text(encoding="utf-8", errors="replace")[-LAST_WORDS:].strip()
    last = text.splitlines()[-1] if text else "without a word"
    return {"message": f"the process ended with code {code}: {last}", "where": str(log), "hint": ""}


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
    request = RunRequest(
        given=job.entry.settings,
        out=job.run,
        device=job.options.device,
        data_folder=job.data,
        data_seed=job.data_seed,
    )
    callbacks = RunCallbacks(
        progress=channel.progress, on_event=channel.event, interrupted=channel.stopped.is_set
    )
    threads = torch.get_num_threads()
    if run(request, callbacks).reason == "signal":
        raise ChildStopped
    torch.set_num_threads(threads)  # all are measured alike, whatever suited their training
    test = TypeAdapter(TestPairs).validate_json(job.test.read_bytes())
    measured = measure_entry(job.run, test, job.options, channel.progress)
    result = {"key": job.key, "measured": measured}
    replace_file(folder / MEASURED, json.dumps(sealed(result), ensure_ascii=False, allow_nan=False).encode())


def listen(inwards: int, stopped: threading.Event) -> None:
    """Wait until the parent closes its end. Not through a buffer, whose lock would outlive the program."""
    while os.read(inwards, 1024):
        pass
    stopped.set()


def child_main(folder: Path) -> int:
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
    sys.exit(child_main(Path(sys.argv[1])))
