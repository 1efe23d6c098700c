"""The batch that everyone shares: no answer is mixed up, lost, late or spoiled by a neighbour."""

import asyncio
import copy
import gc
import threading
import time
from collections.abc import AsyncIterator
from typing import Any

import pytest
import torch
from tests.decoding.conftest import TINY, untrained
from tests.server.conftest import WorkerGate, wait_until

from jumok.answers import Lead
from jumok.decoding.engines import NativeEngine
from jumok.decoding.results import Translation
from jumok.decoding.stream import Partial
from jumok.decoding.translator import Translator, load
from jumok.native.library import available
from jumok.server.gates.limits import Limits
from jumok.server.gates.problems import Problem
from jumok.server.metrics import Metrics
from jumok.server.translate.order import DecodingOrder, make_order
from jumok.server.translate.worker import Worker

LIMITS = Limits()


def worker_for(translator: Translator, *, queue_s: float = 1000.0, **limits: Any) -> Worker:
    """A worker that is patient, as busy as the machine may be."""
    return Worker("tiny", translator, Limits(queue_s=queue_s, **limits), Metrics())


def order_for(translator: Translator, *texts: str, **options: Any) -> DecodingOrder:
    return make_order(translator, texts, {"beam": 2, "max_len": 12, **options}, LIMITS)


def soon() -> float:
    return time.monotonic() + 120


@pytest.fixture(params=TINY)
def translator(tiny_models: dict[str, Translator], request: pytest.FixtureRequest) -> Translator:
    return tiny_models[request.param]


def test_answers_are_those_of_the_translator(translator: Translator) -> None:
    texts = ("a man rides", "", "the dog sees a man! " * 4, "a man rides", "나는 어제 영화를 봤다.")
    order = order_for(translator, *texts, n_best=2)
    worker = worker_for(translator)
    found = asyncio.run(worker.translate(order, soon()))
    expected = translator.translate(list(texts), beam=2, max_len=12, n_best=2)
    assert [one.source for one in found] == list(texts)
    assert [one.text for one in found] == [one.text for one in expected]
    for one, other in zip(found, expected, strict=True):
        assert one.score == pytest.approx(other.score, abs=1e-4)
        assert [each.text for each in one.alternatives] == [each.text for each in other.alternatives]
    order.check(found)
    worker.close()


def test_300_tagged_requests_with_cancels_are_never_mixed_up(tiny_models: dict[str, Translator]) -> None:
    translator = tiny_models["luong"]
    texts = [f"{'a man sees the dog '[: n % 19]}{n}" for n in range(300)]
    alone = [one.text for one in translator.translate(texts, beam=1, max_len=6)]
    worker = worker_for(translator, queue=300)

    async def one(number: int) -> str | None:
        await asyncio.sleep(number % 7 * 0.01)
        order = order_for(translator, texts[number], beam=1, max_len=6)
        task = asyncio.ensure_future(worker.translate(order, soon()))
        if number % 5 == 0:
            await asyncio.sleep(number % 3 * 0.004)
            task.cancel()
        try:
            found = await task
        except asyncio.CancelledError:
            return None
        order.check(found)
        return found[0].text

    async def all_of_them() -> list[str | None]:
        return await asyncio.gather(*map(one, range(300)))

    answers = asyncio.run(all_of_them())
    for number, answer in enumerate(answers):
        assert answer == alone[number] or (answer is None and number % 5 == 0)
    assert sum(answer is not None for answer in answers) >= 240
    wait_until(lambda: not worker._tickets)
    assert worker._load == 0
    assert not worker._keys
    worker.close()


async def entered(worker: Worker, order: DecodingOrder, into: list[str]) -> Any:
    """A task whose order waits at the worker; its texts come into the list when it is done."""
    before = len(worker._tickets)
    task = asyncio.ensure_future(worker.translate(order, soon()))
    task.add_done_callback(lambda _: into.append(order.texts[0]))
    while len(worker._tickets) == before:
        await asyncio.sleep(0)
    return task


