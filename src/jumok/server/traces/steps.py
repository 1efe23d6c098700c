"""`/v1/training-step`, `/v1/free-running`, `/v1/votes`, `/v1/neighbours`: what one pair shows."""

from fastapi import Request
from fastapi.responses import Response

from jumok.decoding.translator import Translator
from jumok.explain.free_running import FreeRunning, free_running
from jumok.explain.neighbours import Neighbours, neighbours
from jumok.explain.votes import Votes, votes
from jumok.explain.watched import too_long, watched
from jumok.server.analysis import CancelFlag
from jumok.server.gates.bodies import api_router
from jumok.server.gates.limits import Limits
from jumok.server.gates.problems import Problem, bad_field, dump
from jumok.server.services import SharedServices, answer_in_time
from jumok.server.traces.schema import (
    FreeRunningRequest,
    NeighboursRequest,
    TrainingStepOut,
    TrainingStepRequest,
    VotesRequest,
)
from jumok.text.normalize import tidy

router = api_router("steps")


@router.post("/v1/training-step", response_model=TrainingStepOut)
async def show_training_step(
    body: TrainingStepRequest, request: Request, services: SharedServices
) -> Response:
    """One update by one pair, on a copy of the model: loss, gradients, one weight before and after.

    The model that is served never changes.
    """
    translator = services.model(body.model).facing(body.to, body.from_language).translator
    with await services.turns.take(request):
        work = services.analyst.run(take_step, translator, body, services.limits)
        return Response(await answer_in_time(request, services, work), media_type="application/json")


def take_step(flag: CancelFlag, translator: Translator, body: TrainingStepRequest, limits: Limits) -> bytes:
    """The step as JSON; 422 for a model or texts that are too large."""
    own = translator.on_torch("training_step")
    from jumok.training.by_hand import StepPlan, training_step

    count = sum(parameter.numel() for parameter in own.model.parameters())
    if count > limits.step_parameters:
        detail = f"the model has {count:,} parameters, and {limits.step_parameters:,} may take a step here"
        raise Problem(422, "too_large", detail)
    check_pair(own, body.text, body.target, limits)
    plan = StepPlan(
        body.optimizer,
        body.lr,
        body.steps,
        body.token,
        body.weight,
        body.index,
        body.rates,
        body.weight_decay,
    )
    found = training_step(own, body.text, body.target, plan, flag.progress)
    return dump(found.to_dict(lambda id: own.tokenizers.target.pieces([id])[0]))


@router.post("/v1/free-running", response_model=FreeRunning)
async def show_free_running(body: FreeRunningRequest, request: Request, services: SharedServices) -> Response:
    """A target after the right tokens beside what the model writes after its own, and after a wrong one."""
    translator = services.model(body.model).facing(body.to, body.from_language).translator
    work = services.analyst.run(run_free, translator, body, services.limits)
    return Response(await answer_in_time(request, services, work), media_type="application/json")


def run_free(flag: CancelFlag, translator: Translator, body: FreeRunningRequest, limits: Limits) -> bytes:
    """The runs as JSON; 422 for texts that are too long."""
    plain = translator.on_torch("free_running")
    check_pair(plain, body.text, body.target, limits)
    with watched(
        plain, flag.check, 3 * limits.trace_tokens
    ) as own:  # an answer may be longer than its target
        return dump(free_running(own, body.text, body.target, slip=body.slip, wrong=body.wrong).to_dict())


@router.post("/v1/votes", response_model=Votes)
async def show_votes(body: VotesRequest, request: Request, services: SharedServices) -> Response:
    """What each member of an ensemble wanted at every step; a single model is its own only member."""
    translator = services.model(body.model).facing(body.to, body.from_language).translator
    work = services.analyst.run(count_votes, translator, body, services.limits)
    return Response(await answer_in_time(request, services, work), media_type="application/json")


def count_votes(flag: CancelFlag, translator: Translator, body: VotesRequest, limits: Limits) -> bytes:
    """The votes as JSON; 422 for texts that are too long."""
    flag.check()
    plain = translator.on_torch("votes")
    check_pair(plain, body.text, body.target, limits)
    return dump(votes(plain, body.text, body.target).to_dict())


@router.post("/v1/neighbours", response_model=Neighbours)
async def show_neighbours(body: NeighboursRequest, request: Request, services: SharedServices) -> Response:
    """Which training states are most like those of a text and its answer, token by token, and a map of them.

    404 `no_neighbours` for a model without an index; its card says whether it has one.
    """
    translator = services.model(body.model).facing(body.to, body.from_language).translator
    work = services.analyst.run(find_neighbours, translator, body, services.limits)
    return Response(await answer_in_time(request, services, work), media_type="application/json")


def find_neighbours(
    flag: CancelFlag, translator: Translator, body: NeighboursRequest, limits: Limits
) -> bytes:
    """The neighbours as JSON; 422 for texts that are too long."""
    flag.check()
    check_pair(translator, body.text, body.target, limits)
    with watched(translator.seeing("neighbours"), flag.check, limits.trace_tokens) as own:
        return dump(neighbours(own, body.text, body.target, count=body.count, points=body.points).to_dict())


def check_pair(translator: Translator, text: str, target: str | None, limits: Limits) -> None:
    """Refuse a blank text, and more tokens on either side than a trace may have."""
    [source] = translator.read([text])
    if not source.text:
        raise bad_field("text", "a sentence is needed", "empty_text")
    written = [] if target is None else translator.tokenizers.target.encode(tidy(target))
    for side, ids in (("source", source.ids), ("target", written)):
        if len(ids) >= limits.trace_tokens:
            raise too_long(side, len(ids) + 1, limits.trace_tokens)
