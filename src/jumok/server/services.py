"""What handlers share: models and their workers, metrics, limits, and what is open right now."""

import asyncio
import copy
import time
from collections import OrderedDict, deque
from collections.abc import Coroutine, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import Annotated, Any, TypeVar

from fastapi import Depends, Request

from jumok.decoding.translator import Translator
from jumok.errors import ConfigError, DataError, nearest
from jumok.server.analysis import Analyst
from jumok.server.documents.desk import DocumentDesk
from jumok.server.gates.keys import Keys
from jumok.server.gates.limits import Limits
from jumok.server.gates.problems import Problem, busy, too_late
from jumok.server.metrics import Metrics
from jumok.server.runs.catalog import Runs
from jumok.server.runs.evals import Evals
from jumok.server.settings import ModelNotes, ServerSettings
from jumok.server.traces.cache import TraceCache
from jumok.server.traces.folder import TraceFolder
from jumok.server.trainer.trainer import Trainer
from jumok.server.translate.worker import Worker
from jumok.terms.corrections import CorrectionFile
from jumok.terms.memory import TranslationMemory, read_memory
from jumok.text.frame import Direction

T = TypeVar("T")

PATIENCE_S = 0.5
MINUTE_S = 60.0
MOST_CLIENTS = 10_000  # whose pace is remembered
LOOK_S = 0.02


@dataclass(frozen=True)
class ServedModel:
    """One model as clients know it."""

    name: str
    translator: Translator
    worker: Worker
    about: ModelNotes
    memory: TranslationMemory | None = None
    """What is reused instead of being translated."""

    @property
    def fingerprint(self) -> str:
        return str(self.translator.info.get("fingerprint", ""))

    @property
    def labels(self) -> dict[str, str]:
        """What the metrics call it."""
        arch = self.translator.config.model.arch
        return {"model": self.name, "arch": arch, "fingerprint": self.fingerprint[:16]}

    @property
    def source(self) -> str:
        """Code of the language it reads; `und` where its folder does not say, `mul` for several."""
        return self._only(one.source for one in self.directions)

    @property
    def target(self) -> str:
        """Code of the language it writes; `und` where its folder does not say, `mul` for several."""
        return self._only(one.target for one in self.directions)

    @property
    def directions(self) -> tuple[Direction, ...]:
        """What it translates: the one that was chosen, else all."""
        chosen = self.translator.tokenizers.direction
        return (chosen,) if all(chosen) else self.translator.directions

    @staticmethod
    def _only(codes: Iterable[str]) -> str:
        found = {code or "und" for code in codes}
        return found.pop() if len(found) == 1 else "mul"

    def facing(self, to: str | None, from_language: str | None) -> "ServedModel":
        """The same model for one of its directions."""
        translator = self.translator.towards(to or "", from_language or "")
        return self if translator is self.translator else replace(self, translator=translator)


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


class Pace:
    """How often each client may do something in a minute; more is a 429."""

    def __init__(self, most: int) -> None:
        self.most, self._times = most, OrderedDict[str, deque[float]]()

    def take(self, request: Request) -> None:
        """Count one."""
        now, client = time.monotonic(), request.client.host if request.client else ""
        times = self._times.setdefault(client, deque(maxlen=self.most))
        self._times.move_to_end(client)
        if len(self._times) > MOST_CLIENTS:
            self._times.popitem(last=False)
        if len(times) == self.most and now - times[0] < MINUTE_S:
            wait = int(MINUTE_S - (now - times[0])) + 1
            raise busy(f"{self.most} corrections a minute are taken from one client", "too_often", wait)
        times.append(now)