def test_a_newcomer_joins_the_running_batch(tiny_models: dict[str, Translator]) -> None:
    translator, done = tiny_models["transformer"], list[str]()
    worker = worker_for(translator)

    async def both() -> None:
        long = order_for(translator, "a man", beam=1, max_len=40, min_len=40)
        with WorkerGate(worker) as gate:
            first = await entered(worker, long, done)
            await asyncio.to_thread(gate.let)  # it is at work
            short = order_for(translator, "the dog", beam=1, max_len=2)
            second = await entered(worker, short, done)
            gate.open()
            await asyncio.gather(first, second)

    asyncio.run(both())
    assert done == ["the dog", "a man"]
    worker.close()


def test_who_leaves_is_out_within_a_step(tiny_models: dict[str, Translator]) -> None:
    translator = tiny_models["rnn"]
    worker = worker_for(translator)

    async def leave() -> None:
        order = order_for(translator, "a man", beam=4, max_len=50, min_len=50)
        task = await entered(worker, order, [])
        await asyncio.to_thread(gate.let, 2)
        assert worker._load > 0
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await asyncio.to_thread(gate.let)

    with WorkerGate(worker) as gate:
        asyncio.run(leave())
        assert (worker._load, worker._tickets, worker._keys) == (0, {}, {})
    worker.close()


def test_the_deadline_takes_work_out(tiny_models: dict[str, Translator]) -> None:
    worker = worker_for(tiny_models["rnn"], deadline_s=0.05)
    order = order_for(tiny_models["rnn"], "a man", max_len=50, min_len=50)

    async def too_late() -> None:
        task = await entered(worker, order, [])
        await asyncio.to_thread(gate.let, 2)
        [ticket] = worker._tickets
        ticket.deadline = time.monotonic()
        await asyncio.to_thread(gate.let)
        await task

    with WorkerGate(worker) as gate:
        with pytest.raises(Problem, match="no answer within 0.05 seconds") as found:
            asyncio.run(too_late())
        assert (worker._load, worker._tickets) == (0, {})
    assert (found.value.status_code, found.value.code) == (504, "deadline")
    worker.close()


@pytest.mark.parametrize("queue", [1, 3])
def test_no_more_wait_than_the_limit_says(tiny_models: dict[str, Translator], queue: int) -> None:
    """At the limit one is let in, above it none; those in the batch are not counted."""
    translator = tiny_models["rnn"]
    worker = worker_for(translator, queue=queue)

    async def crowd() -> list[Any]:
        orders = [order_for(translator, f"a man {number}", max_len=3) for number in range(queue + 2)]
        tasks = [await entered(worker, order, []) for order in orders[:queue]]
        assert len(worker._queue) == queue
        with pytest.raises(Problem, match=f"{queue} requests are waiting for this model") as found:
            worker._enter(orders[queue], soon(), None)
        assert (found.value.status_code, found.value.headers) == (429, {"Retry-After": "1"})
        await asyncio.to_thread(gate.let)
        tasks.append(await entered(worker, orders[queue + 1], []))
        gate.open()
        return await asyncio.gather(*tasks)

    with WorkerGate(worker) as gate:
        assert len(asyncio.run(crowd())) == queue + 1
    worker.close()


