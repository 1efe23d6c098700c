"""`/v1/training`: pairs are looked at, become a run, and the run is paused, gone on with and stopped."""

import asyncio
from ipaddress import ip_address
from typing import Annotated

from fastapi import Path, Request

from jumok.errors import has_torch, needs_torch
from jumok.server.gates.bodies import api_router, problem_of
from jumok.server.gates.problems import Problem
from jumok.server.services import Services, SharedServices, answer_in_time
from jumok.server.trainer.pairs import look_at, refuse_unreadable, sides
from jumok.server.trainer.schema import (
    PairsOut,
    PairsRequest,
    TrainerOut,
    TrainingAction,
    TrainingOut,
    TrainingRequest,
)
from jumok.server.trainer.trainer import PageRun, Trainer

OFF = (
    "this server trains no models for you: it does on the machine that it runs on, "
    "and for others if it was started with --allow-training"
)
FORWARDED = ("forwarded", "x-forwarded-for", "x-real-ip", "via")
router = api_router("training")
RunName = Annotated[str, Path(min_length=1, max_length=64, description="The `run` that was begun.")]


def trainer_for(request: Request, services: Services) -> Trainer | None:
    """What trains, if it may for this client: one on this machine, or any where that was allowed."""
    trainer = services.trainer
    return trainer if trainer and (services.settings.allow_training or is_here(request)) else None


def is_here(request: Request) -> bool:
    """Whether the client is on this machine, and no proxy that may ask for someone else."""
    host = request.client.host if request.client else ""
    try:
        return ip_address(host).is_loopback and not any(name in request.headers for name in FORWARDED)
    except ValueError:
        return False


def need_trainer(request: Request, services: Services) -> Trainer:
    """The same; 403 where it may not, 422 where PyTorch is missing."""
    trainer = trainer_for(request, services)
    if trainer is None:
        raise Problem(403, "training_off", OFF)
    if not has_torch():
        raise needs_torch("training")
    return trainer


async def described(page_run: PageRun, services: Services) -> TrainingOut:
    """How a run stands, and how far its files say that it has come."""

    def read() -> tuple[int | None, float | None]:
        found = services.evals.runs.find(page_run.order.name)
        told = found.summary() if found else {}
        return told.get("step"), told.get("elapsed_s")

    return page_run.describe(*await asyncio.to_thread(read))


@router.get("/v1/training")
async def show_training(request: Request, services: SharedServices) -> TrainerOut:
    """Whether models can be trained here, within which limits, and how the run stands."""
    trainer, limits = trainer_for(request, services), services.limits
    return TrainerOut(
        off="not_allowed" if trainer is None else None if has_torch() else "no_torch",
        most_bytes=limits.training_bytes,
        most_seconds=int(limits.training_s),
        current=await described(trainer.current, services) if trainer and trainer.current else None,
    )


@router.post("/v1/training/check")
async def check_pairs(body: PairsRequest, request: Request, services: SharedServices) -> PairsOut:
    """What is wrong with the pairs, with line numbers: what jumok check says of a file."""
    need_trainer(request, services)
    sides(body)
    return await answer_in_time(request, services, asyncio.to_thread(look_at, body))


@router.post(
    "/v1/training",
    status_code=202,
    responses={507: problem_of("The folder for training runs is full, or cannot be written to.")},
)
async def begin_training(body: TrainingRequest, request: Request, services: SharedServices) -> TrainingOut:
    """Begins a run of jumok train, in a process of its own; /v1/runs/{run}/events follows it.

    When its time is up, or it was stopped, its best model is served under the name of the run.
    """
    trainer, texts = need_trainer(request, services), sides(body)
    found = await answer_in_time(request, services, asyncio.to_thread(look_at, body))
    refuse_unreadable(found)
    taken = {*services.models, *await asyncio.to_thread(services.evals.runs.folders), *trainer.names()}
    return await described(await trainer.begin(body, texts, found.pairs, taken), services)


@router.patch("/v1/training/{run}")
async def change_training(
    run: RunName, body: TrainingAction, request: Request, services: SharedServices
) -> TrainingOut:
    """Pauses the run, goes on with it exactly where it was, or stops it and serves what it has learned."""
    found = need_trainer(request, services).find(run)
    await found.act(body.action)
    return await described(found, services)
