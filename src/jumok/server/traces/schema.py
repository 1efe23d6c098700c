"""The shapes of requests and answers around traces: trace, what-if, sweep, compare, influence, beam."""

from typing import Annotated, Literal

from pydantic import Field, PlainValidator

from jumok.explain.op_fields import KindField
from jumok.explain.ops import Op, OpList, parse_ops
from jumok.explain.side_by_side import MOST_CUTS
from jumok.server.schema import AnswerPart, Name, SearchFields, Sentence, Text, TokenOut

UnitName = Literal["words", "tokens"]
ReplaceName = Literal["unk", "drop"]

Interventions = Annotated[tuple[Op, ...], PlainValidator(parse_ops, json_schema_input_type=OpList)]


class TraceRequest(SearchFields):
    text: Sentence
    target: Text | None = Field(
        None, description="What the answer is; without it, what the model makes of it."
    )
    prefix: Text | None = None
    interventions: Interventions = Field(
        default=(), description="What is changed in the model or the search."
    )
    fingerprint: Annotated[str, Field(min_length=8, max_length=80)] | None = Field(
        None, description="The model that is meant, or the beginning of its fingerprint; 409 for another."
    )


class SweepRequest(TraceRequest):
    kinds: Annotated[list[KindField], Field(min_length=1, max_length=4)] | None = Field(
        None, description="Kinds of attention; all that the model has, if not given."
    )


class CompareRequest(SearchFields):
    model: None = Field(None, description="Not used here: `models` names them.")
    models: Annotated[list[Name], Field(min_length=2, max_length=3, json_schema_extra={"uniqueItems": True})]
    text: Sentence
    prefix: Text | None = None
    reference: Text | None = Field(None, description="A good translation, to compare the answers with.")
    cuts: Annotated[list[Annotated[int, Field(ge=1, le=10_000)]], Field(max_length=MOST_CUTS)] = Field(
        default=[], description="Numbers of words: the text is also translated cut after so many."
    )


class UnitOut(AnswerPart):
    text: str
    tokens: list[int]


class InfluenceOut(AnswerPart):
    unit: UnitName
    replace: ReplaceName
    units: list[UnitOut]
    values: list[list[float]] = Field(
        description="A row for each target token, a column for each unit; nats."
    )


class SideOut(AnswerPart):
    id: str = Field(description="Of its trace.")
    text: str
    score: float
    tokens: list[TokenOut]


class ChangeOut(AnswerPart):
    op: Literal["equal", "replace", "delete", "insert"]
    a: tuple[int, int] = Field(description="Tokens of the baseline, half open.")
    b: tuple[int, int] = Field(description="Tokens of the edited answer, half open.")


class WhatIfOut(AnswerPart):
    baseline: SideOut
    edited: SideOut
    diff: list[ChangeOut]
    first_divergence: int | None
    baseline_logprob_under_edit: float


class SweepRowOut(AnswerPart):
    """What masking each head of one layer adds to the log-probability."""

    kind: KindField
    layer: int
    values: list[float]


class SweepOut(AnswerPart):
    baseline_logprob: float
    kinds: dict[KindField, list[list[float]]] = Field(
        description="What masking each head alone adds to the log-probability: a row for each layer."
    )


class WordsOut(AnswerPart):
    text: str
    words: list[str]


class ColumnOut(AnswerPart):
    model: str
    arch: Literal["rnn", "luong", "transformer"]
    id: str = Field(description="Of its trace.")
    text: str
    score: float
    score_per_token: float
    chrf: float | None
    tokens: list[TokenOut]
    influence: InfluenceOut


class GrownOut(AnswerPart):
    chrf: float
    text: str


class CutOut(AnswerPart):
    words: int
    source: str
    reference: str
    scores: dict[str, GrownOut]


class CompareOut(AnswerPart):
    source: WordsOut
    pseudo_reference: str | None
    results: list[ColumnOut]
    grow: list[CutOut]
