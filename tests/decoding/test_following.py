import threading
from collections.abc import Generator
from queue import SimpleQueue

import pytest

from jumok.answers import Answer, Follow, Lead
from jumok.decoding.following import LeftError, leads_of

LEADS = [Lead((4,) * n, -float(n), n) for n in range(1, 4)]
ANSWERS = [Answer((4, 4, 4), (-1.0,) * 4, finished=True)]


def search(follow: Follow) -> list[Answer]:
    for lead in LEADS:
        follow(lead)
    return ANSWERS


def test_leads_come_first_and_then_the_answers() -> None:
    assert list(leads_of(search)) == [*LEADS, ANSWERS]


def test_what_a_search_raises_comes_out() -> None:
    def broken(follow: Follow) -> list[Answer]:
        follow(LEADS[0])
        raise LookupError("no row")

    parts = leads_of(broken)
    assert next(parts) == LEADS[0]
    with pytest.raises(LookupError, match="no row"):
        next(parts)


def test_who_leaves_ends_the_search_at_its_next_step() -> None:
    ended = list[type[BaseException]]()

    def endless(follow: Follow) -> list[Answer]:
        try:
            while True:
                follow(LEADS[0])
        except BaseException as error:
            ended.append(type(error))
            raise

    parts = leads_of(endless)
    next(parts)
    parts.close()
    assert ended == [LeftError]
    assert not any(one.name == "jumok-stream" for one in threading.enumerate())


def test_a_lost_generator_may_be_closed_in_the_thread_of_its_own_search() -> None:
    """Where the collector finds it; the search then ends at its next step."""
    given, closed = SimpleQueue[Generator[Lead | list[Answer]]](), threading.Event()

    def searched(follow: Follow) -> list[Answer]:
        follow(LEADS[0])
        given.get().close()
        closed.set()
        return ANSWERS

    parts = leads_of(searched)
    next(parts)
    given.put(parts)
    assert closed.wait(60)
