"""Jobs whose searches tell each step, one after the other in a thread of their own.

Each of their steps runs Python code and may have to wait until it can. In the worker's thread all who only
want an answer would wait with them.
"""

from collections.abc import Callable, Hashable
from contextlib import suppress
from queue import Empty, SimpleQueue
from threading import Thread

from jumok.answers import Follow
from jumok.decoding.engines import NativeEngine
from jumok.decoding.jobs import Job, Request
from jumok.server.translate.engine_queue import Outcome

Search = Callable[[], Outcome[Hashable]]


class FollowedJobs:
    """Where a worker hands them in and takes the answers; `wake` tells it that there is one."""

    def __init__(self, name: str, wake: Callable[[], None]) -> None:
        self._name, self._wake = name, wake
        self._asked: SimpleQueue[Search | None] | None = None  # by the worker, of a thread that runs
        self._ended = SimpleQueue[Outcome[Hashable]]()

    def __bool__(self) -> bool:
        """Whether there is an answer to take."""
        return not self._ended.empty()

    def add(self, key: Hashable, job: Job, request: Request, engine: NativeEngine, follow: Follow) -> None:
        """Search after all that were added before; the search ends at the step at which `follow` raises."""
        if self._asked is None:
            self._asked = SimpleQueue()
            name = f"jumok-{self._name}-streams"
            Thread(target=self._run, args=[self._asked], name=name, daemon=True).start()

        def search() -> Outcome[Hashable]:
            try:
                return key, engine.followed(job, request, follow)
            except Exception as error:  # it belongs to this job
                return key, error

        self._asked.put(search)

    def take(self) -> list[Outcome[Hashable]]:
        """The answers that have come since the last time."""
        found = []
        with suppress(Empty):
            while True:
                found.append(self._ended.get_nowait())
        return found

    def close(self) -> None:
        """End the thread after all that it was given; another one starts with the next job."""
        if self._asked is not None:
            self._asked.put(None)
            self._asked = None

    def _run(self, asked: "SimpleQueue[Search | None]") -> None:
        while (search := asked.get()) is not None:
            self._ended.put(search())
            self._wake()
