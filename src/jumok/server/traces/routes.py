"""`/v1/trace` and `/v1/traces`: one translation with every number behind it."""

import hashlib
from collections.abc import Callable, Sequence
from functools import partial
from typing import Annotated, Any

from fastapi import Path, Query, Request
from fastapi.responses import HTMLResponse, Response
from pydantic import Field

from jumok.errors import RunError
from jumok.explain.documents import BeamDocument, ForwardDocument, Manifest
from jumok.explain.tensors import NEED, pack
from jumok.explain.trace import Trace
from jumok.server.analysis import CancelFlag
from jumok.server.events import EVENTS, Event, final_of, stream_events, wants_events
from jumok.server.gates.bodies import api_router, has_copy
from jumok.server.gates.problems import Problem, bad_field, dump, json_answer
from jumok.server.services import Services, SharedServices, answer_in_time
from jumok.server.traces.build import find_trace, question_of, trace_of
from jumok.server.traces.cache import CachedTrace
from jumok.server.traces.schema import InfluenceOut, ReplaceName, TraceRequest, UnitName

router = api_router("traces")

MOST_NEEDS = 256
MEMORY = 8  # bytes that a value of Python takes for each one of its JSON, roughly
TraceId = Annotated[
    str,
    Path(
        max_length=64,
        description="An id of a trace: 16 hexadecimal digits.",
        json_schema_extra={"pattern": "^[0-9a-f]{16}$"},  # any other is one that is not there
    ),
]
NeedName = Annotated[str, Query(max_length=64), Field(json_schema_extra={"pattern": f"^{NEED.pattern}$"})]
Needs = Annotated[
    list[NeedName],
    Query(
        min_length=1,
        max_length=MOST_NEEDS,
        description="`name`, `name:layer` or `name:layer.head`, such as `cross.weights:1.0`; from 0.",
    ),
]
FOREVER = "private, max-age=31536000, immutable"
TENSORS: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "Tensors in the safetensors layout, each under its need.",
        "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
    },
    304: {"description": "The client has these already."},
}
PAGE: dict[int | str, dict[str, Any]] = {
    200: {"description": "One file that needs no server.", "content": {"text/html": {}}}
}


BY_ID = {"parameters": {"id": "$response.body#/id"}}
PARTS = ("trace", "forward", "beam", "influence", "html", "tensors")
LINKS: dict[int | str, dict[str, Any]] = {
    200: {
        "links": {
            f"show_{part}": {
                "operationId": f"show_{part}_v1_traces__id_{'' if part == 'trace' else '_' + part}_get",
                **BY_ID,
            }
            for part in PARTS
        }
    }
}
"""Where a trace can be had once it was made."""


@router.post("/v1/trace", response_model=Manifest, responses=LINKS)
async def trace(body: TraceRequest, request: Request, services: SharedServices) -> Response:
    """The trace of a text and its translation: everything but its tensors, schema `trace/1`.

    It is a pure function of the request and the model: the same request gives the same id.
    """
    question = question_of(body, services)
    kept = await answer_in_time(request, services, trace_of(question, request, services))
    return json_answer(kept.trace.manifest)


@router.post("/v1/forward", response_model=ForwardDocument, responses=LINKS)
async def forward(body: TraceRequest, request: Request, services: SharedServices) -> Response:
    """Every tensor from the ids of a text to the loss of its answer, schema `forward/1`: names, axes, shapes.

    The pass is that of a trace, the one that `/v1/trace` gives for the same request: its numbers are tensors
    of it, `forward.tensor:4` those at place 4 and `forward.tensor:4.1` their second head, or row.
    """
    question = question_of(body, services)
    kept = await answer_in_time(request, services, trace_of(question, request, services))
    return await forward_answer(kept, request, services)


async def forward_answer(kept: CachedTrace, request: Request, services: Services) -> Response:
    work = services.scorer.run(lambda _: dump(kept.trace.forward()))
    return analysis_answer(kept, "forward", await answer_in_time(request, services, work), services)


@router.get("/v1/traces/{id}", response_model=Manifest)
async def show_trace(id: TraceId, request: Request, services: SharedServices) -> Response:
    """A trace that was made before. It is kept for a while; then the same request makes it again."""
    return json_answer((await find_trace(id, request, services)).trace.manifest)


@router.get("/v1/traces/{id}/forward", response_model=ForwardDocument)
async def show_forward(id: TraceId, request: Request, services: SharedServices) -> Response:
    """Every tensor of the pass behind a trace, schema `forward/1`. Not of one with the model changed."""
    return await forward_answer(await find_trace(id, request, services), request, services)


