"""The thread for analyses: one at a time, cancelled by a flag, and never more waiting than is good."""

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from jumok.server.analysis import WAITING, AnalysisCancelled, Analyst, CancelFlag
from jumok.server.gates.problems import Problem


@pytest.fixture
def analyst() -> Iterator[Analyst]:
    found = Analyst()
    yield found
    found.close()


def test_an_analysis_runs_in_the_thread_and_gives_its_result(analyst: Analyst) -> None:
    def work(flag: CancelFlag, a: int, *, b: int) -> tuple[int, str]:
        flag.check()
        return a + b, threading.current_thread().name

    assert asyncio.run(analyst.run(work, 1, b=2)) == (3, "jumok-explain_0")
    assert analyst.waiting == 0


def test_its_errors_come_back(analyst: Analyst) -> None:
    def fail(flag: CancelFlag) -> None:
        raise Problem(422, "bad_parameter", "no such head")

    with pytest.raises(Problem, match="no such head"):
        asyncio.run(analyst.run(fail))


def test_cancelling_raises_the_flag(analyst: Analyst) -> None:
    began, ended = threading.Event(), threading.Event()

    def endless(flag: CancelFlag) -> None:
        try:
            while True:
                began.set()
                flag.progress("heads", 1, None)
                time.sleep(0.001)
        except AnalysisCancelled:
            ended.set()
            raise

    async def leave() -> None:
        task = asyncio.ensure_future(analyst.run(endless))
        await asyncio.to_thread(began.wait, 120)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(leave())
    assert ended.wait(120)


def test_items_come_one_by_one(analyst: Analyst) -> None:
    def rows(emit: Callable[[int], None]) -> None:
        for row in range(3):
            emit(row)

    async def collect() -> list[int]:
        return [row async for row in analyst.items(rows)]

    assert asyncio.run(collect()) == [0, 1, 2]


def test_an_error_among_items_comes_after_them(analyst: Analyst) -> None:
    def rows(emit: Callable[[int], None]) -> None:
        emit(1)
        raise Problem(500, "internal", "oh")

    found: list[int] = []

    async def collect() -> None:
        async for row in analyst.items(rows):
            found.append(row)

    with pytest.raises(Problem, match="oh"):
        asyncio.run(collect())
    assert found == [1]


def test_leaving_the_items_ends_the_analysis(analyst: Analyst) -> None:
    ended = threading.Event()

    def rows(emit: Callable[[int], None]) -> None:
        try:
            for number in range(10**9):
                emit(number)
                time.sleep(0.001)
        finally:
            ended.set()

    async def peek() -> None:
        items: Any = analyst.items(rows)
        assert await anext(items) == 0
        await items.aclose()

    asyncio.run(peek())
    assert ended.wait(120)
    assert analyst.waiting == 0


def test_too_many_waiting_are_refused(analyst: Analyst) -> None:
    gate = threading.Event()

    async def crowd() -> None:
        def work(flag: CancelFlag) -> None:
            gate.wait(120)

        tasks = [asyncio.ensure_future(analyst.run(work)) for _ in range(WAITING)]
        await asyncio.sleep(0)  # all have come to their first wait
        with pytest.raises(Problem, match="too many analyses are waiting") as found:
            await analyst.run(work)
        assert found.value.status_code == 429
        gate.set()
        await asyncio.gather(*tasks)

    asyncio.run(crowd())
