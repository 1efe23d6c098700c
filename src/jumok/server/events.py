"""Server-sent events: how they are written, kept alive and ended."""

import asyncio
import time
from collections.abc import AsyncGenerator
from contextlib import ExitStack, aclosing
from typing import Any

from fastapi import Request
from fastapi.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from jumok.server.gates.problems import as_problem, document, dump, request_id, too_late
from jumok.server.services import Services, deadline_of

LOOK_S = 1.0  # between two looks whether the server is stopping
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
    answer = stream_endless(request, services, within_deadline(events, request, services), endless=False)
    if turn is not None:
        answer.place.push(turn.pop_all())
    return answer


def stream_endless(
    request: Request, services: Services, events: AsyncGenerator[Event], *, endless: bool = True
) -> "EventStream":
    """As `stream_events`, but without a deadline: it ends when the server stops."""
    place = ExitStack()
    place.enter_context(services.streams.take())
    return EventStream(encoded(request, services, events, endless=endless), place)


async def within_deadline(
    events: AsyncGenerator[Event], request: Request, services: Services
) -> AsyncGenerator[Event]:
    """The events, until the request's deadline; then 504, and the work is cancelled."""
    deadline = deadline_of(request, services.limits)
    async with aclosing(events):
        while True:
            left = deadline - time.monotonic()
            try:
                event = await asyncio.wait_for(anext(events, None), left)
            except TimeoutError:
                raise too_late(services.limits.deadline_s) from None
            if event is None:
                return
            yield event


async def encoded(
    request: Request, services: Services, events: AsyncGenerator[Event], *, endless: bool
) -> AsyncGenerator[bytes]:
    """Encoded events, and a comment when none has come for a while. An error is the last event."""

    async def next_event() -> Event | None:
        return await anext(events, None)

    pending, silent_since = asyncio.ensure_future(next_event()), time.monotonic()
    beat = services.limits.heartbeat_s
    try:
        while not (endless and services.draining):
            done, _ = await asyncio.wait({pending}, timeout=min(beat, LOOK_S))
            if done:
                event = pending.result()
                if event is None:
                    return
                pending = asyncio.ensure_future(next_event())
                yield event.encode()
            elif time.monotonic() - silent_since < beat:
                continue
            else:
                yield b": still here\n\n"
            silent_since = time.monotonic()
    except Exception as error:
        yield Event("error", document(as_problem(error), request_id(request.scope))).encode()
    finally:
        pending.cancel()
        await asyncio.gather(pending, return_exceptions=True)
        await events.aclose()


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
