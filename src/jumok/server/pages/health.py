"""For those who run the server: is it alive, is it ready, what has it done, what can it do."""

import asyncio
import time

from fastapi import APIRouter, Request
from fastapi.responses import Response

from jumok.errors import Error
from jumok.server.gates.bodies import problem_of
from jumok.server.gates.problems import Problem, dump
from jumok.server.services import ServedModel, Services, SharedServices
from jumok.server.translate.order import make_order

router = APIRouter(tags=["operations"])

SELF_TEST_S = 10.0


@router.get("/health", response_model=dict[str, str], tags=["libretranslate"])
@router.get("/health/live", response_model=dict[str, str])
async def live() -> dict[str, str]:
    """The process answers. No health endpoint needs a key."""
    return {"status": "ok"}


@router.get("/health/ready", response_model=dict[str, str], responses={503: problem_of("Not ready.")})
async def ready(services: SharedServices) -> dict[str, str]:
    """All models are loaded and each has passed a self-test of one token."""
    if services.draining:
        raise Problem(503, "draining", "the server is stopping")
    await self_test(services)
    return {"status": "ok"}


async def self_test(services: Services) -> None:
    """Let each model write one token, once; 503 says which one could not."""
    for served in services.models.values():
        if not served.worker.alive:
            raise Problem(503, "not_ready", f"the worker of {served.name} has ended")
        if served.name not in services.tested:
            await try_model(served, services)
            services.tested.add(served.name)


async def try_model(served: ServedModel, services: Services) -> None:
    """Let a model write one token; 503 if it cannot."""
    try:
        first = served.translator.directions[0]
        await one_token(served.facing(first.target, first.source), services)
    except (Problem, Error, TimeoutError) as error:
        raise Problem(503, "not_ready", f"the self-test of {served.name} failed") from error


async def one_token(served: ServedModel, services: Services) -> None:
    text = served.translator.tokenizers.blank_source
    options = {"beam": 1, "n_best": 1, "max_len": 1, "min_len": 0, "long": "cut"}
    order = await asyncio.to_thread(make_order, served.translator, [text], options, services.limits)
    deadline = time.monotonic() + SELF_TEST_S
    order.check(await asyncio.wait_for(served.worker.translate(order, deadline, patient=True), SELF_TEST_S))


@router.get("/metrics", response_class=Response, responses={200: {"content": {"text/plain": {}}}})
async def metrics(services: SharedServices) -> Response:
    """Figures in the text form of Prometheus: no text, no addresses, no paths."""
    return Response(services.metrics.render(), media_type="text/plain; version=0.0.4; charset=utf-8")


@router.get("/openapi.json", include_in_schema=False)
async def openapi(request: Request) -> Response:
    """This API, described for programs."""
    return Response(dump(request.app.openapi()), media_type="application/json")
