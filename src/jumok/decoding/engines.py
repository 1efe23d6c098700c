"""Engines: what computes the answers. Torch does everything, native the plain search only, and faster.

Nothing here imports torch. `docs/engines.md` says which engine is chosen when.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from functools import cached_property
from threading import Lock
from typing import TYPE_CHECKING, Literal, Protocol, get_args

from jumok.answers import Answer
from jumok.checkpoint.contents import Contents, read_shortlist
from jumok.decoding.jobs import Job, Request
from jumok.errors import ConfigError, nearest
from jumok.native.library import thread_count
from jumok.native.model import NativeModel, SearchOptions
from jumok.native.shortlist import Shortlist

if TYPE_CHECKING:
    from jumok.decoding.torch_engine import TorchEngine

EngineName = Literal["auto", "native", "torch"]
ENGINES: tuple[EngineName, ...] = get_args(EngineName)

Explained = Callable[[Sequence[Job]], AbstractContextManager[None]]
"""Around the work for some jobs: turns a model's troubles with them into errors that say what to do."""
Answers = Iterator[tuple[list[Job], list[list[Answer]]]]
"""Some jobs at a time, and the answers to each, best first."""
Scores = Iterator[tuple[list[Job], list[list[float]]]]
"""Some jobs at a time, and the log-probability of each target token and of the end."""


class Engine(Protocol):
    """A model and one way to compute its answers."""

    @property
    def name(self) -> str:
        """As `--engine` names it."""
        ...

    @property
    def contents(self) -> Contents:
        """The folder that the model came from."""
        ...

    @property
    def strict(self) -> bool:
        """It was chosen by name: what it lacks is an error, not work for torch."""
        ...

    @property
    def about(self) -> dict[str, str]:
        """What people should know of it: its name, the type of its numbers, its instructions."""
        ...

    def lacks(self, request: Request) -> str:
        """An option that is asked for and that this engine does not have; "" if there is none."""
        ...

    def answers(self, jobs: Sequence[Job], request: Request, explained: Explained) -> Answers:
        """The answers to all jobs, in an order that suits the engine."""
        ...

    def scores(self, jobs: Sequence[Job], budget: int, explained: Explained) -> Scores:
        """How probable each job's prefix is as a whole target; `budget` as in `batch_tokens`."""
        ...

    def to_torch(self) -> "TorchEngine":
        """The same model in torch, for what this engine lacks."""
        ...


def check_engine(name: str) -> EngineName:
    """The name, if it is one."""
    for known in ENGINES:
        if name == known:
            return known
    if name == "ctranslate2":
        hint = "choose native on a CPU; jumok export ctranslate2 writes folders for CTranslate2 itself"
        raise ConfigError("jumok does not run CTranslate2", hint=hint)
    raise ConfigError(f"there is no engine {name!r}", hint=nearest(name, ENGINES))


def first_lack(request: Request) -> str:
    """The first option that only torch has."""
    config = request.decoding
    options = {
        "sample": config.sample,
        "mbr": config.mbr,
        "ban": request.ban,
        "require": request.require,
        "no_repeat_ngram": config.no_repeat_ngram,
    }
    return next((name for name, value in options.items() if value), "")


def no_shortlist() -> ConfigError:
    """The error for a shortlist where torch computes."""
    return ConfigError(
        "a shortlist is for the plain search of the native engine, and torch computes here",
        hint="leave out --shortlist, or what needs torch; docs/engines.md lists it",
        code="engine_lacks",
    )


def cannot(engine: str, what: str) -> ConfigError:
    """The error for an engine that someone has chosen and that does not have what they ask for."""
    instead = "search with --beam N" if what in ("mbr", "sample") else f"leave out {what}"
    return ConfigError(
        f"the {engine} engine has no {what}",
        hint=f"{instead}, or choose --engine auto or torch",
        code="engine_lacks",
    )


SENTENCES = 256
"""Of one call of the library: enough to sort by length, few enough that an interrupt is soon heard."""
EACH = 32
"""And so many for each thread."""


class NativeEngine:
    """A model in the C library. Threads may share it."""

    name = "native"

    def __init__(self, model: NativeModel, contents: Contents, *, strict: bool = False) -> None:
        self.model, self.contents, self.strict = model, contents, strict
        self._torch: TorchEngine | None = None
        self._lock = Lock()

    @property
    def about(self) -> dict[str, str]:
        return {"name": self.name, "type": self.model.type, "level": self.model.level}

    @cached_property
    def shortlist(self) -> Shortlist:
        """That of the folder, read when it is first asked for."""
        return read_shortlist(self.contents)

    def lacks(self, request: Request) -> str:
        return first_lack(request)

    def answers(self, jobs: Sequence[Job], request: Request, explained: Explained) -> Answers:
        config, shortlist = request.decoding, self.shortlist if request.shortlist else None
        options = SearchOptions.of(config)
        for batch in chunks(jobs):
            limits = [job.limit(config) for job in batch]
            prefixes = [job.prefix for job in batch] if any(job.prefix for job in batch) else None
            lists = [shortlist.ids(job.source, job.prefix) for job in batch] if shortlist else None
            with explained(batch):
                answers = self.model.search(
                    [job.source for job in batch], limits, options, prefixes=prefixes, shortlists=lists
                )
            yield batch, answers

    def scores(self, jobs: Sequence[Job], budget: int, explained: Explained) -> Scores:
        for batch in chunks(jobs):
            with explained(batch):
                log_probs = self.model.score([job.source for job in batch], [job.prefix for job in batch])
            yield batch, log_probs

    def to_torch(self) -> "TorchEngine":
        from jumok.checkpoint.model import load_packed
        from jumok.decoding.torch_engine import TorchEngine

        with self._lock:
            if self._torch is None:
                self._torch = TorchEngine(load_packed(self.contents, self.model.parts).model, self.contents)
            return self._torch


def chunks(jobs: Sequence[Job]) -> Iterator[list[Job]]:
    """Jobs of similar length, longest first, a call's worth at a time."""
    order = sorted(jobs, key=lambda job: len(job.source) + len(job.prefix), reverse=True)
    size = max(SENTENCES, EACH * thread_count())
    for begin in range(0, len(order), size):
        yield order[begin : begin + size]
