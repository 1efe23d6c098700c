"""An experiment carried out: each entry trained and measured in a child process, one after the other.

A child that fails or is killed is recorded, and the others go on. Run again, finished entries are kept and
the rest go on where they stopped.
"""

import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from jumok.checkpoint.folder import replace_file
from jumok.comparison.child import JOB, MEASURED, EntryJob
from jumok.comparison.entry import ComparisonEntry
from jumok.comparison.experiment import ENTRIES, TEST, Experiment, data_folder
from jumok.progress import Progress, silent

COMMAND = (sys.executable, "-m", "jumok.comparison.child")
LOOK = 0.2  # seconds between two looks at whether somebody interrupts
LAST_WORDS = 2000  # characters of a child's log that may hold the reason of its end
AGAIN = "run the same command again to go on"
MEMORY = "the system may have run out of memory: choose a smaller model or training.batch_tokens"

Event = Mapping[str, Any]


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
            measured = carried_out(folder, job, callbacks)
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
        result = json.loads((folder / MEASURED).read_bytes())
        measured: dict[str, Any] | None = result["measured"] if result["key"] == job.key else None
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return measured


def carried_out(folder: Path, job: EntryJob, callbacks: ExperimentCallbacks) -> dict[str, Any] | None:
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
