"""Server-sent events by themselves: their form, heartbeats, errors and places."""

import asyncio
from collections.abc import AsyncGenerator
from types import SimpleNamespace
from typing import Any

import pytest

from jumok.errors import LimitError
from jumok.server.events import Event, beating, sse
from jumok.server.gates.limits import Limits
from jumok.server.gates.problems import Problem
from jumok.server.services import Slots


def test_an_event_is_lines_with_json_on_one_of_them() -> None:
    assert Event("partial", {"text": "a\nb\u2028나"}, "x.1").encode() == (
        'event: partial\nid: x.1\ndata: {"text":"a\\nb\u2028나"}\n\n'.encode()
    )
    assert Event("final", 1).encode() == b"event: final\ndata: 1\n\n"
    with pytest.raises(ValueError, match="not JSON compliant"):
        Event("final", float("nan")).encode()


def collect(
    events: AsyncGenerator[Event], heartbeat_s: float = 5.0, *, endless: bool = False, draining: bool = False
) -> list[bytes]:
    services: Any = SimpleNamespace(limits=Limits(heartbeat_s=heartbeat_s), draining=draining)
    request: Any = SimpleNamespace(scope={"state": {"request_id": "r"}})

    async def all_of_them() -> list[bytes]:
        return [one async for one in beating(request, services, events, endless=endless)]

    return asyncio.run(all_of_them())


async def one_after(seconds: float, error: Exception | None = None) -> AsyncGenerator[Event]:
    await asyncio.sleep(seconds)
    yield Event("row", 1)
    if error is not None:
        raise error


def test_silence_is_filled_with_comments() -> None:
    found = collect(one_after(0.2), heartbeat_s=0.05)
    assert found[-1] == b"event: row\ndata: 1\n\n"
    assert 1 <= len(found[:-1]) <= 4
    assert set(found[:-1]) == {b": still here\n\n"}


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (Problem(504, "deadline", "late"), b'"code":"deadline"'),
        (LimitError("too many", code="too_long"), b'"code":"too_long"'),
        (RuntimeError("secret"), b'"code":"internal"'),
    ],
)
def test_an_error_is_the_last_event(error: Exception, code: bytes) -> None:
    first, last = collect(one_after(0, error))
    assert first.startswith(b"event: row")
    assert last.startswith(b"event: error\ndata: {")
    assert code in last
    assert b"secret" not in last


def test_an_endless_stream_ends_when_the_server_stops() -> None:
    assert collect(one_after(60), endless=True, draining=True) == []


def test_a_stream_takes_a_place() -> None:
    services: Any = SimpleNamespace(limits=Limits(), draining=False, streams=Slots(1, "event streams"))
    request: Any = SimpleNamespace(scope={})

    async def twice() -> None:
        first = sse(request, services, one_after(0))
        with pytest.raises(Problem, match="all 1 event streams are taken"):
            sse(request, services, one_after(0))
        assert services.streams.taken == 1
        del first  # an answer that is never sent gives its place back
        assert services.streams.taken == 0

    asyncio.run(twice())