@router.get("/v1/traces/{id}/tensors", response_class=Response, responses=TENSORS)
async def show_tensors(id: TraceId, need: Needs, request: Request, services: SharedServices) -> Response:
    """Tensors of a trace. They never change, so a client may keep them for ever."""
    etag = f'W/"{id}-{hashlib.sha256(" ".join(need).encode()).hexdigest()[:16]}"'
    kept = await find_trace(id, request, services)
    headers = {"ETag": etag, "Cache-Control": FOREVER}
    if has_copy(request, etag):
        return Response(status_code=304, headers=headers)
    work = services.scorer.run(pack_tensors, kept.trace, need, services.limits.trace_bytes)
    data = await answer_in_time(request, services, work)
    services.traces.trim()
    return Response(data, headers=headers, media_type="application/octet-stream")


def pack_tensors(flag: CancelFlag, trace: Trace, needs: Sequence[str], most: int) -> bytes:
    """The tensors named; 422 beyond so many bytes."""
    found: dict[str, Any] = {}
    taken = 0
    for need, tensor in trace.tensors(list(dict.fromkeys(needs))):
        flag.check()
        found[need] = tensor
        taken += found[need].nbytes
        if taken > most:
            reason = f"the tensors have more than {most:,} bytes; ask for fewer layers or heads at once"
            raise bad_field("need", reason, "too_large")
    return pack(found)


@router.get("/v1/traces/{id}/beam", response_model=BeamDocument)
async def show_beam(id: TraceId, request: Request, services: SharedServices) -> Response:
    """What the search for this answer kept and rejected, schema `beam/1`."""
    kept = await find_trace(id, request, services)
    if kept.trace.manifest["decode"]["method"] not in ("beam", "greedy"):
        raise Problem(404, "no_beam", "the target was given or drawn at random: no search is behind it")
    data = await answer_in_time(request, services, services.analyst.run(lambda _: dump(kept.trace.beam())))
    return analysis_answer(kept, "beam", data, services)


@router.get("/v1/traces/{id}/influence", response_model=InfluenceOut, responses=EVENTS)
async def show_influence(
    id: TraceId,
    request: Request,
    services: SharedServices,
    unit: UnitName = "words",
    replace: ReplaceName = "unk",
) -> Response:
    """How much each source unit supports each target token; leave-one-out, for every architecture.

    With `Accept: text/event-stream`, `progress` events and then `final`.
    """
    kept = await find_trace(id, request, services)
    events = services.analyst.items(partial(influence_events, kept.trace, unit, replace))
    if wants_events(request, usual=False):
        return stream_events(request, services, events)
    data = await answer_in_time(request, services, final_of(events))
    return analysis_answer(kept, f"influence {unit} {replace}", dump(data), services)


def influence_events(
    trace: Trace, unit: UnitName, replace: ReplaceName, emit: Callable[[Event], None]
) -> None:
    """How far the analysis has come, and then what it found."""

    def progress(what: str, done: int, total: int | None) -> None:
        emit(Event("progress", {"done": done, "total": total}))

    emit(Event("final", trace.influence(unit=unit, replace=replace, progress=progress).to_dict()))


def analysis_answer(kept: CachedTrace, name: str, data: bytes, services: Services) -> Response:
    """The answer; what was worked out stays with its trace, and counts."""
    kept.extra[name] = MEMORY * len(data)
    services.traces.trim()
    return Response(data, media_type="application/json")


@router.get("/v1/traces/{id}/html", response_class=HTMLResponse, responses=PAGE)
async def show_html(id: TraceId, request: Request, services: SharedServices) -> Response:
    """The trace as one file that opens from disk, without a server."""
    kept = await find_trace(id, request, services)
    page = await answer_in_time(request, services, services.analyst.run(html_of, kept.trace))
    headers = {
        "Content-Disposition": f'attachment; filename="{kept.trace.id}.html"',
        "Content-Security-Policy": "sandbox",
    }
    return HTMLResponse(page, headers=headers)


def html_of(flag: CancelFlag, trace: Trace) -> str:
    from jumok.explain.html import trace_html  # it reads the built page, which only this route needs

    try:
        return trace_html(trace)
    except RunError as error:
        if error.code != "page_not_built":
            raise
        raise Problem(503, error.code, f"{error.message}: {error.hint}") from None
