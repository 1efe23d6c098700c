"""`/v1/translate`, its stream, and `/v1/score`: texts in, answers with tokens and log-probabilities out."""

import asyncio
import hashlib
import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import asdict
from typing import Annotated, Any

from fastapi import Header, Request
from fastapi.responses import Response, StreamingResponse

from jumok.decoding.jobs import make_request
from jumok.decoding.links import align_words
from jumok.decoding.parts import TextJobs
from jumok.decoding.recall import recall
from jumok.decoding.results import Score, Translation
from jumok.decoding.stream import Partial
from jumok.errors import DataError
from jumok.server.analysis import CancelFlag
from jumok.server.events import EVENTS, Event, stream_events
from jumok.server.gates.bodies import api_router
from jumok.server.gates.problems import Problem, bad_field, json_answer
from jumok.server.schema import (
    ScoreAnswer,
    ScoreRequest,
    SentencesAnswer,
    SentencesRequest,
    StreamRequest,
    TranslateAnswer,
    TranslateRequest,
)
from jumok.server.services import ServedModel, Services, SharedServices, answer_in_time, deadline_of
from jumok.server.translate.order import DecodingOrder, check_lengths, make_order

router = api_router("translate")
BRIEF = 500
"""So many characters are encoded, and tokens written, in less time than a thread takes to begin."""
LONG_OPTIONS = {"glossary", "ban", "require", "keep", "no_repeat_ngram"}
"""What may take a while to prepare, however short the texts: an engine too, when torch has to be loaded."""


@router.post("/v1/translate", response_model=TranslateAnswer)
async def translate(body: TranslateRequest, request: Request, services: SharedServices) -> Response:
    """Translations of the texts, in order; a blank text gives a blank one."""
    served = services.model(body.model).facing(body.to, body.from_language)
    if isinstance(body.prefix, list) and len(body.prefix) != len(body.texts):
        raise bad_field("prefix", "give one for all texts, or one for each")
    began = time.perf_counter()
    if body.memory and served.memory and not body.align:
        answering = recalled_translations(served, services, body.texts, body.chosen(), request)
        recalled = await answer_in_time(request, services, answering)
        return await written(served, recalled, began)
    asked = body.chosen() | {"align": body.align and served.translator.aligns}
    work = translations(served, services, body.texts, asked, request)
    order, found = await answer_in_time(request, services, work)
    lines = await asyncio.to_thread(align_all, served, found) if body.align else ()
    return await written(served, found, began, lines, order)


async def translations(
    served: ServedModel, services: Services, texts: Sequence[str], options: dict[str, Any], request: Request
) -> tuple[DecodingOrder, list[Translation]]:
    """Translations by the model's worker, checked to be answers to these texts."""
    order = await ordered(served, services, texts, options)
    found = await served.worker.translate(order, deadline_of(request, services.limits))
    order.check(found)
    return order, found


async def ordered(
    served: ServedModel, services: Services, texts: Sequence[str], options: dict[str, Any]
) -> DecodingOrder:
    """`make_order`, in a thread if it may take a while: the event loop has others to serve."""
    given = options.get("prefix") or ""
    read = sum(map(len, texts)) + sum(map(len, [given] if isinstance(given, str) else given))
    long = {name for name in LONG_OPTIONS if options.get(name)}
    brief = read <= BRIEF and not (long or served.translator.config.decoding.no_repeat_ngram)
    asked = (served.translator, texts, options, services.limits)
    return make_order(*asked) if brief else await asyncio.to_thread(make_order, *asked)


async def written(
    served: ServedModel, found: Sequence[Translation | Score], began: float, *more: Any
) -> Response:
    """`timed_answer`, in a thread if many tokens make it long."""
    each = [[one] if isinstance(one, Score) else one.hypotheses for one in found]
    tokens = sum(len(one.tokens) for answers in each for one in answers)
    asked = (served, found, began, *more)
    return timed_answer(*asked) if tokens <= BRIEF else await asyncio.to_thread(timed_answer, *asked)


async def recalled_translations(
    served: ServedModel, services: Services, texts: Sequence[str], options: dict[str, Any], request: Request
) -> list[Translation]:
    """Translations from the server's memory, where it has them; the rest by the model's worker."""
    if served.memory is None:
        return (await translations(served, services, texts, options, request))[1]
    asked = make_request(served.translator.config.decoding, options)
    plan = await asyncio.to_thread(recall, served.translator, served.memory, texts, asked)
    whole, sentences = list[Translation](), list[Translation]()
    if plan.whole:
        _, whole = await translations(served, services, plan.whole, options, request)
    if plan.sentences:
        alone = {**options, "sentences": "as-is"}
        _, sentences = await translations(served, services, plan.sentences, alone, request)
    return plan.join(served.translator, whole, sentences)


def timed_answer(
    served: ServedModel,
    found: Sequence[Translation | Score],
    began: float,
    lines: Sequence[str | None] = (),
    order: DecodingOrder | None = None,
) -> Response:
    """The answer, with the alignments if there are any."""
    ms = round((time.perf_counter() - began) * 1000, 1)
    results = [result_fields(one) for one in found]
    if order is not None:
        for result, jobs in zip(results, order.parts, strict=True):
            result |= novelty_fields(order, jobs)
    for result, line in zip(results, lines, strict=False):
        result["align"] = line
    return json_answer({"model": served.name, "results": results, "ms": ms})


