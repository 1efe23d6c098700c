"""Server-sent events by themselves: their form, heartbeats, errors and places."""

import asyncio
import time
from collections.abc import AsyncGenerator, MutableMapping
from contextlib import ExitStack, nullcontext
from types import SimpleNamespace
from typing import Any
from unittest.mock import AsyncMock

import pytest
from starlette.requests import ClientDisconnect, Request

from jumok.errors import LimitError
from jumok.server.events import (
    AHEAD,
    Event,
    EventStream,
    encoded,
    final_of,
    stream_endless,
    stream_events,
    wants_events,
)
from jumok.server.gates.limits import Limits
from jumok.server.gates.problems import Problem
from jumok.server.services import Services, StreamPlaces
from jumok.server.settings import ServerSettings


def test_an_event_is_lines_with_json_on_one_of_them() -> None:
    assert Event("partial", {"text": "a\nb\u2028나"}, "x.1").encode() == (
        'event: partial\nid: x.1\ndata: {"text":"a\\nb\u2028나"}\n\n'.encode()
    )
    assert Event("final", 1).encode() == b"event: final\ndata: 1\n\n"
    with pytest.raises(ValueError, match="not JSON compliant"):
        Event("final", float("nan")).encode()


def collect(
    events: AsyncGenerator[Event], *, within_s: float | None = 60.0, draining: bool = False
) -> list[bytes]:
    services: Any = SimpleNamespace(limits=Limits(deadline_s=30), draining=draining)
    request: Any = SimpleNamespace(scope={"state": {"request_id": "r"}})

    async def all_of_them() -> list[bytes]:
        deadline = None if within_s is None else time.monotonic() + within_s
        return [one async for one in encoded(request, services, events, deadline)]

    return asyncio.run(all_of_them())


async def one_after(seconds: float, error: Exception | None = None) -> AsyncGenerator[Event]:
    await asyncio.sleep(seconds)
    yield Event("row", 1)
    if error is not None:
        raise error


def test_silence_is_filled_with_comments() -> None:
    """One comes after each silence of that length: the event waits until there were three."""
    services: Any = SimpleNamespace(limits=Limits(heartbeat_s=0.05), draining=False)
    request: Any = SimpleNamespace(scope={})

    async def scene() -> tuple[list[bytes], float]:
        found, enough, began = list[bytes](), asyncio.Event(), time.monotonic()

        async def events() -> AsyncGenerator[Event]:
            await enough.wait()
            yield Event("row", 1)

        async for one in encoded(request, services, events(), time.monotonic() + 60):
            found.append(one)
            if len(found) == 3:
                enough.set()
                silent = time.monotonic() - began
        return found, silent

    found, silent = asyncio.run(scene())
    assert found[:3] == [b": still here\n\n"] * 3
    assert found[-1] == b"event: row\ndata: 1\n\n"
    assert silent >= 0.14


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (Problem(504, "deadline", "late"), b'"code":"deadline"'),
        (LimitError("too many", code="too_long"), b'"code":"too_long"'),
        (RuntimeError("secret"), b'"code":"internal"'),
    ],
)
def test_an_error_is_the_last_event(error: Exception, code: bytes) -> None:
    row, _, last = b"".join(collect(one_after(0, error))).partition(b"\n\n")
    assert row == b"event: row\ndata: 1"
    assert last.startswith(b"event: error\ndata: {")
    assert last.endswith(b"}\n\n")
    assert code in last
    assert b"secret" not in last


def test_a_source_that_is_cancelled_from_below_ends_its_stream_at_once() -> None:
    """And not at the deadline, which is an hour away."""

    async def events() -> AsyncGenerator[Event]:
        yield Event("row", 1)
        raise asyncio.CancelledError

    row, _, last = b"".join(collect(events(), within_s=3600)).partition(b"\n\n")
    assert row == b"event: row\ndata: 1"
    assert b'"code":"internal"' in last


def test_an_endless_stream_ends_when_the_server_stops() -> None:
    assert collect(one_after(60), within_s=None, draining=True) == []


def test_a_stream_takes_a_place() -> None:
    services: Any = SimpleNamespace(limits=Limits(), draining=False, streams=StreamPlaces(1))
    request: Any = SimpleNamespace(scope={})

    async def twice() -> None:
        first = stream_endless(request, services, one_after(0))
        with pytest.raises(Problem, match="all 1 event streams are taken"):
            stream_endless(request, services, one_after(0))
        assert services.streams.taken == 1
        del first  # an answer that is never sent gives its place back
        assert services.streams.taken == 0

    asyncio.run(twice())


