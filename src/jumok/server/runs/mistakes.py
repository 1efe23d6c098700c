"""`/v1/mistakes`: what kinds of mistakes given answers have."""

from typing import Annotated

from fastapi import Request
from fastapi.responses import Response
from pydantic import Field

from jumok.evaluation.document import MistakesDocument
from jumok.evaluation.mistakes import Mistakes, Pair, Scored, find_mistakes
from jumok.server.analysis import CancelFlag
from jumok.server.gates.bodies import api_router
from jumok.server.gates.bounds import AtMost
from jumok.server.gates.problems import json_answer
from jumok.server.schema import RequestBody, Text
from jumok.server.services import SharedServices, answer_in_time

router = api_router("runs")


class ScoredText(RequestBody):
    """What /v1/score says of a text: its score, and how many tokens it has."""

    score: Annotated[float, Field(ge=-1e9, le=1e9)]
    tokens: Annotated[int, Field(ge=1, le=1_000_000)]


class MistakeLine(RequestBody):
    source: Text
    reference: Text
    hypothesis: Text
    score: ScoredText | None = Field(None, description="Of the hypothesis.")
    reference_score: ScoredText | None = None


class MistakesRequest(RequestBody):
    lines: Annotated[list[MistakeLine], Field(min_length=1), AtMost("lines")]
    length_penalty: Annotated[float, Field(ge=0, le=10)] = Field(
        1.0, description="Of the search that found the hypotheses: with it scores are compared."
    )


@router.post("/v1/mistakes", response_model=MistakesDocument)
async def mistakes(body: MistakesRequest, request: Request, services: SharedServices) -> Response:
    """Kinds of mistakes, by word and by length; with scores also whether search or model made them."""
    found = await answer_in_time(request, services, services.scorer.run(told_apart, body))
    return json_answer(found.to_dict())


def told_apart(flag: CancelFlag, body: MistakesRequest) -> Mistakes:
    """The analysis; a client who leaves ends it."""
    pairs = [
        Pair(
            line.source,
            (line.reference,),
            line.hypothesis,
            as_scored(line.score),
            as_scored(line.reference_score),
        )
        for line in body.lines
    ]
    return find_mistakes(pairs, alpha=body.length_penalty, progress=flag.progress)


def as_scored(text: ScoredText | None) -> Scored | None:
    return None if text is None else Scored(text.score, text.tokens)
