"""One thread for analyses: traces, what-if, sweeps. Long ones never stop the decoding or the event loop."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Concatenate, ParamSpec, TypeVar

from jumok.server.gates.problems import busy

P = ParamSpec("P")
T = TypeVar("T")

WAITING = 32  # analyses of all clients together


class Stopped(Exception):  # noqa: N818
    """Nobody waits for this analysis any more."""


class Flag:
    """Raised when the client has gone or the time is up; the analysis looks at it between its parts."""

    def __init__(self) -> None:
        self.raised = False

    def check(self) -> None:
        """Ends the analysis here if nobody waits for it."""
        if self.raised:
            raise Stopped

    def progress(self, what: str, done: int, total: int | None) -> None:
        """`check` in the form of a progress report: hand it to whatever reports its progress."""
        self.check()


class Analyst:
    """Runs one analysis after the other, in a thread of its own."""

    def __init__(self, name: str = "explain") -> None:
        self._pool = ThreadPoolExecutor(1, thread_name_prefix=f"jumok-{name}")
        self._flags: set[Flag] = set()

    @property
    def waiting(self) -> int:
        """Analyses that run or wait."""
        return len(self._flags)

    async def run(self, analysis: Callable[Concatenate[Flag, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """What `analysis(flag, ...)` returns. Cancelling this raises the flag."""
        flag = self._take()
        try:
            return await asyncio.get_running_loop().run_in_executor(
                self._pool, lambda: analysis(flag, *args, **kwargs)
            )
        finally:
            flag.raised = True
            self._flags.discard(flag)

    async def items(
        self, analysis: Callable[Concatenate[Flag, P], Iterator[T]], *args: P.args, **kwargs: P.kwargs
    ) -> AsyncGenerator[T]:
        """What `analysis(flag, ...)` yields, as it comes. Leaving the loop raises the flag."""
        flag, loop = self._take(), asyncio.get_running_loop()
        queue: asyncio.Queue[T | None] = asyncio.Queue()

        def put(item: T | None) -> None:
            if not flag.raised:
                loop.call_soon_threadsafe(queue.put_nowait, item)

        def work() -> None:
            try:
                flag.check()
                for item in analysis(flag, *args, **kwargs):
                    put(item)
                    flag.check()
            finally:
                put(None)

        done = loop.run_in_executor(self._pool, work)
        try:
            while (item := await queue.get()) is not None:
                yield item
            await done
        finally:
            flag.raised = True
            self._flags.discard(flag)
            done.add_done_callback(lambda one: one.cancelled() or one.exception())
            done.cancel()

    def close(self) -> None:
        """Ends what runs at its next look at the flag, and the thread after it."""
        for flag in self._flags:
            flag.raised = True
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _take(self) -> Flag:
        if len(self._flags) >= WAITING:
            raise busy("too many analyses are waiting")
        flag = Flag()
        self._flags.add(flag)
        return flag
