"""CUDA graphs by name: work that was done before is recorded, and from then on started with one call."""

import logging
from collections.abc import Callable, Hashable
from typing import Any

import torch

log = logging.getLogger("jumok")


class Graphs:
    """Runs work that has a key. The same key must mean the same work on the same addresses.

    The first time the work is simply done, which also loads what it needs; the second time it is captured.
    The graphs share one pool of memory, so what a run leaves behind must lie outside of it, and one caller at
    a time may run them.
    """

    def __init__(self) -> None:
        self._seen = set[Hashable]()
        self._graphs = dict[Hashable, torch.cuda.CUDAGraph]()
        self._pool: Any = None
        self._stream: torch.cuda.Stream | None = None
        self.off = False
        """A capture failed, so nothing is captured any more."""

    def __len__(self) -> int:
        return len(self._graphs)

    def clear(self) -> None:
        """Forget all work; nothing of it may be on its way."""
        self._seen.clear()
        self._graphs.clear()
        self._pool = self._stream = None

    def run(self, key: Hashable, work: Callable[[], None]) -> None:
        if key in self._seen and key not in self._graphs and not self.off:
            self._try_to_capture(key, work)
        self._seen.add(key)
        if key in self._graphs:
            self._graphs[key].replay()
        else:
            work()

    def _try_to_capture(self, key: Hashable, work: Callable[[], None]) -> None:
        try:
            self._graphs[key] = self._capture(work)
        except Exception as error:  # whatever the reason: the work itself can still be done
            self.off = True
            end_failed_capture()
            first, *_ = (str(error).strip() or type(error).__name__).splitlines()
            log.warning("a CUDA graph cannot be captured here (%s); steps are started one by one", first)

    def _capture(self, work: Callable[[], None]) -> torch.cuda.CUDAGraph:
        """Record what `work` starts; nothing of it runs. (`torch.cuda.graph` empties the allocator first.)"""
        graph = torch.cuda.CUDAGraph()
        if self._stream is None:
            self._stream = torch.cuda.Stream()  # type: ignore[no-untyped-call]
            self._pool = torch.cuda.graph_pool_handle()
        now = torch.cuda.current_stream()
        self._stream.wait_stream(now)
        with torch.cuda.stream(self._stream):
            graph.capture_begin(pool=self._pool, capture_error_mode="thread_local")
            try:
                work()
            finally:
                graph.capture_end()
        now.wait_stream(self._stream)
        return graph


def end_failed_capture() -> None:
    """Make the GPU usable again after a capture that broke off.

    torch's random generator still takes itself for captured then, and the next draw would fail; the end of a
    capture that works tells it otherwise.
    """
    if not torch.cuda.is_available():
        return
    torch.cuda.synchronize()
    with torch.cuda.graph(torch.cuda.CUDAGraph()):
        torch.zeros(1, device="cuda")
