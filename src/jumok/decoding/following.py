"""A search that tells how far it has come, turned into a generator: it runs in a thread of its own."""

from collections.abc import Callable, Generator
from queue import SimpleQueue
from threading import Thread, current_thread

from jumok.answers import Answer, Follow, Lead


class LeftError(Exception):
    """Nobody follows the search any more."""


def leads_of(search: Callable[[Follow], list[Answer]]) -> Generator[Lead | list[Answer]]:
    """The leads of `search(follow)` as they come, and then what it gives; raises what it raises.

    A generator that is closed ends the search at its next step.
    """
    heard: SimpleQueue[Lead | list[Answer] | BaseException] = SimpleQueue()
    left = False

    def follow(lead: Lead) -> None:
        if left:
            raise LeftError
        heard.put(lead)

    def run() -> None:
        try:
            heard.put(search(follow))
        except BaseException as error:  # it belongs to whoever follows
            heard.put(error)

    thread = Thread(target=run, name="jumok-stream", daemon=True)
    thread.start()
    try:
        while isinstance(one := heard.get(), Lead):
            yield one
    finally:
        left = True
        if thread is not current_thread():  # the collector closes a lost generator in any thread
            thread.join()
    if isinstance(one, BaseException):
        raise one
    yield one
