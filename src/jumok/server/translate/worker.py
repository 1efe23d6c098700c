"""One thread per model decodes everyone's sentences together.

A request joins the running batch at the next step, leaves it when it is done, cancelled or late, and no one's
answer depends on who else is there. What is short needs no thread: see `short_orders.py`.
"""

import asyncio
import logging
import threading
import time
from collections import deque
from collections.abc import AsyncGenerator, Hashable, Sequence
from functools import partial
from itertools import count
from typing import TYPE_CHECKING

from jumok.answers import Lead
from jumok.decoding.engines import NativeEngine
from jumok.decoding.jobs import Job
from jumok.decoding.results import Translation
from jumok.decoding.stream import Partial, make_partial
from jumok.decoding.translator import Translator
from jumok.errors import Error
from jumok.server.gates.limits import Limits
from jumok.server.gates.problems import Problem, busy, from_error, internal, too_late
from jumok.server.metrics import Metrics
from jumok.server.translate.engine_queue import EngineQueue
from jumok.server.translate.followed import FollowedJobs
from jumok.server.translate.order import DecodingOrder
from jumok.server.translate.pace import SearchPace
from jumok.server.translate.short_orders import ShortOrders
from jumok.server.translate.ticket import Ticket

if TYPE_CHECKING:
    from jumok.decoding.continuous import Continuous
    from jumok.decoding.search import Search

log = logging.getLogger("jumok.server")
LOOK_S = 0.02
"""Between two looks at the time, while all that runs is followed."""


