"""`/v1/compare`: two or three models side by side on one text, and on its beginnings."""

from collections.abc import Mapping
from contextlib import ExitStack
from typing import Any

from fastapi import Request
from fastapi.responses import Response

from jumok.explain.side_by_side import cut_tokens, side_by_side
from jumok.explain.tokens import agreed_units
from jumok.explain.trace import Trace
from jumok.explain.watched import too_long, watched
from jumok.server.analysis import CancelFlag
from jumok.server.gates.bodies import api_router
from jumok.server.gates.limits import Limits
from jumok.server.gates.problems import bad_field, json_answer
from jumok.server.services import ServedModel, Services, SharedServices, answer_in_time
from jumok.server.traces.build import keep
from jumok.server.traces.schema import CompareOut, CompareRequest
from jumok.server.translate.order import make_order

router = api_router("compare")


@router.post("/v1/compare", response_model=CompareOut)
async def compare_models(body: CompareRequest, request: Request, services: SharedServices) -> Response:
    """What two or three models make of one text, and of its beginnings; each answer is a trace."""
    if len(set(body.models)) < len(body.models):
        raise bad_field("models", "name each one once")
    served = {name: services.model(name).facing(body.to, body.from_language) for name in body.models}
    with await services.turns.take(request):
        work = services.analyst.run(comparison, served, body, services)
        traces, answer = await answer_in_time(request, services, work)
        for trace in traces:
            services.traces.put(trace)
        return answer


def comparison(
    flag: CancelFlag, served: Mapping[str, ServedModel], body: CompareRequest, services: Services
) -> tuple[list[Trace], Response]:
    """The traces and the answer, within the limits of each model."""
    options = options_within_limits(served, body, services.limits)
    with ExitStack() as stack:
        own = {
            name: stack.enter_context(watched(one.translator, flag.check, services.limits.trace_tokens))
            for name, one in served.items()
        }
        found = side_by_side(
            own, body.text, reference=body.reference, cuts=body.cuts, progress=flag.progress, **options
        )
        answer = json_answer(found.to_dict())
        traces = [column.trace for column in found.columns]
        for trace in traces:
            keep(trace, services)
    return traces, answer


def options_within_limits(
    served: Mapping[str, ServedModel], body: CompareRequest, limits: Limits
) -> dict[str, Any]:
    """The options, within the limits; 422 for more work than one request to a model may ask for."""
    options = body.chosen()
    models = [one.translator for one in served.values()]
    line = models[0].tokenizers.tidy_source(body.text)
    if not line:
        raise bad_field("text", "a sentence is needed", "empty_text")
    words = agreed_units([cut_tokens(one, line)[1] for one in models])[0]
    ends = sorted({min(cut, len(words)) for cut in body.cuts}) if words else []
    texts = [line, *(line[: words[end - 1].span[1]] for end in ends)]
    for one in models:
        order = make_order(one, texts, {**options, "long": "cut", "sentences": "as-is"}, limits)
        for [job] in (one.jobs for one in order.parts):
            if len(job.source) >= limits.trace_tokens:
                raise too_long("source", len(job.source) + 1, limits.trace_tokens)
        usual = {**{"max_len": one.config.decoding.max_len}, **options}["max_len"]
        if order.request.decoding.max_len < usual:
            options["max_len"] = order.request.decoding.max_len
    return options