def request_of(accept: str = "", client: str = "10.0.0.1") -> Request:
    async def receive() -> dict[str, str]:
        await asyncio.sleep(60)
        return {"type": "http.disconnect"}

    headers = [(b"accept", accept.encode())] if accept else []
    return Request({"type": "http", "headers": headers, "client": (client, 1), "state": {}}, receive)


def services_with(**limits: float) -> Services:
    return Services({}, ServerSettings(limits=Limits(**limits)))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("accept", "expected"),
    [
        ("", (False, True)),
        ("*/*", (False, True)),
        ("application/json", (False, False)),
        ("text/event-stream", (True, True)),
        ("application/json, text/event-stream", (True, True)),
    ],
)
def test_who_gets_events(accept: str, expected: tuple[bool, bool]) -> None:
    request = request_of(accept)
    assert (wants_events(request, usual=False), wants_events(request, usual=True)) == expected


def test_events_end_with_the_deadline_and_the_work_with_them() -> None:
    closed = []

    async def events() -> AsyncGenerator[Event]:
        try:
            yield Event("row", 1)
            await asyncio.sleep(600)
        finally:
            closed.append(True)

    row, late = collect(events(), within_s=0.2)
    assert row == b"event: row\ndata: 1\n\n"
    assert late.startswith(b"event: error\ndata: {")
    assert b'"detail":"there was no answer within 30 seconds"' in late
    assert b'"status":504' in late
    assert closed == [True]


def test_events_that_do_not_stop_end_with_the_deadline_too() -> None:
    async def events() -> AsyncGenerator[Event]:
        while True:
            yield Event("row", 1)
            await asyncio.sleep(0)

    assert b'"status":504' in collect(events(), within_s=0.1)[-1]


def test_events_that_have_come_go_out_together_and_no_faster_than_they_are_read() -> None:
    made = []

    async def events() -> AsyncGenerator[Event]:
        for n in range(1000):
            made.append(n)
            yield Event("row", n)

    async def scene() -> None:
        services: Any = SimpleNamespace(limits=Limits(), draining=False)
        rows = encoded(request_of(), services, events(), time.monotonic() + 60)
        first = await anext(rows)
        await asyncio.sleep(0.05)  # a reader that takes its time
        assert len(made) <= 2 * AHEAD + 2
        found = first + b"".join([one async for one in rows])
        assert found == b"".join(Event("row", n).encode() for n in range(1000))
        assert first.count(b"\n\n") > 1

    asyncio.run(scene())


def test_who_wants_no_events_gets_the_last_one() -> None:
    async def events() -> AsyncGenerator[Event]:
        yield Event("progress", {"done": 1})
        yield Event("final", {"found": 2})

    assert asyncio.run(final_of(events())) == {"found": 2}


def test_a_stream_that_finds_no_place_leaves_the_turn_with_its_owner() -> None:
    async def events() -> AsyncGenerator[Event]:
        yield Event("row", 1)

    async def scene() -> None:
        here = services_with(streams=0)
        with await here.turns.take(request_of()) as turn:
            with pytest.raises(Problem, match="all 0 event streams are taken"):
                stream_events(request_of(), here, events(), turn)
            assert here.turns._busy == {"10.0.0.1"}
        assert here.turns._busy == set()

    asyncio.run(scene())


def test_who_leaves_between_two_events_ends_the_work_at_once() -> None:
    closed = []

    async def events() -> AsyncGenerator[Event]:
        try:
            yield Event("row", 1)
            yield Event("row", 2)
        finally:
            closed.append(True)

    async def scene() -> None:
        rows = encoded(request_of(), services_with(), events(), time.monotonic() + 60)
        assert (await anext(rows)).startswith(b"event: row")
        await rows.aclose()
        assert closed == [True]

    asyncio.run(scene())


@pytest.mark.parametrize("gone", [False, True])
def test_a_stream_gives_its_place_back_however_it_ends(*, gone: bool) -> None:
    """While someone still holds the answer: nobody waits for the garbage collector."""
    places, place = StreamPlaces(1), ExitStack()
    place.enter_context(places.take())
    closed: list[bool] = []

    async def content() -> AsyncGenerator[bytes]:
        try:
            yield b": a line\n\n"
            yield b": another\n\n"
        finally:
            closed.append(True)

    async def send(message: MutableMapping[str, Any]) -> None:
        if gone and message.get("body"):
            raise OSError("the client has gone")

    stream = EventStream(content(), place)
    scope = {"type": "http", "asgi": {"spec_version": "2.4"}}
    answer = stream(scope, AsyncMock(), send)
    with pytest.raises(ClientDisconnect) if gone else nullcontext():
        asyncio.run(answer)
    assert places.taken == 0
    assert closed == [True]
