"""Rest for the collector of garbage while a program starts: what is made then stays."""

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def collector_resting() -> Iterator[Callable[[], None]]:
    """Until what it gives is called: then it wakes, and never looks through what is there by now."""

    def started() -> None:
        gc.freeze()
        gc.enable()

    gc.disable()
    try:
        yield started
    finally:
        gc.enable()
