"""Orders that are answered in the event loop: the same answers, no thread, and nobody is forgotten."""

import asyncio
import time
from typing import Any

import pytest

from jumok.decoding.engines import NativeEngine
from jumok.decoding.jobs import Job
from jumok.decoding.translator import Translator, load
from jumok.native.library import available
from jumok.server.gates.limits import Limits
from jumok.server.gates.problems import Problem
from jumok.server.metrics import Metrics
from jumok.server.translate.order import DecodingOrder, make_order
from jumok.server.translate.short_orders import SHORT_S, SHORT_WORK, TURN_S
from jumok.server.translate.worker import Worker

pytestmark = pytest.mark.skipif(not available(), reason="the C library was not built")


@pytest.fixture(scope="module")
def demos() -> dict[str, Translator]:
    """The models of dates that come with the package, on the native engine."""
    return {arch: load(f"demo/{arch}", "cpu") for arch in ("rnn", "luong", "transformer")}


def quick_worker(translator: Translator, seconds: float = 1e-9, **limits: Any) -> Worker:
    """A worker that has seen calls which took so long for each beam-token, and will not be told otherwise."""
    worker = Worker("tiny", translator, Limits(**limits), Metrics())
    worker._pace.measured(1, seconds)
    worker._pace.measured = lambda *_: None  # type: ignore[method-assign]
    return worker


def order_for(translator: Translator, *texts: str, **options: Any) -> DecodingOrder:
    return make_order(translator, texts, {"beam": 2, "max_len": 12, **options}, Limits())


def soon() -> float:
    return time.monotonic() + 120


def together(worker: Worker, *orders: DecodingOrder, deadline: float | None = None) -> list[Any]:
    """What becomes of orders that come at the same moment."""

    async def ask() -> list[Any]:
        asked = (worker.translate(order, deadline or soon()) for order in orders)
        return await asyncio.gather(*asked, return_exceptions=True)

    return asyncio.run(ask())


@pytest.mark.parametrize("arch", ["rnn", "luong", "transformer"])
def test_answers_are_those_of_the_translator_without_a_thread(
    demos: dict[str, Translator], arch: str
) -> None:
    translator = demos[arch]
    texts = ("a man rides", "", "the dog sees a man! ", "a man rides")
    worker = quick_worker(translator)
    greedy, wide = order_for(translator, *texts, beam=1), order_for(translator, *texts[::-1], n_best=2)
    found = together(worker, greedy, wide)
    assert worker._thread is None
    assert not worker.busy
    asked: list[dict[str, Any]] = [{"beam": 1}, {"beam": 2, "n_best": 2}]
    for order, answers, options in zip((greedy, wide), found, asked, strict=True):
        order.check(answers)
        expected = translator.translate(list(order.texts), max_len=12, **options)
        assert [one.text for one in answers] == [one.text for one in expected]
        assert [one.score for one in answers] == pytest.approx([one.score for one in expected], abs=1e-4)


def test_what_comes_at_the_same_moment_is_searched_together(
    demos: dict[str, Translator], monkeypatch: pytest.MonkeyPatch
) -> None:
    translator = demos["rnn"]
    worker, calls = quick_worker(translator), list[int]()
    searched = NativeEngine.searched

    def count(self: Any, sources: Any, *args: Any, **options: Any) -> Any:
        calls.append(len(sources))
        return searched(self, sources, *args, **options)

    monkeypatch.setattr(NativeEngine, "searched", count)
    together(worker, *(order_for(translator, f"a man {n}") for n in range(8)))
    assert calls == [8]


@pytest.mark.parametrize(
    ("share", "options", "short"),
    [
        (1.0, {"beam": 2}, True),
        (1.01, {"beam": 2}, False),
        (0.1, {"mbr": 2}, False),
        (0.1, {"sample": True, "seed": 1}, True),
        (0.1, {"require": "1"}, False),
        (0.1, {"ban": "1"}, False),
    ],
)
def test_what_is_short_is_told_by_the_pace_and_the_kind(
    demos: dict[str, Translator], *, share: float, options: dict[str, Any], short: bool
) -> None:
    order = make_order(demos["rnn"], ["5 mars"], {"max_len": 12, **options}, Limits())
    worker = quick_worker(demos["rnn"], share * SHORT_S / order.cost)
    assert worker._short.suit(order) == short
    together(worker, order)
    assert (worker._thread is None) == short
    worker.close()


