"""The next batches are made by a thread while the model works on this one."""

import threading
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from queue import SimpleQueue
from typing import Generic, TypeVar

T = TypeVar("T")
U = TypeVar("U")


def ahead(items: Iterator[T], make: Callable[[T], U], depth: int = 4) -> Generator[U, None, None]:
    """`map(make, items)` by a thread that is at most `depth` results ahead of who reads them.

    What goes wrong in the thread is raised here, after the results before it and with its traceback. Closing
    the generator ends the thread, once the item under way is made; no reader, no thread.
    """
    assert depth > 0
    maker = _Maker(items, make, depth)
    thread = threading.Thread(target=maker.run, name="jumok-ahead", daemon=True)
    thread.start()
    try:
        while True:
            result = maker.made.get()
            if isinstance(result, _End):
                break
            maker.free.release()
            yield result.value
    finally:
        maker.stop()
        thread.join()
    if result.error is not None:
        raise result.error


@dataclass(frozen=True)
class _Result(Generic[U]):
    value: U


@dataclass(frozen=True)
class _End:
    error: BaseException | None = None


class _Maker(Generic[T, U]):
    """What the thread does: take an item, wait for a free place, make it and hand it over."""

    def __init__(self, items: Iterator[T], make: Callable[[T], U], depth: int) -> None:
        self.items, self.make = items, make
        self.made: SimpleQueue[_Result[U] | _End] = SimpleQueue()
        self.free = threading.Semaphore(depth)
        self.stopped = False

    def run(self) -> None:
        try:
            for item in self.items:
                self.free.acquire()
                if self.stopped:
                    return
                self.made.put(_Result(self.make(item)))
            self.made.put(_End())
        except BaseException as error:
            self.made.put(_End(error))

    def stop(self) -> None:
        self.stopped = True
        self.free.release()  # it may be waiting for a place