def test_who_comes_is_refused_while_one_waits_for_too_long(tiny_models: dict[str, Translator]) -> None:
    """Who is in the batch does not wait, nor the rest of a request whose first part is there."""
    translator = tiny_models["rnn"]
    worker = worker_for(translator, queue_s=60, work=1)  # room for one job at a time

    async def crowd() -> None:
        orders = [order_for(translator, f"a man {number}", max_len=3) for number in range(6)]
        long = order_for(translator, "a", "b", "c", "d", "e", "f", max_len=3)
        tasks = [await entered(worker, long, [])]
        await asyncio.to_thread(gate.let)
        [begun] = worker._tickets
        begun.entered -= 61
        tasks.append(await entered(worker, orders[0], []))
        ticket = list(worker._tickets)[-1]
        ticket.entered -= 61  # it has not been passed over yet
        tasks.append(await entered(worker, orders[1], []))
        await asyncio.to_thread(gate.let)
        ticket.entered += 2
        tasks.append(await entered(worker, orders[2], []))  # 59 seconds
        ticket.entered -= 2
        with pytest.raises(Problem, match="wait for this model for more than 60 seconds") as found:
            worker._enter(orders[3], soon(), None)
        assert (found.value.status_code, found.value.code) == (429, "queue_full")
        tasks[1].cancel()
        await asyncio.gather(tasks.pop(1), return_exceptions=True)
        await asyncio.to_thread(gate.let)
        tasks.append(await entered(worker, orders[4], []))
        gate.open()
        assert all(await asyncio.gather(*tasks))

    with WorkerGate(worker) as gate:
        asyncio.run(crowd())
    worker.close()


def poisoned(arch: str) -> Translator:
    """A model that reads the letter Z as what is not a number."""
    translator = Translator(untrained(TINY[arch]))
    model = translator.model
    model.source_embedding = copy.deepcopy(model.source_embedding)  # it writes Z as before
    with torch.no_grad():
        model.source_embedding.weight[translator.tokenizers.source.encode("Z")[-1]] = torch.nan
    return translator


@pytest.mark.parametrize("arch", TINY)
def test_weights_that_are_not_numbers_fail_their_own_request_only(arch: str) -> None:
    translator = poisoned(arch)
    texts = [f"a man {number}" for number in range(15)]
    alone = [one.text for one in translator.translate(texts, beam=2, max_len=4)]
    worker = worker_for(translator)

    async def ask(text: str) -> str:
        try:
            [found] = await worker.translate(order_for(translator, text, max_len=4), soon())
        except Problem as problem:
            return problem.code
        return found.text

    async def together() -> list[str]:
        return await asyncio.gather(*map(ask, [*texts[:8], "Z", *texts[8:]]))

    answers = asyncio.run(together())
    assert answers.pop(8) == "model_numeric_error"
    assert answers == alone
    worker.close()


def test_a_stream_grows_and_ends_with_the_translation(translator: Translator) -> None:
    text = "a man rides a horse. the dog sees a man! one two three four"
    worker = worker_for(translator)

    async def collect() -> list[Partial | Translation]:
        return [part async for part in worker.stream(order_for(translator, text), soon())]

    *parts, last = asyncio.run(collect())
    assert isinstance(last, Translation)
    assert last.text == translator.translate(text, beam=2, max_len=12).text
    own = [one for one in translator.stream(text, beam=2, max_len=12)][:-1]
    assert [part.text for part in parts if isinstance(part, Partial)] == [one.text for one in own]
    assert [part.t for part in parts if isinstance(part, Partial)] == list(range(1, len(own) + 1))
    worker.close()


def test_a_stream_that_is_left_leaves_the_batch(tiny_models: dict[str, Translator]) -> None:
    translator = tiny_models["luong"]
    worker = worker_for(translator)

    complaints: list[dict[str, Any]] = []

    async def peek() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _, about: complaints.append(about))
        parts: AsyncIterator[Any] = worker.stream(
            order_for(translator, "a man", max_len=500, min_len=500), soon()
        )
        async for part in parts:
            assert part.t == 1
            break
        await parts.aclose()  # type: ignore[attr-defined]
        await asyncio.to_thread(wait_until, lambda: worker._load == 0 and not worker._tickets)
        del parts, part
        await asyncio.sleep(0)
        gc.collect()

    asyncio.run(peek())
    assert complaints == []  # that it was dropped is news to no one
    worker.close()


