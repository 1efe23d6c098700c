"""`/v1/runs` and `/v1/evals`: training and quality, from the files that runs leave."""

import asyncio
import re
from collections.abc import AsyncGenerator
from pathlib import Path as FilePath
from typing import Annotated

from fastapi import Depends, Header, Path, Query, Request
from fastapi.responses import Response, StreamingResponse

from jumok.evaluation.document import EvalDocument
from jumok.server.events import EVENTS, Event, stream_endless
from jumok.server.gates.bodies import api_router
from jumok.server.gates.problems import Problem, json_answer
from jumok.server.runs.catalog import Run
from jumok.server.runs.log import FEWEST
from jumok.server.runs.probes import read_probe
from jumok.server.runs.schema import EvalsOut, ProbeOut, RunDetails, RunsOut, SeriesOut
from jumok.server.runs.tail import Tail
from jumok.server.schema import Name
from jumok.server.services import SharedServices

router = api_router("runs")

POINTS, MOST_POINTS, MOST_NAMES = 1000, 10_000, 32
LARGEST = 2**53
POLL_S = 0.25
DIGITS = re.compile(r"[0-9]{1,15}")

LONGEST = 512  # characters of a name: two folders
RunName = Annotated[
    str,
    Path(
        min_length=1, max_length=LONGEST, description="A name of /v1/runs; the run in demo/rnn is demo~rnn."
    ),
]
EvalId = Annotated[str, Path(min_length=1, max_length=2 * LONGEST, description="An id of /v1/evals.")]


def run_of(run: RunName, services: SharedServices) -> Run:
    """The run of this name; 404 for another."""
    found = services.evals.runs.find(run)
    if found is None:
        raise Problem(404, "unknown_run", "there is no such run: /v1/runs lists them")
    return found


ThisRun = Annotated[Run, Depends(run_of)]


@router.get("/v1/runs", response_model=RunsOut)
def list_runs(services: SharedServices) -> Response:
    """All runs, by name."""
    return json_answer({"runs": [run.summary() for run in services.evals.runs.all()]})


@router.get("/v1/runs/{run}", response_model=RunDetails)
def show_run(run: ThisRun) -> Response:
    """One run: how it stands, its settings, what was said along the way."""
    return json_answer(run.details())


@router.get("/v1/runs/{run}/series", response_model=SeriesOut)
def show_series(
    run: ThisRun,
    name: Annotated[list[Name], Query(min_length=1, max_length=MOST_NAMES)],
    points: Annotated[int, Query(ge=FEWEST, le=MOST_POINTS)] = POINTS,
) -> Response:
    """Curves by rising step. Of a long one, its ends and the extremes of each stretch are kept."""
    return json_answer({"series": run.series(name, points)})


@router.get("/v1/runs/{run}/events", response_class=StreamingResponse, responses=EVENTS)
async def follow_run(
    run: ThisRun,
    request: Request,
    services: SharedServices,
    after: Annotated[int, Query(ge=0, le=LARGEST, description="A byte offset: where to begin.")] = 0,
    last_event_id: Annotated[str, Header(max_length=64)] = "",
) -> Response:
    """The run's events as they are written; the id of each is the byte offset to go on from.

    An event `reset` says that the file was cut or replaced, and is told from its start.
    """
    offset = int(last_event_id) if DIGITS.fullmatch(last_event_id) else after
    return stream_endless(request, services, follow(run.metrics, offset))


async def follow(path: FilePath, offset: int = 0, *, poll_s: float = POLL_S) -> AsyncGenerator[Event]:
    """Each event of the file from a byte offset on, for ever; its id is the offset to go on from.

    A file that was cut or replaced gives an event `reset`, and is then told from its start.
    """
    tail, restarts = Tail(path, offset), 0
    while True:
        before = tail.offset
        lines = await asyncio.to_thread(tail.read)
        if tail.restarts != restarts:
            restarts = tail.restarts
            yield Event("reset", {}, "0")
        for line in lines:
            yield Event("message", line.event, str(line.end))
        if tail.offset == before:
            await asyncio.sleep(poll_s)


@router.get("/v1/runs/{run}/probes/{step}", response_model=ProbeOut)
def show_probe(run: ThisRun, step: Annotated[int, Path(ge=0, le=LARGEST)]) -> Response:
    """Where the model looked at this validation while it wrote the probe sentences."""
    found = read_probe(run.folder, step)
    if found is None:
        raise Problem(404, "unknown_probe", "this run keeps no readable probe of that step")
    return json_answer(found)


@router.get("/v1/evals", response_model=EvalsOut)
def list_evals(services: SharedServices) -> Response:
    """All evaluations that runs keep, by id."""
    return json_answer({"evals": services.evals.all()})


@router.get("/v1/evals/{id}", response_model=EvalDocument)
def show_eval(id: EvalId, services: SharedServices) -> Response:
    """One evaluation, schema eval/1."""
    found = services.evals.find(id)
    if found is None:
        raise Problem(404, "unknown_eval", "there is no such evaluation: /v1/evals lists them")
    return json_answer(found)
