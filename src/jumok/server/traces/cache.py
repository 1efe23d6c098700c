"""The traces that are kept for a while: so many, so many bytes together, so long; the oldest go first."""

import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field

from jumok.explain.trace import Trace
from jumok.server.gates.limits import Limits
from jumok.server.metrics import Metrics

LIFETIME_S = 30 * 60


@dataclass
class CachedTrace:
    """One trace, and the requests that it answers."""

    trace: Trace
    used: float
    extra: dict[str, int] = field(default_factory=dict)
    """Bytes of what was worked out about it since, such as its beam."""
    questions: set[str] = field(default_factory=set)

    @property
    def nbytes(self) -> int:
        """It grows as stages of the trace are asked for."""
        return self.trace.nbytes + sum(self.extra.values())


class TraceCache:
    """Traces by id. A dropped one is no loss: the same request makes the same trace again.

    It belongs to the event loop: no other thread calls it.
    """

    def __init__(
        self, limits: Limits, metrics: Metrics, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.limits, self.metrics, self.clock = limits, metrics, clock
        self._kept: OrderedDict[str, CachedTrace] = OrderedDict()
        self._questions: dict[str, str] = {}
        metrics.cache_bytes.set(0)

    def __len__(self) -> int:
        return len(self._kept)

    def get(self, id: str) -> CachedTrace | None:
        """The trace of this id, if it is still there; it is then the last one used."""
        self.trim()
        found = self._kept.get(id)
        if found is None:
            self.metrics.cache_misses.inc()
            return None
        self.metrics.cache_hits.inc()
        found.used = self.clock()
        self._kept.move_to_end(id)
        return found

    def answering(self, question: str) -> CachedTrace | None:
        """The trace that a request like this one made, if it is still there."""
        id = self._questions.get(question)
        return self.get(id) if id is not None else None

    def put(self, trace: Trace, question: str = "") -> CachedTrace:
        """Keep a trace; `question` names the request that it answers.

        One of this id that is there stays, unless only the new one has its model.
        """
        kept = self._kept.setdefault(trace.id, CachedTrace(trace, self.clock()))
        kept.used = self.clock()
        if kept.trace.translator is None:
            kept.trace = trace
        self._kept.move_to_end(trace.id)
        if question:
            kept.questions.add(question)
            self._questions[question] = trace.id
        self.trim()
        return kept

    def trim(self) -> None:
        """Drop what is too old or too much. The last one used stays, however large it is."""
        oldest = self.clock() - LIFETIME_S
        for id in [id for id, one in self._kept.items() if one.used < oldest]:
            self._drop(id)
        sizes = {id: one.nbytes for id, one in self._kept.items()}
        total = sum(sizes.values())
        while len(self._kept) > 1 and (
            len(self._kept) > self.limits.traces or total > self.limits.traces_bytes
        ):
            first = next(iter(self._kept))
            total -= sizes[first]
            self._drop(first)
        self.metrics.cache_bytes.set(total)

    def _drop(self, id: str) -> None:
        for question in self._kept.pop(id).questions:
            self._questions.pop(question, None)  # ties may give one question two traces
