"""`/v1/gradients`: how strongly the loss depends on each token of the source, near and far."""

from fastapi import Request
from fastapi.responses import Response

from jumok.explain.gradients import Gradients, gradients
from jumok.explain.watched import watched
from jumok.server.analysis import CancelFlag
from jumok.server.gates.bodies import api_router
from jumok.server.gates.problems import bad_field, json_answer
from jumok.server.services import ServedModel, SharedServices, answer_in_time
from jumok.server.traces.schema import GradientsOut, GradientsRequest

router = api_router("gradients")


@router.post("/v1/gradients", response_model=GradientsOut)
async def show_gradients(body: GradientsRequest, request: Request, services: SharedServices) -> Response:
    """The norm of the loss's gradient at each source token, of the trained weights or of fresh ones."""
    served = services.model(body.model).facing(body.to, body.from_language)
    most = services.limits.trace_tokens
    with await services.turns.take(request):
        work = services.analyst.run(measure, served, body, most)
        return json_answer((await answer_in_time(request, services, work)).to_dict())


def measure(flag: CancelFlag, served: ServedModel, body: GradientsRequest, most: int) -> Gradients:
    flag.check()
    if not served.translator.tokenizers.tidy_source(body.text):
        raise bad_field("text", "a sentence is needed", "empty_text")
    with watched(served.translator.on_torch("gradients"), flag.check, most) as own:
        return gradients(
            own,
            body.text,
            body.target,
            lengths=body.lengths,
            fresh=body.fresh,
            directions=body.directions,
            most=most,
            progress=flag.progress,
        )
