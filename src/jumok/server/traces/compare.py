"""`/v1/compare`: two or three models side by side on one text, and on its beginnings."""

from collections.abc import Mapping
from contextlib import ExitStack
from typing import Any

from fastapi import Request
from fastapi.responses import Response

from jumok.explain.compare import compare, cut_tokens
from jumok.explain.edits import compile_ops
from jumok.explain.trace import Trace
from jumok.explain.units import agreed_units
from jumok.explain.watched import too_long, watched
from jumok.server.analysis import CancelFlag
from jumok.server.gates.bodies import api_router
from jumok.server.gates.limits import Limits
from jumok.server.gates.problems import bad_field, json_answer
from jumok.server.services import ServedModel, Services, SharedServices, answered
from jumok.server.traces.build import keep
from jumok.server.traces.schema import CompareOut, CompareRequest
from jumok.server.translate.order import make_order

router = api_router("compare")


@router.post("/v1/compare", response_model=CompareOut)
async def compare_models(asked: CompareRequest, request: Request, services: SharedServices) -> Response:
    """What two or three models make of one text, and of its beginnings; each answer is a trace."""
    if len(set(asked.models)) < len(asked.models):
        raise bad_field("models", "name each one once")
    served = {name: services.model(name) for name in asked.models}
    with await services.turns.take(request):
        work = services.analyst.run(comparison, served, asked, services)
        traces, answer = await answered(request, services, work)
        for trace in traces:
            services.traces.put(trace)
        return answer


def comparison(
    flag: CancelFlag, served: Mapping[str, ServedModel], asked: CompareRequest, services: Services
) -> tuple[list[Trace], Response]:
    """The traces and the answer, within the limits of each model."""
    options = bounded(served, asked, services.limits)
    with ExitStack() as stack:
        own = {
            name: stack.enter_context(watched(one.translator, flag.check, services.limits.trace_tokens))
            for name, one in served.items()
        }
        found = compare(
            own, asked.text, reference=asked.reference, cuts=asked.cuts, progress=flag.progress, **options
        )
        answer = json_answer(found.to_dict())
        traces = [column.trace for column in found.columns]
        for trace in traces:
            keep(trace, services)
    return traces, answer


def bounded(served: Mapping[str, ServedModel], asked: CompareRequest, limits: Limits) -> dict[str, Any]:
    """The options, within the limits; 422 for more work than one request to a model may ask for."""
    options = asked.chosen()
    models = [one.translator for one in served.values()]
    line = compile_ops((), models[0], asked.text).text
    if not line:
        raise bad_field("text", "a sentence is needed", "empty_text")
    words = agreed_units([cut_tokens(one, line)[1] for one in models])[0]
    ends = sorted({min(cut, len(words)) for cut in asked.cuts}) if words else []
    texts = [line, *(line[: words[end - 1].span[1]] for end in ends)]
    for one in models:
        order = make_order(one, texts, {**options, "long": "cut"}, limits)
        for [job] in order.parts:
            if len(job.source) >= limits.trace_tokens:
                raise too_long("source", len(job.source) + 1, limits.trace_tokens)
        usual = {**{"max_len": one.config.decoding.max_len}, **options}["max_len"]
        if order.request.decoding.max_len < usual:
            options["max_len"] = order.request.decoding.max_len
    return options
