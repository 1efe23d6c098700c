from collections.abc import Sequence
from dataclasses import replace

from jumok.answers import Answer
from jumok.config import DecodingConfig
from jumok.decoding.engines import Answers, Explained
from jumok.decoding.jobs import Job, Request, cost, make_request
from jumok.server.translate.engine_queue import WORK, EngineQueue
from jumok.server.translate.pace import SearchPace


class Echo:
    """An engine that answers with the source, and refuses the piece 99."""

    name = "echo"

    def __init__(self) -> None:
        self.calls: list[list[Job]] = []

    def answers(self, jobs: Sequence[Job], request: Request, explained: Explained) -> Answers:
        self.calls.append(list(jobs))
        with explained(jobs):
            if any(99 in job.source for job in jobs):
                raise ArithmeticError("99")
            yield list(jobs), [[Answer(job.source, (), finished=True)] for job in jobs]


def request(**options: object) -> Request:
    return make_request(DecodingConfig(), options)


def outcomes(quick: EngineQueue) -> dict[object, object]:
    found: dict[object, object] = {}
    while quick:
        found.update(quick.step())
    return found


def test_jobs_are_answered_together_in_the_order_they_came() -> None:
    engine, quick = Echo(), EngineQueue(SearchPace())
    for n in range(5):
        quick.add(n, Job((n + 4,)), request(), engine)
    assert len(quick) == 5
    assert outcomes(quick) == {n: [Answer((n + 4,), (), finished=True)] for n in range(5)}
    assert len(engine.calls) == 1
    assert quick.step() == []


def test_other_options_are_another_call() -> None:
    engine, quick = Echo(), EngineQueue(SearchPace())
    for n in range(4):
        quick.add(n, Job((n + 4,)), request(beam=1 + n % 2), engine)
    assert [key for key, _ in quick.step()] == [0, 2]
    assert [key for key, _ in quick.step()] == [1, 3]


def test_what_is_banned_for_one_is_banned_for_no_other() -> None:
    engine, quick = Echo(), EngineQueue(SearchPace())
    for n, text in enumerate(("a", "b", "a", "")):
        quick.add(n, Job((n + 4,)), request(ban=[text] if text else []), engine)
    assert [[key for key, _ in quick.step()] for _ in range(3)] == [[0, 2], [1], [3]]


def test_a_call_stays_within_its_work() -> None:
    engine, quick = Echo(), EngineQueue(SearchPace())
    jobs = [Job((n + 4,) * 100) for n in range(40)]
    for job in jobs:
        quick.add(job.source[0], job, request(), engine)
    assert outcomes(quick).keys() == {job.source[0] for job in jobs}
    assert len(engine.calls) > 1
    for call in engine.calls:
        assert len(call) == 1 or sum(cost(job, request().decoding) for job in call) <= WORK


def test_only_the_culprit_fails() -> None:
    engine, quick = Echo(), EngineQueue(SearchPace())
    for n in (4, 99, 5):
        quick.add(n, Job((n,)), request(), engine)
    found = outcomes(quick)
    assert isinstance(found[99], ArithmeticError)
    assert found[4] == [Answer((4,), (), finished=True)]
    assert found[5] == [Answer((5,), (), finished=True)]


def test_equal_jobs_are_searched_once_and_who_leaves_is_not() -> None:
    engine, quick = Echo(), EngineQueue(SearchPace())
    for n in range(3):
        quick.add(n, Job((7,)), request(), engine)
    quick.add("gone", Job((8,)), request(), engine)
    quick.cancel("gone")
    quick.cancel("never here")
    assert outcomes(quick).keys() == {0, 1, 2}
    assert engine.calls == [[Job((7,))]]


class Pace(SearchPace):
    """Notes what it is told."""

    def __init__(self) -> None:
        super().__init__()
        self.told: list[tuple[float, float]] = []

    def measured(self, work: float, seconds: float) -> None:
        self.told.append((work, seconds))


def test_a_call_has_the_work_that_is_allowed_and_no_more() -> None:
    """The first job is searched whatever it costs; each of these costs one beam times so many tokens."""
    pace, engine, asked = Pace(), Echo(), request(beam=1, max_len=6)
    each = cost(Job((4,)), asked.decoding)
    for most, counts in ((3 * each, [3, 2]), (3 * each - 1, [2, 2, 1]), (0, [1] * 5), (5 * each, [5])):
        quick = EngineQueue[int](pace)
        for n in range(5):
            quick.add(n, Job((n + 4,)), asked, engine)
        engine.calls, pace.told = [], []
        while quick:
            quick.step(most)
        assert [len(call) for call in engine.calls] == counts
        assert [work for work, _ in pace.told] == [count * each for count in counts]
        assert all(0 <= seconds < 60 for _, seconds in pace.told)


def test_one_that_is_too_large_for_the_call_keeps_those_behind_it_waiting() -> None:
    engine, quick, asked = Echo(), EngineQueue[int](Pace()), request(beam=1, max_len=6)
    for n, length in enumerate((1, 9, 1)):
        quick.add(n, Job((4,) * length), asked, engine)
    most = 2 * cost(Job((4,)), asked.decoding)
    assert [[key for key, _ in quick.step(most)] for _ in range(3)] == [[0], [1], [2]]


def test_another_engine_or_alignment_is_another_call() -> None:
    one, other, quick = Echo(), Echo(), EngineQueue[int](Pace())
    plain, aligned = request(), replace(request(), align=True)
    for n, (asked, engine) in enumerate(((plain, one), (plain, other), (aligned, one), (plain, one))):
        quick.add(n, Job((n + 4,)), asked, engine)
    assert [[key for key, _ in quick.step()] for _ in range(3)] == [[0, 3], [1], [2]]
