"""`/v1/translate/stream`: a translation while it grows, as server-sent events.

Nothing is kept for a client that comes back: a translation is a pure function of its request, so the same
request with `Last-Event-ID` is decoded again and goes on after that event.
"""

import asyncio
import hashlib
import time
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Annotated

from fastapi import Header, Request
from fastapi.responses import Response, StreamingResponse

from jumok.decoding.stream import Partial
from jumok.server.events import EVENTS, Event, stream_events
from jumok.server.gates.bodies import api_router
from jumok.server.schema import StreamRequest
from jumok.server.services import ServedModel, SharedServices, deadline_of
from jumok.server.translate.order import DecodingOrder, make_order
from jumok.server.translate.routes import result_fields

router = api_router("translate")


@router.post("/v1/translate/stream", response_class=StreamingResponse, responses=EVENTS)
async def stream(
    asked: StreamRequest,
    request: Request,
    services: SharedServices,
    last_event_id: Annotated[str | None, Header(max_length=64)] = None,
) -> Response:
    """`start`, then `partial` after each step, then `final`; `error` ends a stream that failed.

    The first `stable` tokens of a partial never change. Sent again with `Last-Event-ID`, a request goes on
    after that event.
    """
    served = services.model(asked.model)
    order = await asyncio.to_thread(
        make_order, served.translator, [asked.text], asked.chosen(), services.limits
    )
    deadline = deadline_of(request, services.limits)
    return stream_events(request, services, translation_events(served, order, deadline, last_event_id or ""))


async def translation_events(
    served: ServedModel, order: DecodingOrder, deadline: float, last: str
) -> AsyncGenerator[Event]:
    """The events of one translation after the one with the id `last`."""
    began = time.perf_counter()
    name = stream_name(served, order)
    seen = int(last.rpartition(".")[2]) if last.startswith(f"{name}.") and last[17:].isdecimal() else -1
    if seen < 0:
        ids = [id for jobs in order.parts for job in jobs for id in job.source]
        tokens = served.translator.tokenizers.source.pieces(ids)
        yield Event("start", {"id": name, "model": served.name, "source_tokens": tokens}, f"{name}.0")
    async with aclosing(served.worker.stream(order, deadline)) as parts:
        async for part in parts:
            if isinstance(part, Partial):
                if part.t > seen:
                    yield Event("partial", part.to_dict(), f"{name}.{part.t}")
            else:
                order.check([part])
                ms = round((time.perf_counter() - began) * 1000, 1)
                yield Event("final", {**result_fields(part), "ms": ms})


def stream_name(served: ServedModel, order: DecodingOrder) -> str:
    """The same for the same request to the same model, and for no other."""
    key = f"{served.name} {served.fingerprint} {order.digest} {order.request!r}"
    return hashlib.sha256(key.encode()).hexdigest()[:16]
