"""`/v1/translate` and `/v1/score`: texts in, answers with tokens and log-probabilities out."""

import asyncio
import time
from collections.abc import Sequence
from typing import Any

from fastapi import Request
from fastapi.responses import Response

from jumok.decoding.jobs import Source
from jumok.decoding.results import Score, Translation
from jumok.errors import DataError
from jumok.explain.align import links, pharaoh
from jumok.explain.attention import attention_of
from jumok.server.analysis import CancelFlag
from jumok.server.gates.bodies import api_router
from jumok.server.gates.problems import Problem, bad_field, json_answer
from jumok.server.schema import ScoreAnswer, ScoreRequest, TranslateAnswer, TranslateRequest
from jumok.server.services import ServedModel, Services, SharedServices, answered, deadline_of
from jumok.server.translate.order import DecodingOrder, check_lengths, make_order

router = api_router("translate")


@router.post("/v1/translate", response_model=TranslateAnswer)
async def translate(asked: TranslateRequest, request: Request, services: SharedServices) -> Response:
    """Translations of the texts, in order; a blank text gives a blank one."""
    served = services.model(asked.model)
    if isinstance(asked.prefix, list) and len(asked.prefix) != len(asked.texts):
        raise bad_field("prefix", "give one for all texts, or one for each")
    began = time.perf_counter()
    order, found = await answered(
        request, services, translations(served, services, asked.texts, asked.chosen(), request)
    )
    lines: Sequence[str | None] = ()
    if asked.align:
        work = services.analyst.run(align_all, served, order, found)
        lines = await answered(request, services, work)
    return await asyncio.to_thread(timed_answer, served, found, began, lines)


async def translations(
    served: ServedModel, services: Services, texts: Sequence[str], options: dict[str, Any], request: Request
) -> tuple[DecodingOrder, list[Translation]]:
    """Translations by the model's worker, checked to be answers to these texts."""
    order = await asyncio.to_thread(make_order, served.translator, texts, options, services.limits)
    found = await served.worker.translate(order, deadline_of(request, services.limits))
    order.check(found)
    return order, found


def timed_answer(
    served: ServedModel, found: Sequence[Translation | Score], began: float, lines: Sequence[str | None] = ()
) -> Response:
    """The answer, with the alignments if there are any. Many tokens take a while: not for the event loop."""
    ms = round((time.perf_counter() - began) * 1000, 1)
    results = [result_fields(one) for one in found]
    for result, line in zip(results, lines, strict=False):
        result["align"] = line
    return json_answer({"model": served.name, "results": results, "ms": ms})


def result_fields(answer: Translation | Score) -> dict[str, Any]:
    """The members of one result: what the client sent is not sent back."""
    return {name: value for name, value in answer.to_dict().items() if name not in ("source", "target")}


def align_all(
    flag: CancelFlag, served: ServedModel, order: DecodingOrder, answers: Sequence[Translation]
) -> list[str | None]:
    """Which source word each target word came from, for each answer, in Pharaoh's form.

    None for a model without attention, and for a text that was translated in parts.
    """
    lines = []
    for jobs, answer in zip(order.parts, answers, strict=True):
        flag.check()
        lines.append(align_line(served, jobs[0].source, answer) if len(jobs) == 1 else None)
    return lines


def align_line(served: ServedModel, source: Source, answer: Translation) -> str | None:
    translator = served.translator
    ids = [token.id for token in answer.tokens]
    written = ids[:-1] if answer.finished else ids
    attention = attention_of(translator.model, translator.tokenizers, source, written)
    return None if attention is None else pharaoh(links(attention.words().pick()))


@router.post("/v1/score", response_model=ScoreAnswer)
async def score(asked: ScoreRequest, request: Request, services: SharedServices) -> Response:
    """How probable the model finds each target, given its source."""
    served = services.model(asked.model)
    if len(asked.sources) != len(asked.targets):
        raise bad_field("targets", "give one target for each source")
    began = time.perf_counter()
    work = services.scorer.run(score_pairs, served, services, asked.sources, asked.targets)
    found = await answered(request, services, work)
    return await asyncio.to_thread(timed_answer, served, found, began)


def score_pairs(
    flag: CancelFlag, served: ServedModel, services: Services, sources: Sequence[str], targets: Sequence[str]
) -> list[Score]:
    """Scores of the pairs, a few at a time, so that a client who leaves is noticed."""
    check_lengths(served.translator, sources, services.limits)
    check_lengths(served.translator, targets, services.limits, side="target")
    try:
        return served.translator.score(sources, targets, progress=flag.progress)
    except DataError as error:
        raise Problem(422, "bad_parameter", error.hint) from None