@pytest.mark.skipif(not available(), reason="the C library was not built")
def test_a_native_stream_that_is_left_ends_at_its_next_step(monkeypatch: pytest.MonkeyPatch) -> None:
    translator = load("demo/transformer", "cpu")
    worker = worker_for(translator)

    async def peek() -> None:
        parts = worker.stream(order_for(translator, "5. März 2024"), soon())
        async for _ in parts:
            break
        await parts.aclose()
        await asyncio.to_thread(wait_until, lambda: not worker._keys and not worker._tickets)

    told = threading.Event()

    def endless(self: Any, job: Any, request: Any, follow: Any) -> Any:
        while True:  # as a search that is longer than any client is patient
            follow(Lead((4,), -1.0, 1))
            told.set()

    monkeypatch.setattr(NativeEngine, "followed", endless)
    asyncio.run(peek())
    assert told.is_set()
    worker.close()


@pytest.mark.skipif(not available(), reason="the C library was not built")
def test_streams_that_wait_for_each_other_take_no_room_of_those_who_only_want_an_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    translator = load("demo/transformer", "cpu")
    [part] = order_for(translator, "5. März 2024").costs.values()
    worker = worker_for(translator, work=part, queue_s=0.0)  # room for one job
    go_on, followed = threading.Event(), NativeEngine.followed

    def held(*asked: Any) -> Any:
        assert go_on.wait(120)
        return followed(*asked)

    monkeypatch.setattr(NativeEngine, "followed", held)

    async def collect(parts: AsyncIterator[Any]) -> Any:
        return [part async for part in parts][-1]

    async def ask() -> tuple[Any, list[Any]]:
        order = order_for(translator, "5. März 2024")
        streams = [asyncio.create_task(collect(worker.stream(order, soon()))) for _ in range(3)]
        await asyncio.to_thread(wait_until, lambda: len(worker._keys) == 3)
        plain = await worker.translate(order, soon())
        go_on.set()
        return plain, await asyncio.gather(*streams)

    plain, streams = asyncio.run(ask())
    assert plain == [translator.translate("5. März 2024", beam=2, max_len=12)]
    assert streams == plain * 3
    worker.close()


def test_blank_texts_need_no_model(tiny_models: dict[str, Translator]) -> None:
    worker = worker_for(tiny_models["rnn"])
    [found] = asyncio.run(worker.translate(order_for(tiny_models["rnn"], "  "), soon()))
    assert (found.text, found.source) == ("  ", "  ")
    assert worker._thread is None
    worker.close()


