"""`/v1/what-if` and `/v1/sweep`: what interventions do to an answer, and which heads it needs."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from math import fsum
from typing import Any

from fastapi import Request
from fastapi.responses import Response

from jumok.decoding.translator import Translator
from jumok.explain.forced import log_probs
from jumok.explain.influence import sweep
from jumok.explain.op_fields import KindField
from jumok.explain.trace import Trace
from jumok.explain.what_if import changes, shared
from jumok.server.analysis import CancelFlag
from jumok.server.events import EVENTS, Event, final_of, stream_events, wants_events
from jumok.server.gates.bodies import api_router
from jumok.server.gates.problems import bad_field, json_answer
from jumok.server.services import Services, SharedServices, answer_in_time
from jumok.server.traces.build import Question, question_of, trace_of
from jumok.server.traces.schema import SweepOut, SweepRequest, TraceRequest, WhatIfOut

router = api_router("what-if")


@router.post("/v1/what-if", response_model=WhatIfOut)
async def what_if(body: TraceRequest, request: Request, services: SharedServices) -> Response:
    """The answer as it is beside the answer with interventions, and where they part. Both are traces."""
    question = question_of(body, services)
    with await services.turns.take(request):
        return json_answer(await answer_in_time(request, services, both(question, request, services)))


async def both(question: Question, request: Request, services: Services) -> dict[str, Any]:
    """The traces without and with the interventions, side by side."""
    baseline = (await trace_of(replace(question, ops=()), request, services)).trace
    edited = (await trace_of(question, request, services)).trace
    before, after = baseline.target_ids, edited.target_ids
    found = await services.analyst.run(under_edit, baseline, edited)
    return {
        "baseline": side(baseline),
        "edited": side(edited),
        "diff": [change.to_dict() for change in changes(before, after)],
        "first_divergence": None if before == after else shared(before, after),
        "baseline_logprob_under_edit": found,
    }


def under_edit(flag: CancelFlag, baseline: Trace, edited: Trace) -> float:
    """How probable the edited model finds the baseline's answer."""
    [found] = log_probs(model_of(edited), [edited.source_ids], baseline.target_ids)
    return fsum(found.tolist())


def model_of(trace: Trace) -> Translator:
    """The model of a trace that was made here, with its interventions inside."""
    assert trace.translator is not None
    return trace.translator


def side(trace: Trace) -> dict[str, Any]:
    manifest = trace.manifest
    tokens = [
        {"text": token["piece"], "id": token["id"], "logprob": step["logprob"]}
        for token, step in zip(manifest["target"]["tokens"], manifest["steps"], strict=True)
    ]
    score = manifest["decode"]["score"]
    return {"id": trace.id, "text": manifest["target"]["text"], "score": score, "tokens": tokens}


@router.post("/v1/sweep", response_model=SweepOut, responses=EVENTS)
async def sweep_heads(body: SweepRequest, request: Request, services: SharedServices) -> Response:
    """What masking each head alone does to the log-probability of the answer.

    Events: a `row` for each layer as it is done, then `final`. `Accept: application/json` gives what `final`
    holds.
    """
    question = question_of(body, services)
    has = question.served.translator.config.model.attention
    for kind in body.kinds or ():
        if kind not in has:
            known = f"it has {', '.join(has)}" if has else "it has none"
            raise bad_field("kinds", f"this model has no {kind} attention: {known}")
    turn = await services.turns.take(request)
    try:
        trace = (await answer_in_time(request, services, trace_of(question, request, services))).trace
        events = services.analyst.items(partial(sweep_events, trace, body.kinds))
        if wants_events(request, usual=True):
            return stream_events(request, services, events, turn)
        return json_answer(await answer_in_time(request, services, final_of(events)))
    finally:
        turn.close()


def sweep_events(trace: Trace, kinds: Sequence[KindField] | None, emit: Callable[[Event], None]) -> None:
    """Rows as they come, and then all of them."""
    found: dict[str, list[list[float]]] = {}
    for row in sweep(model_of(trace), trace.source_ids, trace.target_ids, kinds):
        fields = row.to_dict()
        found.setdefault(row.kind, []).append(fields["values"])
        emit(Event("row", fields))
    emit(Event("final", {"baseline_logprob": trace.manifest["decode"]["score"], "kinds": found}))
