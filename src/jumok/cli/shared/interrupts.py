"""Ctrl-C and SIGTERM: told at once, carried out between two steps, and never waited for without end."""

import os
import select
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Thread

from jumok.cli.shared.console import say
from jumok.progress import duration

SIGNALS = (signal.SIGINT, signal.SIGTERM)
# Seconds to finish the step, or a look at the validation set, and to save: less than the usual 30.
GRACE = 20.0
LAST = 2.0  # seconds to end in good order once the time is over
AGAIN = "run the same command again to go on"
Words = Callable[[], str]


@contextmanager
def interruptible(
    ended: Words = lambda: f"ended; {AGAIN}",
    *,
    speaks: bool = True,
    grace: float = GRACE,
    begun: Callable[[], bool] = lambda: True,
) -> Iterator[list[int]]:
    """A list that gets the signal's number on Ctrl-C or SIGTERM, for whoever looks at it between two steps.

    A second signal, or the end of `grace`, ends the process as kill -9 would, which loses no more than what
    came after the last checkpoint; `ended` says so. So does the first before the work has `begun`. Python
    calls handlers only between two of its own instructions, so it is a thread that speaks and counts the
    seconds, however long a call of C takes.
    """
    got: list[int] = []
    spoken = Event()
    heard, told = os.pipe()
    os.set_blocking(told, False)

    def handle(number: int, _frame: object) -> None:
        got.append(number)
        if len(got) > 1 or not begun():
            raise SystemExit(128 + got[0])

    def watch() -> None:
        first = next_signal(heard, None)
        if first is None:
            return
        name = signal.Signals(first).name
        if speaks and not begun():
            say(f"{name}: {ended()}")
        elif speaks:
            say(f"{name}: finishing the step and saving, {duration(grace)} at most; once more ends at once")
        second = next_signal(heard, grace)
        if second is None:
            return
        if speaks:
            say(ended())
        spoken.set()
        if second == OVER:
            os.kill(os.getpid(), first)  # the handler ends it, if Python comes to its turn
        time.sleep(LAST)  # also if the block is left: other threads may hold the process for ever
        os._exit(128 + first)

    before = {number: signal.signal(number, handle) for number in SIGNALS}
    wakes_before = signal.set_wakeup_fd(told, warn_on_full_buffer=False)
    thread = Thread(target=watch, name="jumok-signals", daemon=True)
    thread.start()
    try:
        yield got
    finally:
        signal.set_wakeup_fd(wakes_before)
        for number, handler in before.items():
            signal.signal(number, handler)
        os.close(told)  # the thread ends, unless it sees to it that the process does
        if len(got) < 2:
            thread.join()
            os.close(heard)
        else:
            spoken.wait(LAST)


OVER = 0  # no signal has this number


def next_signal(pipe: int, seconds: float | None) -> int | None:
    """The next signal that matters; OVER if none comes in time, None when nobody listens any more."""
    while True:
        if not select.select([pipe], [], [], seconds)[0]:
            return OVER
        number = os.read(pipe, 1)
        if not number:
            return None
        if number[0] in SIGNALS:
            return number[0]
