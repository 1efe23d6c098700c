"""An experiment carried out: each entry trained and measured in a child process, one after the other.

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
from collections.abc import Callable, Iterator, Mapping
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
    on_event: Callable[[Event], None] = lambda event: None  # of the entry's run
    on_end: Callable[[int, ComparisonEntry, Event], None] = lambda number, entry, measured: None
    progress: Progress = silent
    interrupted: Callable[[], bool] = lambda: False


def conduct(experiment: Experiment, callbacks: ExperimentCallbacks) -> dict[str, dict[str, Any]] | None:
    """What was measured, by the entries' names; others have a status and an error. None: interrupted."""
    found: dict[str, dict[str, Any]] = {}
    for number, entry in enumerate(experiment.entries, start=1):
        job = job_for(experiment, entry)
        folder = experiment.out / ENTRIES / entry.folder
        measured = kept(folder, job)
        if measured is None and not callbacks.interrupted():
            callbacks.on_entry(number, entry)
            measured = run_child(folder, job, callbacks)
        if measured is None:
            return None
        found[entry.name] = measured
        callbacks.on_end(number, entry, measured)
    return found


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


def run_child(folder: Path, job: EntryJob, callbacks: ExperimentCallbacks) -> dict[str, Any] | None:
    """Start the child, pass on what it says, and read what it measured; None when it was interrupted."""
    folder.mkdir(parents=True, exist_ok=True)
    told = json.dumps(asdict(job), ensure_ascii=False, indent=1, default=str)
    replace_file(folder / JOB, told.encode())
    log = folder / "log.txt"
    status, error = "failed", None
    command, pipe = [*COMMAND, str(folder)], subprocess.PIPE
    with log.open("wb") as said, ChildProcess(command, stdin=pipe, stdout=pipe, stderr=said) as child:
        for line in lines_of(child, callbacks.interrupted):
            match line["type"]:
                case "event":
                    callbacks.on_event(line["event"])
                case "progress":
                    callbacks.progress(line["what"], line["done"], line["total"])
                case "error":
                    error = {key: line[key] for key in ("message", "where", "hint")}
                case "stopped":
                    error = {"message": "the process was told to stop", "where": str(log), "hint": AGAIN}
                    status = "stopped"
        code = child.wait()
    if code == 0 and (measured := kept(folder, job)) is not None:
        return measured
    if callbacks.interrupted():
        return None
    return {"status": status, "error": error or last_words(code, log)}


class ChildProcess(subprocess.Popen[bytes]):
    """A process that does not outlive the block it is used in: what has not ended then is ended."""

    def __exit__(self, *error: object) -> None:
        if error[0] is not None:
            self.kill()
        super().__exit__(*error)  # type: ignore[arg-type]


def lines_of(child: ChildProcess, interrupted: Callable[[], bool]) -> Iterator[dict[str, Any]]:
    """The child's lines until it ends; an interruption closes its input, which tells it to save and end."""
    assert child.stdin is not None
    assert child.stdout is not None
    rest = b""  # one cut short is the last of a child that was killed
    while True:
        if interrupted() and not child.stdin.closed:
            child.stdin.close()
        if select.select([child.stdout], [], [], LOOK)[0]:
            if not (said := os.read(child.stdout.fileno(), 1 << 16)):
                return
            *lines, rest = (rest + said).split(b"\n")
            yield from map(json.loads, lines)


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
