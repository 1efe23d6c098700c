"""How a route waits for an analysis: its client's turn, its deadline, and what a refusal says."""

import asyncio
import time
from collections.abc import AsyncGenerator, Coroutine
from contextlib import ExitStack, aclosing
from typing import Any, TypeVar

from fastapi import Request
from fastapi.responses import Response

from jumok.errors import ConfigError
from jumok.server.events import Event, sse
from jumok.server.gates.problems import Problem, dump, too_late
from jumok.server.services import Services, answered, deadline_of

T = TypeVar("T")

PATIENCE_S = 0.5
LOOK_S = 0.02
QUOTING = ("force_prefix:", "'", '"')  # forced ids spell a text; a tensor's name is in quotes


def json_answer(value: object) -> Response:
    return Response(dump(value), media_type="application/json")


def wants_events(request: Request, *, usual: bool) -> bool:
    """Whether a client asks for server-sent events; `usual` is for one that takes anything."""
    accept = request.headers.get("accept", "")
    if "text/event-stream" in accept:
        return True
    return usual and "application/json" not in accept


async def worked(request: Request, services: Services, work: Coroutine[Any, Any, T]) -> T:
    """What `work` gives, by the deadline and while the client is there; a bad parameter is a 422."""
    try:
        return await answered(request, services, work)
    except ConfigError as error:
        raise refusal(error) from None


def refusal(error: ConfigError) -> Exception:
    """What is wrong with a parameter; of a message that repeats what the client wrote, only its advice."""
    if error.code != "bad_parameter":
        return error
    said = "" if error.message.startswith(QUOTING) else error.message
    return Problem(422, "bad_parameter", ": ".join(part for part in (error.where, said, error.hint) if part))


async def my_turn(request: Request, services: Services) -> ExitStack:
    """The client's turn for a heavy analysis, until the stack is closed; 429 while another of theirs runs.

    A client that has just left one analysis for a newer one waits a moment, until the old one is gone.
    """
    until = time.monotonic() + PATIENCE_S
    stack = ExitStack()
    while True:
        try:
            stack.enter_context(services.turns.take(request))
        except Problem:
            if time.monotonic() > until:
                raise
            await asyncio.sleep(LOOK_S)
        else:
            return stack


def streamed(
    request: Request, services: Services, events: AsyncGenerator[Event], turn: ExitStack | None = None
) -> Response:
    """The events as an answer, by the deadline; the client's turn lasts as long as they do."""
    answer = sse(request, services, within(events, request, services))
    if turn is not None:
        answer.place.push(turn.pop_all())
    return answer


async def within(
    events: AsyncGenerator[Event], request: Request, services: Services
) -> AsyncGenerator[Event]:
    """The events, until the request's deadline; then 504, and the work is cancelled."""
    deadline = deadline_of(request, services.limits)
    try:
        async with aclosing(events):
            while True:
                left = deadline - time.monotonic()
                if (event := await asyncio.wait_for(anext(events, None), left)) is None:
                    return
                yield event
    except TimeoutError:
        raise too_late(services.limits.deadline_s) from None
    except ConfigError as error:
        raise refusal(error) from None
    finally:
        await events.aclose()