class Worker:
    """Decodes for one model. Coroutines call `translate` and `stream`; the thread does everything else."""

    def __init__(self, name: str, translator: Translator, limits: Limits, metrics: Metrics) -> None:
        self.name, self.translator, self.limits, self.metrics = name, translator, limits, metrics
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._closed = self._retired = False
        self._queue: deque[Ticket] = deque()  # with jobs that have not joined, in the order of their turns
        self._tickets: dict[Ticket, None] = {}  # all that are not settled
        self._first: Ticket | None = None  # of those for whom the batch had no room
        self._load = 0  # beam-tokens in the batch
        self._keys: dict[Hashable, tuple[Ticket, Job]] = {}  # of the searches in the batch
        self._numbers = count()
        self._batch: Continuous | None = None  # in torch, made for the first search that needs it
        self._pace = SearchPace()
        self._quick, self._followed = EngineQueue[Hashable](self._pace), FollowedJobs(name, self._wake)
        self._short = ShortOrders(self._pace, limits, self._settle_short)

    async def translate(
        self, order: DecodingOrder, deadline: float, *, patient: bool = False
    ) -> list[Translation]:
        """The translations of an order. Cancelling this takes it out of the batch within a step.

        One who is patient is not refused while others wait.
        """
        ticket = self._enter(order, deadline, None, patient=patient)
        try:
            return await ticket.done
        finally:
            ticket.gone = True

    async def stream(self, order: DecodingOrder, deadline: float) -> AsyncGenerator[Partial | Translation]:
        """How the translation of one text grows, step by step, and then the translation."""
        partials: asyncio.Queue[Partial | None] = asyncio.Queue()
        ticket = self._enter(order, deadline, partials)
        ticket.done.add_done_callback(lambda _: partials.put_nowait(None))
        try:
            while (part := await partials.get()) is not None:
                yield part
            [answer] = await ticket.done
            yield answer
        finally:
            ticket.gone = True
            ticket.done.cancel()  # no one is left to hear why it ended

    @property
    def alive(self) -> bool:
        """Whether the thread can work: it has not started yet, or it runs."""
        return not self._closed and (self._thread is None or self._thread.is_alive())

    @property
    def busy(self) -> bool:
        """Whether someone waits for an answer."""
        return bool(self._tickets or self._short)

    def close(self) -> None:
        """End the thread; whoever waits is told that the server stops."""
        self._closed = True
        self._wake()

    def retire(self) -> None:
        """End the thread when nobody waits any more. Who comes all the same is served, by another one."""
        self._retired = True
        self._wake()

    def _wake(self) -> None:
        with self._changed:
            self._changed.notify()

    def _enter(
        self,
        order: DecodingOrder,
        deadline: float,
        partials: asyncio.Queue[Partial | None] | None,
        *,
        patient: bool = False,
    ) -> Ticket:
        loop = asyncio.get_running_loop()
        ticket = Ticket(order, deadline, loop, loop.create_future(), partials, waiting=deque(order.costs))
        engine = self.translator.engine_of(order.request)
        ticket.follows = isinstance(engine, NativeEngine) and partials is not None
        if not ticket.waiting:  # blank texts need no model
            ticket.done.set_result(self._finish(ticket))
            return ticket
        with self._changed:
            if self._closed:
                raise Problem(503, "draining", "the server is stopping")
            if not self.alive:
                raise Problem(503, "not_ready", "the worker of this model has ended")
            if not patient:
                self._refuse()
            if partials is None and isinstance(engine, NativeEngine) and self._short.suit(order):
                self._short.add(ticket, engine)
                return ticket
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name=f"jumok-{self.name}", daemon=True)
                self._thread.start()
            self._queue.append(ticket)
            self._tickets[ticket] = None
            self.metrics.queue_length.labels(model=self.name).set(len(self._queue))
            self._changed.notify()
        return ticket

    def _refuse(self) -> None:
        """429 if too many wait, or one for too long: a queue that does not get shorter helps nobody."""
        if len(self._queue) + len(self._short) >= self.limits.queue:
            raise busy(f"{self.limits.queue} requests are waiting for this model")
        first = self._first
        if first is not None and time.monotonic() - first.entered > self.limits.queue_s:
            raise busy(f"requests wait for this model for more than {self.limits.queue_s:g} seconds")

    def _settle_short(self, ticket: Ticket, job: Job | None, error: Exception | None) -> None:
        """Hand over what was found in the event loop, or why nothing was."""
        try:
            if error is not None:
                raise error
            answers = self._finish(ticket)
        except Exception as failed:
            ticket.hand_over(self._explain(failed, *([job] if job else ticket.found)))
            return
        self._measure(ticket)
        ticket.hand_over(answers)

    # From here on everything runs in the thread.

    def _run(self) -> None:
        while True:
            with self._changed:
                while not (self._tickets or self._closed or self._retired):
                    self._changed.wait()
                if self._retired and not self._tickets:
                    self._thread = None
                    self._followed.close()
                    return
                if self._closed:
                    break
                if not self._can_go_on():
                    self._changed.wait(LOOK_S)  # somebody comes, or one who is followed has ended
            try:
                self._turn()
            except Exception:  # a fault of ours: everyone who waits hears of it, and the next ones are served
                log.exception("the batch of %s failed", self.name)
                self._give_up(internal())
        self._give_up(Problem(503, "draining", "the server is stopping"))
        self._followed.close()

    def _can_go_on(self) -> bool:
        """Whether there is anything to do; if not, all that runs is followed."""
        batch = self._batch is not None and len(self._batch)
        return bool(self._followed or self._quick or batch or (self._queue and self._fits(self._queue[0])))

    def _turn(self) -> None:
        """One step of the batch: the late leave, the new join, all go on by one token."""
        self._drop_late()
        self._admit()
        if not self._keys:
            return
        running = dict.fromkeys(ticket for ticket, _ in self._keys.values())
        if stepping := len(self._quick) + (0 if self._batch is None else len(self._batch)):
            self.metrics.batch_sentences.labels(model=self.name).observe(stepping)
        stepped = [*self._followed.take(), *self._quick.step(), *(self._batch.step() if self._batch else ())]
        for key, result in stepped:
            if key not in self._keys:  # another text of its request has just failed
                continue
            ticket, job = self._keys[key]
            if isinstance(result, Exception):
                self._fail(ticket, self._explain(result, job))
                continue
            ticket.found[job] = result
            search = ticket.running[job]
            ticket.leads.append(search.lead() if search else result[0].lead)
            self._leave(key)
        for ticket in running:
            if ticket in self._tickets:
                self._report(ticket)

    def _report(self, ticket: Ticket) -> None:
        """Tell how far a ticket has come, or its answers."""
        try:
            if not ticket.follows:
                self._tell(ticket, *(search.lead() for search in ticket.running.values() if search))
            done = len(ticket.found) == len(ticket.order.costs)
            answers = self._finish(ticket) if done else []
        except Exception as error:
            self._fail(ticket, self._explain(error, *ticket.found))
            return
        if done:
            self._forget(ticket)
            self._measure(ticket)
            ticket.settle(answers)
        elif ticket.partials is not None and not ticket.running:  # its next part
            with self._changed:
                self._queue.append(ticket)

    def _tell(self, ticket: Ticket, *now: Lead) -> None:
        """Tell whoever streams how far the ticket has come."""
        if ticket.partials is not None:
            ticket.steps += 1
            part = self._partial(ticket, [*ticket.leads, *now])
            ticket.call(partial(ticket.partials.put_nowait, part))

    def _follow(self, ticket: Ticket, lead: Lead) -> None:
        """A step of a native search, in that search's thread; raises when it is too late for the answer."""
        if ticket.gone or time.monotonic() > ticket.deadline:
            raise too_late(self.limits.deadline_s)
        self._tell(ticket, lead)

    def _partial(self, ticket: Ticket, leads: Sequence[Lead]) -> Partial:
        [text], [made], request = ticket.order.texts, ticket.order.parts, ticket.order.request
        own = ticket.order.translator
        may_loop, joint = partial(own.may_loop, text, request), own.joint(made.layout)
        return make_partial(own.tokenizers.target, ticket.steps, leads, may_loop, joint)

    def _finish(self, ticket: Ticket) -> list[Translation]:
        order, jobs = ticket.order, list(ticket.found)
        engine = self.translator.engine_of(order.request)
        answers = engine.aligned(jobs, list(ticket.found.values()), order.request)
        found = dict(zip(jobs, answers, strict=True))
        return [
            order.translator.finish(text, one.layout, [found[job] for job in one.jobs], order.request)
            for text, one in zip(order.texts, order.parts, strict=True)
        ]

    def _measure(self, ticket: Ticket) -> None:
        metrics, name = self.metrics, self.name
        metrics.translate_seconds.labels(model=name).observe(time.monotonic() - ticket.entered)
        written = sum(len(answers[0].log_probs) for answers in ticket.found.values() if answers)
        for side, tokens in (("source", sum(len(job.source) for job in ticket.found)), ("target", written)):
            metrics.sentences.labels(model=name, side=side).inc(len(ticket.found))
            metrics.tokens.labels(model=name, side=side).inc(tokens)

    def _explain(self, error: Exception, *jobs: Job) -> Problem:
        if isinstance(error, Problem):
            return error
        known = self.translator.explain(error, jobs)
        if isinstance(known, Error):
            return from_error(known)
        log.error("decoding with %s failed", self.name, exc_info=error)
        return internal()

    def _admit(self) -> None:
        """Jobs join in turns, one of each ticket, while there is room; the first that has none waits."""
        while (ticket := self._next()) is not None:
            self._join(ticket, ticket.waiting.popleft())
        with self._changed:
            self._first = next((one for one in self._queue if not one.begun), None)
            self.metrics.queue_length.labels(model=self.name).set(len(self._queue))

    def _next(self) -> Ticket | None:
        """The ticket whose turn it is, out of the queue; None if there is none, or no room for its job."""
        with self._changed:
            if not self._queue:
                return None
            return self._queue.popleft() if self._fits(self._queue[0]) else None

    def _fits(self, ticket: Ticket) -> bool:
        """Whether there is room for its next job."""
        cost = ticket.cost(ticket.waiting[0])
        return not self._load or self._load + cost <= self.limits.work

    def _join(self, ticket: Ticket, job: Job) -> None:
        if not ticket.begun:
            self.metrics.queue_seconds.labels(model=self.name).observe(time.monotonic() - ticket.entered)
        key = next(self._numbers)  # never used again
        try:
            search = self._begin(key, ticket, job)
        except Exception as error:
            self._fail(ticket, self._explain(error, job))
            return
        self._keys[key] = (ticket, job)
        ticket.running[job] = search
        self._load += ticket.cost(job)
        if ticket.waiting and ticket.partials is None:
            with self._changed:
                self._queue.append(ticket)

    def _begin(self, key: Hashable, ticket: Ticket, job: Job) -> "Search | None":
        """Hand a job to the native engine's queue, or to the batch in torch."""
        request = ticket.order.request
        engine = self.translator.engine_of(request)
        if isinstance(engine, NativeEngine):
            if ticket.follows:
                self._followed.add(key, job, request, engine, partial(self._follow, ticket))
            else:
                self._quick.add(key, job, request, engine)
            return None
        search = engine.search_for(job, request)
        if self._batch is None:
            from jumok.decoding.continuous import Continuous

            self._batch = Continuous(engine.model)
        self._batch.add(key, job, search)
        return search

    def _leave(self, key: Hashable) -> None:
        ticket, job = self._keys.pop(key)
        del ticket.running[job]
        self._load -= ticket.cost(job)

    def _drop_late(self) -> None:
        """Take out who is gone or out of time."""
        now = time.monotonic()
        with self._changed:
            tickets = list(self._tickets)
        for ticket in tickets:
            if ticket.gone or now > ticket.deadline:
                self._fail(ticket, too_late(self.limits.deadline_s))

    def _fail(self, ticket: Ticket, problem: Problem) -> None:
        ticket.gone = True  # a search that is followed ends at its next step
        for key in [key for key, (owner, _) in self._keys.items() if owner is ticket]:
            self._quick.cancel(key)
            if self._batch is not None:
                self._batch.cancel(key)
            self._leave(key)
        self._forget(ticket)
        ticket.settle(problem)

    def _forget(self, ticket: Ticket) -> None:
        with self._changed:
            self._tickets.pop(ticket, None)
            if ticket in self._queue:
                self._queue.remove(ticket)
            if ticket is self._first:
                self._first = None

    def _give_up(self, problem: Problem) -> None:
        """Everyone who waits gets this problem, and the batch begins anew."""
        with self._changed:
            tickets = list(self._tickets)
        for ticket in tickets:
            self._fail(ticket, problem)
        self._batch, self._quick = None, EngineQueue[Hashable](self._pace)