def result_fields(answer: Translation | Score) -> dict[str, Any]:
    """The members of one result: not what the client sent, nor parts, links and doubts if there are none."""
    fields = {name: value for name, value in answer.to_dict().items() if name not in ("source", "target")}
    for name in ("matches", "terms"):
        if not fields.get(name, True):
            del fields[name]
    for one in (fields, *fields.get("alternatives", ())):
        for name in ("sentences", "links", "confidence"):
            if not one.get(name, True):
                del one[name]
    return fields


def novelty_fields(order: DecodingOrder, text: TextJobs) -> dict[str, Any]:
    """How new one text is to the model, as a member of its result; nothing where that is not known."""
    novelty = order.translator.novelty
    if novelty is None:
        return {}
    return {"novelty": asdict(novelty.count([job.source for job in text.jobs]))}


def align_all(served: ServedModel, answers: Sequence[Translation]) -> list[str | None]:
    """Which source word each target word came from, for each answer, in Pharaoh's form.

    Words are counted through the whole text. None for a model without attention, and for a blank text.
    """
    translator = served.translator
    return [
        str(align_words(one.source, one, translator.tokenizers))
        if translator.aligns and one.source.strip()
        else None
        for one in answers
    ]


@router.post("/v1/translate/stream", response_class=StreamingResponse, responses=EVENTS)
async def stream(
    body: StreamRequest,
    request: Request,
    services: SharedServices,
    last_event_id: Annotated[str | None, Header(max_length=64)] = None,
) -> Response:
    """`start`, then `partial` after each step, then `final`; `error` ends a stream that failed.

    The first `stable` tokens of a partial never change. Sent again with `Last-Event-ID`, a request goes on
    after that event: a translation is a pure function of its request, so it is decoded again.
    """
    served = services.model(body.model).facing(body.to, body.from_language)
    order = await ordered(served, services, [body.text], body.chosen())
    deadline = deadline_of(request, services.limits)
    return stream_events(request, services, translation_events(served, order, deadline, last_event_id or ""))


async def translation_events(
    served: ServedModel, order: DecodingOrder, deadline: float, last: str
) -> AsyncGenerator[Event]:
    """The events of one translation after the one with the id `last`."""
    began = time.perf_counter()
    name = stream_name(served, order)
    seen = int(last.rpartition(".")[2]) if last.startswith(f"{name}.") and last[17:].isdecimal() else -1
    if seen < 0:
        ids = [id for one in order.parts for job in one.jobs for id in job.source]
        tokens = served.translator.tokenizers.source.pieces(ids)
        yield Event("start", {"id": name, "model": served.name, "source_tokens": tokens}, f"{name}.0")
    async with aclosing(served.worker.stream(order, deadline)) as parts:
        async for part in parts:
            if isinstance(part, Partial):
                if part.t > seen:
                    yield Event("partial", part.to_dict(), f"{name}.{part.t}")
            else:
                order.check([part])
                ms = round((time.perf_counter() - began) * 1000, 1)
                yield Event(
                    "final", {**result_fields(part), **novelty_fields(order, order.parts[0]), "ms": ms}
                )


def stream_name(served: ServedModel, order: DecodingOrder) -> str:
    """The same for the same request to the same model, and for no other."""
    key = f"{served.name} {served.fingerprint} {order.digest} {order.request!r}"
    return hashlib.sha256(key.encode()).hexdigest()[:16]


@router.post("/v1/sentences", response_model=SentencesAnswer)
async def sentences(body: SentencesRequest, services: SharedServices) -> SentencesAnswer:
    """The sentences of a text, as `/v1/translate` takes them; what stands between them is not among them."""
    served = services.model(body.model).facing(body.to, body.from_language)
    options = {"sentences": body.sentences}
    order = await ordered(served, services, [body.text], options)
    return SentencesAnswer(model=served.name, sentences=list(order.parts[0].layout.sentences))


@router.post("/v1/score", response_model=ScoreAnswer)
async def score(body: ScoreRequest, request: Request, services: SharedServices) -> Response:
    """How probable the model finds each target, given its source."""
    served = services.model(body.model).facing(body.to, body.from_language)
    if len(body.sources) != len(body.targets):
        raise bad_field("targets", "give one target for each source")
    began = time.perf_counter()
    work = services.scorer.run(score_pairs, served, services, body.sources, body.targets)
    found = await answer_in_time(request, services, work)
    return await written(served, found, began)


def score_pairs(
    flag: CancelFlag, served: ServedModel, services: Services, sources: Sequence[str], targets: Sequence[str]
) -> list[Score]:
    """Scores of the pairs, a few at a time, so that a client who leaves is noticed."""
    check_lengths(served.translator, sources, services.limits, "source")
    check_lengths(served.translator, targets, services.limits, "target")
    try:
        return served.translator.score(sources, targets, progress=flag.progress)
    except DataError as error:
        raise Problem(422, "bad_parameter", error.hint) from None
