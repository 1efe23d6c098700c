"""Server-sent events: how they are written, kept alive and ended."""

import asyncio
import logging
import time
from collections.abc import AsyncGenerator
from contextlib import ExitStack
from typing import Any

from fastapi import Request
from fastapi.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from jumok.errors import Error
from jumok.server.gates.problems import Problem, document, dump, from_error, internal, request_id
from jumok.server.services import Services

log = logging.getLogger("jumok.server")

LOOK_S = 1.0  # between two looks whether the server is stopping

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


def sse(
    request: Request, services: Services, events: AsyncGenerator[Event], *, endless: bool = False
) -> "EventStream":
    """An answer that sends events as they come, a comment when none has come for a while, and errors as one.

    Takes one of the server's places for streams until it ends; 429 if there is none. A stream that is
    `endless` by nature ends when the server stops.
    """
    place = ExitStack()
    place.enter_context(services.streams.take())
    return EventStream(beating(request, services, events, endless=endless), place)


async def beating(
    request: Request, services: Services, events: AsyncGenerator[Event], *, endless: bool
) -> AsyncGenerator[bytes]:
    """Encoded events and heartbeats. A problem becomes an `error` event and the end."""
    pending, silent_since = asyncio.ensure_future(next_of(events)), time.monotonic()
    beat = services.limits.heartbeat_s
    try:
        while not (endless and services.draining):
            done, _ = await asyncio.wait({pending}, timeout=min(beat, LOOK_S))
            if done:
                event = pending.result()
                if event is None:
                    return
                pending = asyncio.ensure_future(next_of(events))
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


async def next_of(events: AsyncGenerator[Event]) -> Event | None:
    return await anext(events, None)


def as_problem(error: Exception) -> Problem:
    match error:
        case Problem():
            return error
        case Error():
            return from_error(error)
        case _:
            log.error("a stream failed", exc_info=error)
            return internal()


class EventStream(StreamingResponse):
    """A stream of events that gives its place back however it ends."""

    def __init__(self, content: AsyncGenerator[bytes], place: ExitStack) -> None:
        super().__init__(content, media_type="text/event-stream", headers={"Cache-Control": "no-store"})
        self.place, self.content = place, content

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            self.place.close()
            await self.content.aclose()
