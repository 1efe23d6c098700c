"""One thread for analyses: traces, what-if, sweeps. Long ones never stop the decoding or the event loop."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Concatenate, ParamSpec, TypeVar

from jumok.server.gates.problems import busy

P = ParamSpec("P")
T = TypeVar("T")

WAITING = 32  # analyses of all clients together


class AnalysisCancelled(Exception):  # noqa: N818
    """Nobody waits for this analysis any more."""


class CancelFlag:
    """Raised when the client has gone or the time is up; the analysis looks at it between its parts."""

    def __init__(self) -> None:
        self.raised = False

    def check(self) -> None:
        """Ends the analysis here if nobody waits for it."""
        if self.raised:
            raise AnalysisCancelled

    def progress(self, what: str, done: int, total: int | None) -> None:
        """`check` in the form of a progress report: hand it to whatever reports its progress."""
        self.check()


class Analyst:
    """Runs one analysis after the other, in a thread of its own."""

    def __init__(self, name: str = "explain") -> None:
        self._pool = ThreadPoolExecutor(1, thread_name_prefix=f"jumok-{name}")
        self._flags: set[CancelFlag] = set()

    @property
    def waiting(self) -> int:
        """Analyses that run or wait."""
        return len(self._flags)

    async def run(
        self, analysis: Callable[Concatenate[CancelFlag, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """What `analysis(flag, ...)` returns. Cancelling this raises the flag."""
        if len(self._flags) >= WAITING:
            raise busy("too many analyses are waiting")
        flag, loop = CancelFlag(), asyncio.get_running_loop()
        self._flags.add(flag)
        try:
            return await loop.run_in_executor(self._pool, lambda: analysis(flag, *args, **kwargs))
        finally:
            flag.raised = True
            self._flags.discard(flag)

    async def items(self, analysis: Callable[[Callable[[T], None]], None]) -> AsyncGenerator[T]:
        """What `analysis(emit)` emits, as it comes. Leaving the loop ends it at its next item."""
        loop = asyncio.get_running_loop()
        queue: asyncio.Queue[T | None] = asyncio.Queue()

        def work(flag: CancelFlag) -> None:
            def emit(item: T) -> None:
                flag.check()
                loop.call_soon_threadsafe(queue.put_nowait, item)

            flag.check()
            analysis(emit)

        task = asyncio.ensure_future(self.run(work))
        task.add_done_callback(lambda _: queue.put_nowait(None))
        try:
            while (item := await queue.get()) is not None:
                yield item
            await task
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    def close(self) -> None:
        """Ends what runs at its next look at the flag, and the thread after it."""
        for flag in self._flags:
            flag.raised = True
        self._pool.shutdown(wait=False, cancel_futures=True)
