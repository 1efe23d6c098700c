"""The shapes of requests and answers around traces: trace, what-if, sweep, compare, influence, beam."""

from typing import Annotated, Literal

from pydantic import Field, PlainValidator

from jumok.explain.gradients import MOST_LENGTHS
from jumok.explain.neighbours import MOST as MOST_NEIGHBOURS
from jumok.explain.op_fields import KindField
from jumok.explain.ops import Op, OpList, parse_ops
from jumok.explain.side_by_side import MOST_CUTS
from jumok.server.gates.bounds import AtMost
from jumok.server.schema import (
    AnswerPart,
    LanguageFields,
    Name,
    SearchFields,
    Sentence,
    Text,
    TokenOut,
)
from jumok.training.one_step import (
    DECAY,
    LARGEST_RATE,
    MOST_RATES,
    MOST_STEPS,
    W_OUT,
    OptimizerName,
    ParameterGradient,
    UpdateRule,
    WeightUpdate,
)

UnitName = Literal["words", "tokens"]
ReplaceName = Literal["unk", "drop"]
Rate = Annotated[float, Field(gt=0, le=LARGEST_RATE)]

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


class VotesRequest(LanguageFields):
    model: Name | None = None
    text: Sentence
    target: Text | None = Field(None, description="What is written; without it, the ensemble's own answer.")


class NeighboursRequest(LanguageFields):
    model: Name | None = None
    text: Sentence
    target: Text | None = Field(None, description="What is written; without it, the model's own answer.")
    count: Annotated[int, Field(ge=1, le=MOST_NEIGHBOURS)] = Field(
        default=5, description="Training states that are named for each token."
    )
    points: bool = Field(default=False, description="Send all training states, placed on the map, too.")


class TrainingStepRequest(LanguageFields):
    model: Name | None = None
    text: Sentence
    target: Text | None = Field(None, description="What is learned; without it, what the model writes.")
    optimizer: OptimizerName = "adam"
    lr: Rate = 1e-3
    steps: Annotated[int, Field(ge=0, le=MOST_STEPS)] = Field(
        default=0, description="Updates by the same pair before this one."
    )
    token: Annotated[int, Field(ge=0)] | None = Field(
        None, description="The target token to look at; that with the largest loss, if not given."
    )
    weight: Name = Field(W_OUT, description="A parameter's name, or W_out, whatever its name is.")
    index: Annotated[list[Annotated[int, Field(ge=0)]], Field(min_length=1, max_length=4)] | None = Field(
        None, description="Which number of it; the one with the largest gradient, if not given."
    )
    rates: Annotated[list[Rate], Field(max_length=MOST_RATES)] = Field(
        default=[], description="Say what the loss is after the same update at these rates, too."
    )
    weight_decay: Annotated[float, Field(ge=0, le=1)] | None = Field(
        None, description=f"{DECAY} for adamw and 0 for the others, if not given."
    )


class CandidateOut(AnswerPart):
    """A token of the vocabulary at the token looked at; its gradient is (p - y) / N over N target tokens."""

    id: int
    text: str
    logit: float
    p: float
    y: Literal[0, 1]
    gradient: float


class BackwardTensorOut(AnswerPart):
    stage: str
    operation: str
    axes: str
    values: list[float] | list[list[float]]
    gradient: list[float] | list[list[float]]


class PlainTokenOut(AnswerPart):
    text: str
    id: int


class RateLossOut(AnswerPart):
    lr: float
    loss: float | None


class TrainingStepOut(AnswerPart):
    source: str
    source_tokens: list[str]
    target: str
    tokens: list[PlainTokenOut]
    token: int
    rule: UpdateRule
    loss: float
    loss_after: float
    losses: list[float]
    losses_after: list[float]
    vocabulary: int
    candidates: list[CandidateOut] = Field(description="Those with the largest gradients.")
    tensors: list[BackwardTensorOut]
    gradients: list[ParameterGradient]
    weight: WeightUpdate
    rates: list[RateLossOut]


class FreeRunningRequest(LanguageFields):
    model: Name | None = None
    text: Sentence
    target: Text
    slip: Annotated[int, Field(ge=0)] | None = Field(
        None, description="Where a wrong token is put in; none, if not given."
    )
    wrong: Annotated[int, Field(ge=0)] | Name | None = Field(
        None, description="Its id or its text; the most probable wrong one, if not given."
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


class GradientsRequest(LanguageFields):
    model: Name | None = Field(None, description="A name of /v1/models; the first one if not given.")
    text: Sentence
    target: Text | None = Field(None, description="Whose loss it is; without it, that of the model's answer.")
    lengths: Annotated[
        list[Annotated[int, Field(ge=1), AtMost("trace_tokens", below=True)]], Field(max_length=MOST_LENGTHS)
    ] = Field(default=[], description="Measure again with the text's tokens repeated, cut to so many.")
    fresh: Annotated[int, Field(ge=0, lt=1 << 31)] | None = Field(
        None, description="A seed: weights that nobody has trained, instead of the model's."
    )
    directions: Literal[1, 2] | None = Field(
        None, description="In how many a recurrent encoder with fresh weights reads; else as the model's."
    )


class AtLengthOut(AnswerPart):
    length: int
    loss: float
    first: float = Field(description="The norm at the first token.")
    smallest: float
    largest: float


class GradientsOut(AnswerPart):
    target: str
    fresh: int | None
    loss: float = Field(description="Mean negative log-probability of the target's tokens, in nats.")
    tokens: list[str]
    norms: list[float] = Field(description="Of the loss's gradient at each token as it enters the encoder.")
    by_length: list[AtLengthOut]


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
