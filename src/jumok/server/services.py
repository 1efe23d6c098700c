"""What handlers share: models and their workers, metrics, limits, and what is open right now."""

import asyncio
import copy
import time
from collections.abc import Coroutine, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, TypeVar

from fastapi import Depends, Request

from jumok.decoding.translator import Translator
from jumok.server.analysis import Analyst
from jumok.server.gates.keys import Keys
from jumok.server.gates.limits import Limits
from jumok.server.gates.problems import Problem, busy, too_late, unknown_model
from jumok.server.metrics import Metrics
from jumok.server.settings import About, ServerSettings
from jumok.server.traces.cache import TraceCache
from jumok.server.traces.folder import TraceFolder
from jumok.server.translate.worker import Worker

T = TypeVar("T")

PATIENCE_S = 0.5
LOOK_S = 0.02


@dataclass(frozen=True)
class Served:
    """One model as clients know it."""

    name: str
    translator: Translator
    worker: Worker
    about: About

    @property
    def fingerprint(self) -> str:
        return str(self.translator.info.get("fingerprint", ""))

    @property
    def source(self) -> str:
        """Code of the language it reads; `und` where its folder does not say."""
        return self.translator.config.data.source_language or "und"

    @property
    def target(self) -> str:
        """Code of the language it writes; `und` where its folder does not say."""
        return self.translator.config.data.target_language or "und"


class StreamPlaces:
    """Places for open event streams; taking one more than there are is a 429."""

    def __init__(self, places: int) -> None:
        self.places, self.taken = places, 0

    @contextmanager
    def take(self) -> Iterator[None]:
        """One place while the block lasts."""
        if self.taken >= self.places:
            raise busy(f"all {self.places} event streams are taken")
        self.taken += 1
        try:
            yield
        finally:
            self.taken -= 1


class Turns:
    """One heavy analysis at a time for each client; a second one is a 429."""

    def __init__(self) -> None:
        self._busy: set[str] = set()

    async def take(self, request: Request) -> ExitStack:
        """The client's turn, until the stack is closed.

        A client that has just left one analysis for a newer one waits a moment, until the old one is gone.
        """
        client = request.client.host if request.client else ""
        until = time.monotonic() + PATIENCE_S
        while client in self._busy:
            if time.monotonic() > until:
                raise busy("an analysis of yours is still running")
            await asyncio.sleep(LOOK_S)
        self._busy.add(client)
        turn = ExitStack()
        turn.callback(self._busy.discard, client)
        return turn


@dataclass
class Services:
    """Everything a handler may use. Handlers get it as `Here`; it lives on `app.state.services`."""

    settings: ServerSettings
    models: Mapping[str, Served]
    metrics: Metrics
    keys: Keys
    analyst: Analyst
    """Runs traces, what-if, influence, sweeps, comparisons."""
    scorer: Analyst
    """Runs what is short, such as scoring, beside them."""
    streams: StreamPlaces
    traces: TraceCache
    """Traces in memory, for a while."""
    folder: TraceFolder | None
    """Where traces are kept for good, if anywhere."""
    turns: Turns = field(default_factory=Turns)
    draining: bool = False
    """The server is stopping: new requests are refused."""
    running: int = 0
    """Requests that are being answered."""
    tested: set[str] = field(default_factory=set)
    """Models that have passed their self-test."""

    @property
    def limits(self) -> Limits:
        return self.settings.limits

    def model(self, name: str | None) -> Served:
        """The model of this name; the first one if none is named; 404 for another."""
        if name is None and self.models:
            return next(iter(self.models.values()))
        if name is None or name not in self.models:
            raise unknown_model(list(self.models))
        return self.models[name]

    def close(self) -> None:
        """Ends all threads."""
        for served in self.models.values():
            served.worker.close()
        self.analyst.close()
        self.scorer.close()


def make_services(models: Mapping[str, Translator], settings: ServerSettings) -> Services:
    """Services for these models; a worker's thread starts with its first request."""
    metrics = Metrics()
    served = {}
    for name, given in models.items():
        translator = without_paths(given)
        about = settings.about.get(name, About())
        worker = Worker(name, translator, settings.limits, metrics)
        served[name] = one = Served(name, translator, worker, about)
        arch = translator.config.model.arch
        metrics.model_info.labels(model=name, arch=arch, fingerprint=one.fingerprint[:16]).set(1)
        metrics.load_seconds.labels(model=name).set(about.load_s)
        metrics.queue_length.labels(model=name).set(0)
    return Services(
        settings,
        served,
        metrics,
        Keys(settings.keys),
        Analyst(),
        Analyst("score"),
        StreamPlaces(settings.limits.streams),
        TraceCache(settings.limits, metrics),
        TraceFolder(settings.keep) if settings.keep else None,
    )


def without_paths(translator: Translator) -> Translator:
    """The translator as clients may use it: what they send is never the name of a file here."""
    reader = translator.tokenizers.pictures
    if reader is None:
        return translator
    other = copy.copy(translator)
    other.tokenizers = replace(translator.tokenizers, source=reader.without_paths())
    return other


def services_of(request: Request) -> Services:
    found: Services = request.app.state.services
    return found


Here = Annotated[Services, Depends(services_of)]
"""The type of a handler's argument that wants the services."""


def deadline_of(request: Request, limits: Limits) -> float:
    """When the answer is due, on the monotonic clock: a while after receipt."""
    began: float = getattr(request.state, "began", time.monotonic())
    return began + limits.deadline_s


async def answered(request: Request, services: Services, work: Coroutine[Any, Any, T]) -> T:
    """What `work` gives, unless the client goes away or the deadline passes: then it is cancelled."""
    task = asyncio.ensure_future(work)
    gone = asyncio.ensure_future(disconnected(request))
    left = deadline_of(request, services.limits) - time.monotonic()
    try:
        await asyncio.wait({task, gone}, timeout=max(left, 0), return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            return task.result()
        if gone.done():
            raise Problem(400, "gone", "the client went away")
        raise too_late(services.limits.deadline_s)
    finally:
        for one in (task, gone):
            one.cancel()
        await asyncio.gather(task, gone, return_exceptions=True)


async def disconnected(request: Request) -> None:
    """Returns when the client has gone away. The body must have been read."""
    while (await request.receive())["type"] != "http.disconnect":
        pass
