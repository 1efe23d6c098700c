"""The one run that a server trains at a time: a process, started, paused, gone on with and stopped.

To pause is to end the process, which saves, and to go on is to start it again: a run goes on exactly where it
was, and meanwhile takes no memory. Nobody need look on: the run goes on when a page is closed, until its time
is up or the server stops, which pauses it.
"""

import asyncio
import logging
import os
import shutil
from asyncio.subprocess import DEVNULL, Process
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from pathlib import Path

from jumok.errors import Error
from jumok.server.gates.problems import Problem
from jumok.server.trainer.order import TrainingOrder
from jumok.server.trainer.pairs import write_pairs
from jumok.server.trainer.schema import Status, TrainingOut, TrainingRequest

log = logging.getLogger("jumok.server")

PATIENCE_S = 40.0  # until a process that was asked to end is ended; of itself it takes 20 s at most
ROOM = 64 << 20  # bytes that must be free on the disk
LAST = ("done", "failed")
Bring = Callable[[str, Path], Awaitable[None]]
"""Loads the model of a run folder and serves it under a name."""


class PageRun:
    """A run from its start to the model that it becomes. It belongs to the event loop."""

    def __init__(self, order: TrainingOrder, bring: Bring) -> None:
        self.order, self.bring = order, bring
        self.status: Status = "starting"
        self.problem: str | None = None
        self.model: str | None = None
        self._wanted: Status = "done"
        self._process: Process | None = None
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin, or go on."""
        self.status, self.problem, self._wanted = "starting", None, "done"
        self._task = asyncio.get_running_loop().create_task(self._live())

    async def act(self, action: str) -> None:
        """Pause, go on, or stop and keep what was learned; 409 where that cannot be."""
        match action, self.status:
            case "pause" | "stop", "starting" | "running":
                self._end("paused" if action == "pause" else "done")
            case "stop", "pausing":
                self.status, self._wanted = "stopping", "done"
            case "stop", "paused":
                self.status = "loading"
                self._task = asyncio.get_running_loop().create_task(self._bring())
            case "resume", "paused" | "failed":
                self.start()
            case _:
                raise Problem(409, "training_state", f"a run that is {self.status} cannot {action}")

    def _end(self, wanted: Status) -> None:
        self.status = "pausing" if wanted == "paused" else "stopping"
        self._wanted = wanted
        if self._process is not None:
            with suppress(ProcessLookupError):
                self._process.terminate()

    async def _live(self) -> None:
        """From the start of the process to what becomes of it."""
        try:
            code = await self._run()
        except OSError as error:
            self._fail(f"the training process cannot be started: {error.strerror}")
            return
        except Exception:
            log.exception("training failed")
            self._fail("the server failed; its log says more")
            return
        self._process = None
        if code == 0 or (self.status == "stopping" and self._wanted == "done"):
            await self._bring()
        elif self._wanted == "paused":
            self.status = "paused"
        else:
            self._fail(self.order.complaint(code))

    async def _run(self) -> int:
        before = size_of(self.order.events)
        with self.order.log.open("ab") as said:
            self._process = process = await asyncio.create_subprocess_exec(
                *self.order.command,
                stdin=DEVNULL,
                stdout=DEVNULL,
                stderr=said,
                env={**os.environ, "NO_COLOR": "1"},
                start_new_session=True,  # Ctrl-C in the server's terminal is the server's to pass on
            )
        if self.status != "starting":  # someone was faster
            process.terminate()
        waiting = asyncio.ensure_future(process.wait())
        while not waiting.done():
            late = self.status in ("pausing", "stopping")
            done, _ = await asyncio.wait({waiting}, timeout=PATIENCE_S if late else 0.25)
            if not done and late:
                process.kill()
            if self.status == "starting" and size_of(self.order.events) > before:
                self.status = "running"
        return waiting.result()

    async def _bring(self) -> None:
        """Serve the best model so far."""
        self.status = "loading"
        try:
            await self.bring(self.order.name, self.order.run)
        except (Error, Problem) as error:
            said = error.sentence if isinstance(error, Problem) else error.message
            self._fail(f"there is no model to show yet: {self.order.without_place(said)}")
        except Exception:
            log.exception("the model of a run could not be loaded")
            self._fail("the model could not be loaded; the server's log says more")
        else:
            self.status, self.model = "done", self.order.name

    def _fail(self, problem: str) -> None:
        self.status, self.problem = "failed", problem

    async def close(self) -> None:
        """Pause, and wait until the process has saved and ended."""
        if self.status in ("starting", "running"):
            self._end("paused")
        if self._task is not None:
            await asyncio.wait({self._task}, timeout=PATIENCE_S)

    def describe(self, step: int | None = None, elapsed: float | None = None) -> TrainingOut:
        """How it stands; how far it has come is in its files."""
        order = self.order
        return TrainingOut(
            run=order.name,
            status=self.status,
            arch=order.request.arch,
            pairs=order.pairs,
            step=step,
            elapsed_s=elapsed,
            seconds=order.request.seconds,
            model=self.model,
            problem=self.problem,
            command=order.shown,
        )


class Trainer:
    """What a server trains: one run at a time, into one folder. It belongs to the event loop."""

    def __init__(self, folder: Path, bring: Bring) -> None:
        self.folder, self.bring = folder, bring
        self.current: PageRun | None = None
        self._beginning = False

    async def begin(
        self, request: TrainingRequest, texts: dict[str, str], pairs: int, taken: Iterable[str]
    ) -> PageRun:
        """A run of these texts; 409 while there is another, 507 where there is no room for it."""
        if self._beginning or (self.current is not None and self.current.status not in LAST):
            raise Problem(409, "training_busy", "a model is being trained here already: stop that run first")
        self._beginning = True
        try:
            name = free_name(request.name or f"page-{request.arch}", {*taken})
            paths = await asyncio.to_thread(self._write, name, texts)
        finally:
            self._beginning = False
        self.current = PageRun(TrainingOrder(name, self.folder, paths, pairs, request), self.bring)
        self.current.start()
        return self.current

    def find(self, run: str) -> PageRun:
        """The run of this name; 404 for another."""
        if self.current is None or self.current.order.name != run:
            raise Problem(404, "unknown_training", "this server is not training a run of that name")
        return self.current

    def names(self) -> set[str]:
        """What lies in the folder: no run may be called like any of it."""
        with suppress(OSError):
            return {path.name.partition(".")[0] for path in self.folder.iterdir()}
        return set()

    def _write(self, name: str, texts: dict[str, str]) -> tuple[Path, ...]:
        """The pairs as files; 507 where they find no room."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            free = shutil.disk_usage(self.folder).free
            if free < ROOM:
                reason = f"the disk has {free >> 20} MiB left, and {ROOM >> 20} are the least for a run"
                raise Problem(507, "disk_full", reason)
            return tuple(write_pairs(self.folder, name, texts))
        except OSError as error:
            said = f"the folder for training runs cannot be written to: {error.strerror}"
            raise Problem(507, "unwritable", said) from None

    async def close(self) -> None:
        if self.current is not None:
            await self.current.close()


def size_of(path: Path) -> int:
    with suppress(OSError):
        return path.stat().st_size
    return 0


def free_name(wanted: str, taken: set[str]) -> str:
    """The name, or with the first number that makes it one of its own."""
    number, name = 1, wanted
    while name in taken:
        number += 1
        name = f"{wanted}-{number}"
    return name
