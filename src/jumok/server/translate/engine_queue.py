"""Jobs that wait for an engine that answers whole sentences, a few at a time.

Between two calls others step, leave and join: a call has few sentences, so that nobody waits long.
"""

import time
from collections.abc import Hashable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Generic, TypeVar

from jumok.answers import Answer
from jumok.decoding.engines import NativeEngine
from jumok.decoding.jobs import Job, Request, cost
from jumok.server.translate.pace import SearchPace

Key = TypeVar("Key", bound=Hashable)
Outcome = tuple[Key, list[Answer] | Exception]
"""The key of a job, and its answers, best first, or what went wrong with it."""

WORK = 8192
"""Beam-tokens of one call."""


@dataclass(frozen=True)
class EngineJob:
    """One job as it was asked for."""

    job: Job
    request: Request
    engine: NativeEngine


class EngineQueue(Generic[Key]):
    """Jobs in the order in which they came. There are no threads in here: one caller steps.

    How long each call took is told to `pace`.
    """

    def __init__(self, pace: SearchPace) -> None:
        self._pace = pace
        self._waiting: dict[Key, EngineJob] = {}

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, key: Key, job: Job, request: Request, engine: NativeEngine) -> None:
        """Let a job take part from the next step on."""
        self._waiting[key] = EngineJob(job, request, engine)

    def cancel(self, key: Key) -> None:
        """Forget a job. A key that is not here is no error."""
        self._waiting.pop(key, None)

    def step(self, most: float = WORK) -> list[Outcome[Key]]:
        """The answers to the first job and to others that are asked for in the same way, within one call.

        The others have at most so many beam-tokens, with those of the first.
        """
        keys, work = list[Key](), 0
        for key, item in self._waiting.items():
            first = self._waiting[keys[0]] if keys else item
            if kind_of(item) != kind_of(first):
                continue
            more = cost(item.job, item.request.decoding)
            if keys and work + more > most:
                break
            work += more
            keys.append(key)
        began = time.perf_counter()
        found = answer_all({key: self._waiting.pop(key) for key in keys})
        self._pace.measured(work, time.perf_counter() - began)
        return found


def kind_of(item: EngineJob) -> tuple[object, ...]:
    """What jobs must share to be searched in one call."""
    request = item.request
    return request.decoding, request.ban, request.align, request.shortlist, item.engine


def answer_all(items: dict[Key, EngineJob]) -> list[Outcome[Key]]:
    """The answers to jobs of one kind; where they fail answer_together, to each by itself."""
    if not items:
        return []
    try:
        return list(zip(items, answer_together(list(items.values())), strict=True))
    except Exception as error:  # whatever it is, it belongs to one of them
        if len(items) == 1:
            return [(next(iter(items)), error)]
        return [outcome for key, item in items.items() for outcome in answer_all({key: item})]


def answer_together(items: Sequence[EngineJob]) -> list[list[Answer]]:
    """The answers to each job, in one call; equal jobs are searched once."""
    found: dict[Job, list[Answer]] = {}
    todo, first = list(dict.fromkeys(item.job for item in items)), items[0]
    for batch, answers in first.engine.answers(todo, first.request, lambda _: nullcontext()):
        found.update(zip(batch, answers, strict=True))
    return [found[item.job] for item in items]
