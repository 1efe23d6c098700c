"""One request's place in a worker's batch."""

import asyncio
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from jumok.answers import Answer, Lead
from jumok.decoding.jobs import Job
from jumok.decoding.results import Translation
from jumok.decoding.stream import Partial
from jumok.server.translate.order import DecodingOrder

if TYPE_CHECKING:
    from jumok.decoding.search import Search


@dataclass(eq=False)
class Ticket:
    """Known to the thread that decodes and to the coroutine that waits."""

    order: DecodingOrder
    deadline: float
    loop: asyncio.AbstractEventLoop
    done: asyncio.Future[list[Translation]]
    partials: asyncio.Queue[Partial | None] | None = None
    """Gets the state after each step; the parts of a text then go one after the other."""
    entered: float = field(default_factory=time.monotonic)
    gone: bool = False
    waiting: deque[Job] = field(default_factory=deque)
    running: "dict[Job, Search | None]" = field(default_factory=dict)
    """Those of the native engine have no search that could be asked how far it is."""
    follows: bool = False
    """The native engine tells by itself how far it is, in a thread for one such search at a time."""
    found: dict[Job, list[Answer]] = field(default_factory=dict)
    leads: list[Lead] = field(default_factory=list)
    """Of the jobs that are done."""
    steps: int = 0

    def cost(self, job: Job) -> int:
        """Beam-tokens of the batch; none of a search that is followed, which waits without a state."""
        return 0 if self.follows else self.order.costs[job]

    @property
    def begun(self) -> bool:
        """Whether one of its jobs has been in the batch."""
        return bool(self.found or self.running)

    def settle(self, result: list[Translation] | Exception) -> None:
        """Hand the result to whoever waits. Called in the thread."""
        self.call(partial(self.hand_over, result))

    def hand_over(self, result: list[Translation] | Exception) -> None:
        """`settle` in the event loop."""
        if not self.done.done():
            if isinstance(result, Exception):
                self.done.set_exception(result)
            else:
                self.done.set_result(result)

    def call(self, what: Callable[[], None]) -> None:
        try:
            self.loop.call_soon_threadsafe(what)
        except RuntimeError:  # the loop has ended, and with it whoever waited
            self.gone = True
