"""Orders that are answered in the event loop: a thread would take longer to begin than their searches take.

Python runs one thread at a time. Handing a sentence to a worker and its answer back wakes two of them, mostly
on other cores with cold caches: for a model that answers in a fifth of a millisecond this costs more than the
search. All that has come by the time of a turn is searched together, as in a worker's batch.
"""

import asyncio
import time
from collections.abc import Callable

from jumok.decoding.engines import NativeEngine
from jumok.decoding.jobs import Job
from jumok.server.gates.limits import Limits
from jumok.server.gates.problems import too_late
from jumok.server.translate.engine_queue import EngineQueue
from jumok.server.translate.order import DecodingOrder
from jumok.server.translate.pace import SearchPace
from jumok.server.translate.ticket import Ticket

SHORT_S = 0.002
"""Of an order, by the pace so far: for so long nobody else is served."""
SHORT_WORK = 2048
"""Beam-tokens of an order, however quick the model: a search may fill all its places, and most fill few."""
TURN_S = 0.004
"""Of a turn, by the pace so far; then it is the turn of whoever else waits for the event loop."""

Ended = Callable[[Ticket, Job | None, Exception | None], None]
"""Told of a ticket that is done: all is found, or an error ended it, perhaps that of one job."""


class ShortOrders:
    """The short orders of one worker. Everything runs in the event loop, `ended` too."""

    def __init__(self, pace: SearchPace, limits: Limits, ended: Ended) -> None:
        self._pace, self._limits, self._ended = pace, limits, ended
        self._queue = EngineQueue[tuple[Ticket, Job]](pace)
        self._tickets: dict[Ticket, None] = {}  # in the order in which they came
        self._loop: asyncio.AbstractEventLoop | None = None

    def __len__(self) -> int:
        """How many wait."""
        return len(self._tickets)

    def suit(self, order: DecodingOrder) -> bool:
        """Whether an order is short.

        To choose the most typical of many draws is another kind of work, and a search that must or must not
        write something may take many times as long as the pace says.
        """
        quick = order.cost <= SHORT_WORK and self._pace.forecast(order.cost) <= SHORT_S
        bound = order.request.ban or any(job.phrases for job in order.costs)
        return quick and not (bound or order.request.decoding.mbr)

    def add(self, ticket: Ticket, engine: NativeEngine) -> None:
        """Search for its answers as soon as all that has come with it was read."""
        if not self._tickets or self._loop is not ticket.loop:  # who waited in another one has gone with it
            self._loop = ticket.loop
            ticket.loop.call_soon(self._turn)
        self._tickets[ticket] = None
        for job in ticket.waiting:
            self._queue.add((ticket, job), job, ticket.order.request, engine)

    def _turn(self) -> None:
        """Searches that are asked for in the same way, for a while; the others have the next turn."""
        try:
            self._drop_late()
            self._search()
        except Exception as error:  # a fault of ours: all who wait hear of it, the next ones are served
            for ticket in list(self._tickets):
                self._end(ticket, None, error)
        if self._tickets and self._loop is not None:
            self._loop.call_soon(self._turn)

    def _drop_late(self) -> None:
        """Take out who is gone or out of time."""
        now = time.monotonic()
        for ticket in [one for one in self._tickets if one.gone or now > one.deadline]:
            self._end(ticket, None, too_late(self._limits.deadline_s))

    def _search(self) -> None:
        for (ticket, job), found in self._queue.step(self._pace.within(TURN_S)):
            if ticket not in self._tickets:  # another job of it has just failed
                continue
            if isinstance(found, Exception):
                self._end(ticket, job, found)
                continue
            ticket.found[job] = found
            if len(ticket.found) == len(ticket.order.costs):
                self._end(ticket, None, None)

    def _end(self, ticket: Ticket, job: Job | None, error: Exception | None) -> None:
        del self._tickets[ticket]
        for one in ticket.waiting:
            self._queue.cancel((ticket, one))
        self._ended(ticket, job, error)
