"""Searches that are followed: one after the other, beside those who wait for an answer."""

from threading import Event, Lock
from typing import Any

from jumok.answers import Answer
from jumok.config import DecodingConfig
from jumok.decoding.jobs import Job, Request, make_request
from jumok.server.translate.followed import FollowedJobs

WAIT = 60


class Told:
    """An engine that tells each piece of the source, and answers with it."""

    def __init__(self) -> None:
        self.asked: list[tuple[tuple[int, ...], int]] = []
        self.now, self.most, self.lock = 0, 0, Lock()

    def followed(self, job: Job, request: Request, follow: Any) -> list[Answer]:
        with self.lock:
            self.now += 1
            self.most = max(self.most, self.now)
        self.asked.append((job.source, request.decoding.beam))
        try:
            for piece in job.source:
                follow(piece)
        finally:
            with self.lock:
                self.now -= 1
        return [Answer(job.source, (), finished=True)]


def request(beam: int = 1) -> Request:
    return make_request(DecodingConfig(), {"beam": beam})


def collect(jobs: FollowedJobs, woken: Event, count: int) -> dict[object, object]:
    found: dict[object, object] = {}
    while len(found) < count:
        assert woken.wait(WAIT)
        woken.clear()
        found |= dict(jobs.take())
    return found


def test_each_is_searched_with_its_own_options_and_told_its_own_steps() -> None:
    engine, woken, told = Told(), Event(), list[tuple[int, object]]()
    jobs: Any = FollowedJobs("m", woken.set)
    assert not jobs
    for n in range(3):
        jobs.add(
            n, Job((n + 4, n + 5)), request(beam=n + 1), engine, lambda step, n=n: told.append((n, step))
        )
    assert collect(jobs, woken, 3) == {n: [Answer((n + 4, n + 5), (), finished=True)] for n in range(3)}
    assert engine.asked == [((n + 4, n + 5), n + 1) for n in range(3)]
    assert told == [(0, 4), (0, 5), (1, 5), (1, 6), (2, 6), (2, 7)]
    assert engine.most == 1
    assert not jobs
    jobs.close()


def test_whoever_hears_of_a_step_may_end_the_search_and_the_next_one_begins() -> None:
    engine, woken = Told(), Event()
    jobs: Any = FollowedJobs("m", woken.set)

    def enough(step: object) -> None:
        raise TimeoutError(step)

    jobs.add("late", Job((4,)), request(), engine, enough)
    jobs.add("next", Job((5,)), request(), engine, lambda step: None)
    found = collect(jobs, woken, 2)
    assert isinstance(found["late"], TimeoutError)
    assert found["next"] == [Answer((5,), (), finished=True)]
    jobs.close()


def test_a_closed_one_ends_what_it_has_and_begins_anew_with_the_next_job() -> None:
    engine, woken = Told(), Event()
    jobs: Any = FollowedJobs("m", woken.set)
    jobs.close()  # nothing has begun
    for n in range(2):
        jobs.add(n, Job((n,)), request(), engine, lambda step: None)
        jobs.close()
    assert collect(jobs, woken, 2).keys() == {0, 1}