def test_a_large_order_is_never_short(demos: dict[str, Translator]) -> None:
    translator = demos["rnn"]
    worker = quick_worker(translator)
    orders = [order_for(translator, *(f"a man {n}" for n in range(many))) for many in (40, 80)]
    assert orders[0].cost <= SHORT_WORK < orders[1].cost
    assert [worker._short.suit(order) for order in orders] == [True, False]


def test_a_turn_takes_no_longer_than_it_may(
    demos: dict[str, Translator], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between two turns others have the event loop."""
    translator, seen = demos["rnn"], list[int]()
    orders = [order_for(translator, f"a man {n}", max_len=5) for n in range(6)]
    worker = quick_worker(translator, TURN_S / (2 * orders[0].cost))  # two of them fit

    async def ask() -> None:
        tasks = [asyncio.ensure_future(worker.translate(order, soon())) for order in orders]
        while not all(task.done() for task in tasks):
            await asyncio.sleep(0)
            seen.append(len(worker._short))
        for order, task in zip(orders, tasks, strict=True):
            order.check(task.result())

    asyncio.run(ask())
    assert list(dict.fromkeys(seen)) == [6, 4, 2, 0]


def test_one_that_is_late_is_told_and_one_who_left_is_not_searched_for(
    demos: dict[str, Translator],
) -> None:
    translator = demos["rnn"]
    worker = quick_worker(translator, deadline_s=7.0)
    late = order_for(translator, "a man", max_len=3)
    [problem] = together(worker, late, deadline=time.monotonic() - 1)
    assert isinstance(problem, Problem)
    assert (problem.status_code, problem.code) == (504, "deadline")
    assert "no answer within 7 seconds" in str(problem)

    async def leave() -> int:
        task = asyncio.ensure_future(worker.translate(late, soon()))
        await asyncio.sleep(0)
        waiting = len(worker._short)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await asyncio.sleep(0)
        return waiting

    assert asyncio.run(leave()) == 1
    assert len(worker._short) == 0
    assert together(worker, late)[0][0].source == "a man"  # in another event loop, too


def test_a_search_that_timed_out_by_itself_is_no_late_answer(
    demos: dict[str, Translator], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> Any:
        raise TimeoutError("of its own")

    monkeypatch.setattr(NativeEngine, "answers", fail)
    [problem] = together(quick_worker(demos["rnn"]), order_for(demos["rnn"], "a man"))
    assert (problem.status_code, problem.code) == (500, "internal")


def test_an_error_belongs_to_whoever_caused_it(
    demos: dict[str, Translator], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    translator = demos["rnn"]
    worker = quick_worker(translator)
    good, bad = order_for(translator, "a man"), order_for(translator, "a man", "the dog")
    answers = NativeEngine.answers

    def refuse(self: Any, jobs: list[Job], *args: Any) -> Any:
        if bad.parts[1].jobs[0] in jobs:
            raise ArithmeticError("the dog")
        return answers(self, jobs, *args)

    monkeypatch.setattr(NativeEngine, "answers", refuse)
    found = together(worker, good, bad)
    good.check(found[0])
    assert isinstance(found[1], Problem)
    assert (found[1].status_code, found[1].code) == (500, "internal")
    assert "the dog" in caplog.text
    assert not worker.busy


def test_a_fault_of_ours_is_told_to_all_and_the_next_are_served(
    demos: dict[str, Translator], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    translator = demos["rnn"]
    worker = quick_worker(translator)
    orders = [order_for(translator, text) for text in ("a man", "the dog")]
    with monkeypatch.context() as broken:
        broken.setattr("jumok.server.translate.short_orders.EngineQueue.step", lambda *_: 1 / 0)
        assert [getattr(one, "code", "") for one in together(worker, *orders)] == ["internal", "internal"]
    assert "ZeroDivisionError" in caplog.text
    for order, answers in zip(orders, together(worker, *orders), strict=True):
        order.check(answers)


def test_those_that_wait_count_for_the_queue(demos: dict[str, Translator]) -> None:
    translator = demos["rnn"]
    worker = quick_worker(translator, queue=2)
    found = together(worker, *(order_for(translator, f"a man {n}", max_len=3) for n in range(4)))
    assert [getattr(one, "code", "answered") for one in found] == ["answered"] * 2 + ["queue_full"] * 2
    assert "2 requests are waiting for this model" in str(found[2])


def test_what_is_answered_is_measured(demos: dict[str, Translator]) -> None:
    translator = demos["rnn"]
    worker = quick_worker(translator)
    together(worker, order_for(translator, "a man", "the dog"))
    value = worker.metrics.value
    assert value("jumok_translate_sentences_total", model="tiny", side="source") == 2
    assert value("jumok_translate_duration_seconds_count", model="tiny") == 1
