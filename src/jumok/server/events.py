"""Server-sent events: how they are written, kept alive and ended."""

import asyncio
import time
from collections.abc import AsyncGenerator
from contextlib import ExitStack, aclosing
from typing import Any

from fastapi import Request
from fastapi.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from jumok.server.gates.problems import as_problem, document, dump, internal, request_id, too_late
from jumok.server.services import Services, deadline_of

LOOK_S = 1.0  # between two looks whether the server is stopping
AHEAD = 64  # events that wait for a slow reader
HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}  # a proxy passes events on as they come

EVENT = {
    "type": "object",
    "properties": {
        "event": {"type": "string"},
        "data": {"type": "string", "contentMediaType": "application/json"},
        "id": {"type": "string"},
    },
    "required": ["event", "data"],
}
EVENTS: dict[int | str, dict[str, Any]] = {200: {"content": {"text/event-stream": {"schema": EVENT}}}}
"""The answer of a route that streams, for the OpenAPI document."""


class Event:
    """One server-sent event."""

    def __init__(self, name: str, data: object, id: str = "") -> None:
        self.name, self.data, self.id = name, data, id

    def encode(self) -> bytes:
        """`event`, `id` if there is one, and `data` as one line of JSON."""
        id = f"id: {self.id}\n".encode() if self.id else b""
        return b"event: %s\n%sdata: %s\n\n" % (self.name.encode(), id, dump(self.data))


def wants_events(request: Request, *, usual: bool) -> bool:
    """Whether a client asks for server-sent events; `usual` is for one that takes anything."""
    accept = request.headers.get("accept", "")
    return "text/event-stream" in accept or (usual and "application/json" not in accept)


async def final_of(events: AsyncGenerator[Event]) -> Any:
    """The data of the last event, for a client that wants no others."""
    data = None
    async with aclosing(events):
        async for event in events:
            data = event.data
    return data


def stream_events(
    request: Request, services: Services, events: AsyncGenerator[Event], turn: ExitStack | None = None
) -> "EventStream":
    """An answer that sends events as they come, by the deadline; the client's turn lasts as long as they do.

    Takes one of the server's places for streams until it ends; 429 if there is none.
    """
    answer = stream_endless(request, services, events, deadline_of(request, services.limits))
    if turn is not None:
        answer.place.push(turn.pop_all())
    return answer


def stream_endless(
    request: Request, services: Services, events: AsyncGenerator[Event], deadline: float | None = None
) -> "EventStream":
    """As `stream_events`, but without a deadline: it ends when the server stops."""
    place = ExitStack()
    place.enter_context(services.streams.take())
    return EventStream(encoded(request, services, events, deadline), place)


async def encoded(
    request: Request, services: Services, events: AsyncGenerator[Event], deadline: float | None
) -> AsyncGenerator[bytes]:
    """Encoded events, all that have come in one piece, and a comment when none has come for a while.

    An error is the last event: 504 when the deadline has passed; then the work is cancelled.
    """
    came = asyncio.Queue[bytes | None](AHEAD)
    pump = asyncio.ensure_future(encode_all(request, events, came))
    silent_since, beat = time.monotonic(), services.limits.heartbeat_s
    try:
        while deadline is not None or not services.draining:
            left = LOOK_S if deadline is None else deadline - time.monotonic()
            try:
                pieces = [await asyncio.wait_for(came.get(), max(min(left, beat, LOOK_S), 0))]
            except TimeoutError:
                if pump.done() and came.empty():  # cancelled from below, it had no last word
                    yield error_event(request, internal()).encode()
                    return
                if deadline is not None and time.monotonic() >= deadline:
                    yield error_event(request, too_late(services.limits.deadline_s)).encode()
                    return
                if time.monotonic() - silent_since < beat:
                    continue
                yield b": still here\n\n"
            else:
                while not came.empty():
                    pieces.append(came.get_nowait())
                if some := b"".join(filter(None, pieces)):
                    yield some
                if pieces[-1] is None:
                    return
            silent_since = time.monotonic()
    finally:
        pump.cancel()
        await asyncio.gather(pump, return_exceptions=True)
        await events.aclose()


async def encode_all(
    request: Request, events: AsyncGenerator[Event], came: "asyncio.Queue[bytes | None]"
) -> None:
    """Put all events, then None; it goes no further ahead of a slow reader than there is room."""
    try:
        async for event in events:
            await came.put(event.encode())
    except Exception as error:
        await came.put(error_event(request, error).encode())
    await came.put(None)


def error_event(request: Request, error: Exception) -> Event:
    return Event("error", document(as_problem(error), request_id(request.scope)))


class EventStream(StreamingResponse):
    """A stream of events that gives its place back however it ends."""

    def __init__(self, content: AsyncGenerator[bytes], place: ExitStack) -> None:
        super().__init__(content, media_type="text/event-stream", headers=HEADERS)
        self.place, self.content = place, content

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            self.place.close()
            await self.content.aclose()
