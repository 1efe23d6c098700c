"""`/v1/training-step` and `/v1/free-running`: one update by hand, answers after the model's own tokens."""

from fastapi import Request
from fastapi.responses import Response

from jumok.decoding.translator import Translator
from jumok.explain.free_running import FreeRunning, free_running
from jumok.explain.watched import too_long, watched
from jumok.server.analysis import CancelFlag
from jumok.server.gates.bodies import api_router
from jumok.server.gates.limits import Limits
from jumok.server.gates.problems import Problem, bad_field, dump
from jumok.server.services import SharedServices, answer_in_time
from jumok.server.traces.schema import FreeRunningRequest, TrainingStepOut, TrainingStepRequest
from jumok.text.normalize import tidy
from jumok.training.by_hand import StepPlan, training_step

router = api_router("steps")


@router.post("/v1/training-step", response_model=TrainingStepOut)
async def show_training_step(
    body: TrainingStepRequest, request: Request, services: SharedServices
) -> Response:
    """One update by one pair, on a copy of the model: loss, gradients, one weight before and after.

    The model that is served never changes.
    """
    translator = services.model(body.model).translator
    with await services.turns.take(request):
        work = services.analyst.run(take_step, translator, body, services.limits)
        return Response(await answer_in_time(request, services, work), media_type="application/json")


def take_step(flag: CancelFlag, translator: Translator, body: TrainingStepRequest, limits: Limits) -> bytes:
    """The step as JSON; 422 for a model or texts that are too large."""
    own = translator.on_torch("training_step")
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
    translator = services.model(body.model).translator
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


def check_pair(translator: Translator, text: str, target: str | None, limits: Limits) -> None:
    """Refuse a blank text, and more tokens on either side than a trace may have."""
    [source] = translator.read([text])
    if not source.text:
        raise bad_field("text", "a sentence is needed", "empty_text")
    written = [] if target is None else translator.tokenizers.target.encode(tidy(target))
    for side, ids in (("source", source.ids), ("target", written)):
        if len(ids) >= limits.trace_tokens:
            raise too_long(side, len(ids) + 1, limits.trace_tokens)
