import threading

import pytest

from jumok.answers import Answer, Follow, Lead
from jumok.decoding.following import leads_of

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
    go_on, steps = threading.Event(), list[int]()

    def endless(follow: Follow) -> list[Answer]:
        while True:
            steps.append(1)
            follow(LEADS[0])
            go_on.wait(60)

    parts = leads_of(endless)
    next(parts)
    threading.Timer(0.05, go_on.set).start()
    parts.close()  # type: ignore[attr-defined]
    assert len(steps) <= 2
    assert not any(one.name == "jumok-stream" for one in threading.enumerate())