def test_a_fault_of_ours_is_told_to_all_and_the_next_are_served(
    tiny_models: dict[str, Translator], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    translator = tiny_models["rnn"]
    worker = worker_for(translator)

    async def ask() -> list[Any]:
        orders = [order_for(translator, text) for text in ("a man", "the dog")]
        return await asyncio.gather(
            *(worker.translate(order, soon()) for order in orders), return_exceptions=True
        )

    with monkeypatch.context() as broken:
        broken.setattr("jumok.server.translate.worker.EngineQueue.step", lambda _: 1 / 0)
        assert [getattr(one, "code", "") for one in asyncio.run(ask())][0] == "internal"
    assert "ZeroDivisionError" in caplog.text
    assert all(isinstance(one, list) for one in asyncio.run(ask()))
    worker.close()


def test_a_closed_worker_says_so(tiny_models: dict[str, Translator]) -> None:
    translator = tiny_models["rnn"]
    worker = worker_for(translator)
    order = order_for(translator, "a man", max_len=500, min_len=500)

    async def close_meanwhile() -> None:
        task = await entered(worker, order, [])
        await asyncio.to_thread(gate.let)
        worker.close()
        gate.open()
        await task

    assert worker.alive
    with WorkerGate(worker) as gate, pytest.raises(Problem, match="the server is stopping"):
        asyncio.run(close_meanwhile())
    assert not worker.alive
    with pytest.raises(Problem, match="the server is stopping"):
        asyncio.run(worker.translate(order, soon()))


def test_many_texts_of_one_do_not_hold_up_a_single_one(tiny_models: dict[str, Translator]) -> None:
    """Jobs join in turns: a request of one text waits for a place, not for all texts of the one before."""
    translator, done = tiny_models["rnn"], list[str]()
    worker = worker_for(translator, work=200)  # room for a few jobs at a time

    async def both() -> None:
        many = order_for(translator, *(f"a man {n}" for n in range(40)), beam=1, max_len=30, min_len=30)
        with WorkerGate(worker) as gate:
            big = await entered(worker, many, done)
            await asyncio.to_thread(gate.let)
            single = await entered(worker, order_for(translator, "the dog", beam=1, max_len=2), done)
            gate.open()
            await asyncio.gather(big, single)

    asyncio.run(both())
    assert done == ["the dog", "a man 0"]
    worker.close()


def test_what_it_counts(tiny_models: dict[str, Translator]) -> None:
    translator = tiny_models["rnn"]
    worker = worker_for(translator)
    asyncio.run(worker.translate(order_for(translator, "a man", "the dog", max_len=3, min_len=3), soon()))
    metrics = worker.metrics
    assert metrics.value("jumok_translate_sentences_total", model="tiny", side="source") == 2
    assert metrics.value("jumok_translate_tokens_total", model="tiny", side="source") == 4
    assert metrics.value("jumok_translate_tokens_total", model="tiny", side="target") == 6
    text = metrics.render()
    assert 'jumok_translate_duration_seconds_count{model="tiny"} 1' in text
    assert 'jumok_queue_wait_seconds_count{model="tiny"} 1' in text
    assert 'jumok_batch_sentences_bucket{le="2.0",model="tiny"}' in text
    worker.close()


def test_two_texts_of_a_request_that_fail_together_harm_no_one_else() -> None:
    translator = poisoned("rnn")
    alone = translator.translate("a man", beam=2, max_len=4).text
    worker = worker_for(translator)

    async def together() -> list[Any]:
        orders = [order_for(translator, *texts, max_len=4) for texts in (("Z", "Z Z"), ("a man",))]
        return await asyncio.gather(
            *(worker.translate(order, soon()) for order in orders), return_exceptions=True
        )

    bad, [good] = asyncio.run(together())
    assert bad.code == "model_numeric_error"
    assert good.text == alone
    worker.close()


class Visit(float):
    """A deadline that, when it is looked at, lets someone else come in."""

    visit: Any

    def __lt__(self, now: object) -> bool:
        self.visit()
        return False


def test_one_may_come_while_the_thread_looks_around(tiny_models: dict[str, Translator]) -> None:
    translator = tiny_models["rnn"]
    worker = worker_for(translator)
    guests: list[asyncio.Task[list[Translation]]] = []

    async def scene() -> list[list[Translation]]:
        loop = asyncio.get_running_loop()
        order = order_for(translator, "a man", max_len=4, min_len=4)

        def enter() -> None:
            guests.append(loop.create_task(worker.translate(order, soon())))
            loop.call_later(0.001, come_in.set)

        def visit() -> None:
            if not guests:
                loop.call_soon_threadsafe(enter)
                come_in.wait(120)

        come_in, deadline = threading.Event(), Visit(soon())
        deadline.visit = visit
        return [await worker.translate(order, deadline), await guests[0]]

    first, second = asyncio.run(scene())
    assert [one.text for one in first] == [one.text for one in second]
    worker.close()


@pytest.mark.parametrize("part", ["finish", "search_for"])
def test_a_fault_around_one_request_is_told_to_it_alone(
    tiny_models: dict[str, Translator], part: str, caplog: pytest.LogCaptureFixture
) -> None:
    translator = copy.copy(tiny_models["luong"])
    translator._engine = copy.copy(translator._engine)
    worker = worker_for(translator)
    owner = translator if part == "finish" else translator._engine
    right = getattr(owner, part)
    orders = [order_for(translator, text, max_len=4) for text in ("a man", "the dog")]

    def wrong(what: Any, *rest: Any) -> Any:
        if what in (orders[0].texts[0], orders[0].parts[0].jobs[0]):
            raise ZeroDivisionError
        return right(what, *rest)

    setattr(owner, part, wrong)

    async def together() -> list[Any]:
        work = [worker.translate(order, soon()) for order in orders]
        return await asyncio.gather(*work, return_exceptions=True)

    bad, good = asyncio.run(together())
    assert bad.code == "internal"
    assert isinstance(good, list)
    assert "ZeroDivisionError" in caplog.text
    assert (worker._load, worker._keys, worker._tickets) == (0, {}, {})
    worker.close()


def test_a_thread_that_has_ended_is_said_at_once(tiny_models: dict[str, Translator]) -> None:
    translator = tiny_models["rnn"]
    worker = worker_for(translator)
    worker._thread = threading.Thread(target=int)
    worker._thread.start()
    worker._thread.join()
    with pytest.raises(Problem, match="503: the worker of this model has ended"):
        asyncio.run(worker.translate(order_for(translator, "a man"), soon()))


@pytest.mark.skipif(not available(), reason="the C library was not built")
def test_the_native_engine_has_orders_and_streams_for_itself() -> None:
    translator = load("demo/rnn", "cpu")
    assert translator.engine["name"] == "native"
    worker = worker_for(translator)
    texts = ["5. März 2024", "den 5 mars 2024", "1. April 1999", ""]

    async def ask() -> tuple[list[Any], list[list[Any]]]:
        orders = [order_for(translator, text, beam=1 + n % 2) for n, text in enumerate(texts)]
        late = worker.translate(orders[0], time.monotonic() - 1)
        waiting = (worker.translate(order, soon()) for order in orders)
        streams = [collect(worker.stream(order, soon())) for order in orders[:2]]
        found = await asyncio.gather(late, *waiting, *streams, return_exceptions=True)
        return found[:-2], found[-2:]

    async def collect(parts: AsyncIterator[Any]) -> list[Any]:
        return [part async for part in parts]

    (late, *found), streams = asyncio.run(ask())
    assert late.code == "deadline"
    whole = [translator.translate(text, beam=1 + n % 2) for n, text in enumerate(texts)]
    assert [one[0] for one in found] == whole
    for n, parts in enumerate(streams):
        alone = [one for one in translator.stream(texts[n], beam=1 + n) if isinstance(one, Partial)]
        assert parts == [*alone, whole[n]]
    assert worker._batch is None  # torch had nothing to do
    worker.close()


@pytest.mark.skipif(not available(), reason="the C library was not built")
def test_two_texts_that_fail_in_one_call_of_the_engine_harm_no_one_behind_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    translator = load("demo/rnn", "cpu")
    plain, worker = type(translator.inside).answers, worker_for(translator)
    fine = ["5. März 2024", "6. März 2024"]
    bad = [tuple(translator.tokenizers.source.encode(text)) for text in ("1. April 1999", "2. April 1999")]

    def answers(self: Any, jobs: Any, *rest: Any) -> Any:
        if any(job.source in bad for job in jobs):
            raise ArithmeticError("April")
        return plain(self, jobs, *rest)

    monkeypatch.setattr(type(translator.inside), "answers", answers)

    async def together() -> list[Any]:
        orders = [("1. April 1999", "2. April 1999"), fine]  # they join in turns
        tasks = [await entered(worker, order_for(translator, *texts), []) for texts in orders]
        gate.open()
        return await asyncio.gather(*tasks, return_exceptions=True)

    with WorkerGate(worker) as gate:
        failed, good = asyncio.run(together())
    assert isinstance(failed, Problem)
    assert good == translator.translate(fine, beam=2, max_len=12)
    worker.close()