class Services:
    """Everything a handler may use. Handlers get it as `SharedServices`; it lives on `app.state.services`.

    A model's thread starts with its first request.
    """

    def __init__(self, models: Mapping[str, Translator], settings: ServerSettings) -> None:
        self.settings = settings
        self.metrics, self.several = Metrics(), len(models) > 1
        self.models = {
            name: self.make(name, translator, settings.about.get(name, ModelNotes()))
            for name, translator in models.items()
        }
        for served in self.models.values():
            self._announce(served)
        if settings.memory and not any(served.memory for served in self.models.values()):
            raise ConfigError(
                f"{settings.memory} is a memory for none of these models",
                hint="give one of their languages",
                code="other_language",
            )
        self.keys, self.hosts = Keys(settings.keys), settings.hosts()
        self.analyst = Analyst()
        """Runs traces, what-if, influence, sweeps, comparisons."""
        self.scorer = Analyst("score")
        """Runs what is short, such as scoring, beside them."""
        self.streams = StreamPlaces(settings.limits.streams)
        self.turns = Turns()
        self.traces = TraceCache(settings.limits, self.metrics)
        """Traces in memory, for a while."""
        self.folder = TraceFolder(settings.keep) if settings.keep else None
        """Where traces are kept for good, if anywhere."""
        self.documents = DocumentDesk(settings.limits, self.metrics, self._someone_waits)
        """Documents that clients have sent, and the jobs that translate them."""
        self.corrections = CorrectionFile(settings.remember) if settings.remember else None
        """Where corrections are kept, if anywhere."""
        self.pace = Pace(settings.limits.corrections)
        self.evals = Evals(Runs(settings.runs, settings.train_in if settings.trains else None))
        """The evaluations, and with them the runs, that this server shows."""
        self.trainer: Trainer | None = None
        """What trains models from the page, if it may; set with the application."""
        self.draining = False
        """The server is stopping: new requests are refused."""
        self.running = 0
        """Requests that are being answered."""
        self.asking = 0
        """Those of them for a plain translation, from their first byte to the last of the answer."""
        self.tested: set[str] = set()
        """Models that have passed their self-test."""
        self._trained = deque[str]()

    def make(self, name: str, given: Translator, about: ModelNotes) -> ServedModel:
        """A model that can be served, with its memory and a worker of its own."""
        translator = without_paths(given)
        worker = Worker(name, translator, self.settings.limits, self.metrics)
        return ServedModel(name, translator, worker, about, self._memory(translator))

    def _announce(self, served: ServedModel) -> None:
        self.metrics.model_info.labels(**served.labels).set(1)
        self.metrics.load_seconds.labels(model=served.name).set(served.about.load_s)
        self.metrics.queue_length.labels(model=served.name).set(0)

    def replace(self, served: ServedModel) -> None:
        """Let another model answer under its name from now on; the old one finishes the requests it has."""
        old = self.models[served.name]
        self.models[served.name] = served
        self.metrics.model_info.remove(*old.labels.values())
        self._announce(served)
        old.worker.retire()

    def add(self, served: ServedModel) -> None:
        """Serve a model that was trained here, too; beyond the limit the oldest of them goes."""
        self.models[served.name] = served
        self._announce(served)
        self.tested.add(served.name)
        self._trained.append(served.name)
        if len(self._trained) > self.limits.trained_models:
            old = self.models.pop(self._trained.popleft())
            self.metrics.model_info.remove(*old.labels.values())
            old.worker.retire()

    def _someone_waits(self) -> bool:
        """Whether a plain request is being answered."""
        return self.asking > 0 or any(served.worker.busy for served in self.models.values())

    def _memory(self, translator: Translator) -> TranslationMemory | None:
        """The memory for a model; one of other languages is not its own."""
        data = translator.config.data
        several = len(translator.directions) > 1  # a memory is of one pair of languages
        if not self.settings.memory or several or translator.tokenizers.pictures is not None:
            return None
        try:
            return read_memory(self.settings.memory, (data.source_language, data.target_language))
        except (DataError, ConfigError) as error:
            if self.several and error.code in ("other_language", "bad_columns"):
                return None
            raise

    @property
    def limits(self) -> Limits:
        return self.settings.limits

    def model(self, name: str | None) -> ServedModel:
        """The model of this name, or of this alias; the first one if none is named; 404 for another."""
        if name is None and self.models:
            return next(iter(self.models.values()))
        if name in self.models:
            return self.models[name]
        if name is None or not self.models:
            raise Problem(404, "unknown_model", "no model is loaded")
        aliases = {alias: one for one in self.models.values() for alias in one.about.aliases}
        if name not in aliases:
            hint = nearest(name, [*self.models, *aliases], nearest("", self.models))
            raise Problem(404, "unknown_model", hint)
        return aliases[name]

    def close(self) -> None:
        """Ends all threads, takes away what lies on disk for a while, and lets go of the corrections."""
        if self.corrections is not None:
            self.corrections.close()
        for served in self.models.values():
            served.worker.close()
        self.analyst.close()
        self.scorer.close()
        self.documents.close()


def without_paths(translator: Translator) -> Translator:
    """The translator as clients may use it: what they send is never the name of a file here."""
    reader = translator.tokenizers.pictures
    if reader is None:
        return translator
    other = copy.copy(translator)
    other.tokenizers = replace(translator.tokenizers, source=reader.without_paths())
    return other


async def services_of(request: Request) -> Services:
    """Not in a thread of its own, as FastAPI runs what is not a coroutine."""
    found: Services = request.app.state.services
    return found


SharedServices = Annotated[Services, Depends(services_of)]
"""The type of a handler's argument that wants the services."""


def deadline_of(request: Request, limits: Limits) -> float:
    """When the answer is due, on the monotonic clock: a while after receipt."""
    began: float = getattr(request.state, "began", time.monotonic())
    return began + limits.deadline_s


async def answer_in_time(request: Request, services: Services, work: Coroutine[Any, Any, T]) -> T:
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
