"""The shapes of what `/v1/runs` and `/v1/evals` answer."""

from typing import Any, Literal

from pydantic import Field

from jumok.evaluation.document import EvalMetric
from jumok.explain.documents import DocumentPart, sometimes
from jumok.server.schema import AnswerPart

Status = Literal["running", "completed", "stopped", "failed", "unknown"]


class BestOut(AnswerPart):
    metric: str
    value: float
    step: int


class RunOut(AnswerPart):
    name: str = Field(description="As addresses use it: demo~rnn for the run in demo/rnn.")
    title: str = Field(description="As people read it: demo/rnn.")
    status: Status = Field(description="unknown: there is no end, and no sign of life.")
    reason: str | None = Field(description="Why it ended.")
    arch: str | None
    step: int | None
    max_steps: int | None = Field(description="null: its time limit ends it.")
    elapsed_s: float | None = Field(description="Seconds of training so far.")
    time_limit: float | None = Field(description="Seconds of training; null: no limit.")
    best: BestOut | None
    updated: str | None = Field(description="When it last wrote something.")


class RunsOut(AnswerPart):
    runs: list[RunOut]


class NoticeOut(AnswerPart):
    step: int | None
    level: str | None
    code: str | None
    message: str | None


class SampleOut(AnswerPart):
    src: str
    ref: str
    hyp: str
    score: float | None


class SamplesOut(AnswerPart):
    step: int
    samples: list[SampleOut]


class CurveOut(AnswerPart):
    step: list[int]
    elapsed_s: list[float | None]
    value: list[float]


class StartOut(AnswerPart):
    """The model that a run started from."""

    name: str
    sha256: str | None = Field(description="Of its manifest, and so of all of it.")
    metric: str | None = Field(description="What its own best was compared by.")
    series: dict[str, CurveOut] = Field(description="Its own validations, on its own data; without times.")


class RunDetails(RunOut):
    config: dict[str, Any]
    series: list[str] = Field(description="Names for /series.")
    notices: list[NoticeOut]
    samples: list[SamplesOut]
    probes: list[int] = Field(description="Steps for /probes.")
    start: StartOut | None = Field(description="What it started from; null: from nothing.")
    offset: int = Field(description="Where this ends in the file: /events?after= goes on from there.")


class RunEvent(DocumentPart):
    """One line of a run's `metrics.jsonl`. Which keys it has depends on its type."""

    type: Literal["start", "train", "valid", "checkpoint", "notice", "end"]
    time: str = sometimes()
    step: int = sometimes()
    epoch: int = sometimes()
    elapsed_s: float = sometimes("Time spent in training, in all sittings.")
    loss: float | None = sometimes("Null: it was not finite.")
    best: bool | float | None = sometimes("Whether this is the best so far; of an end, the best score.")
    averaged: int = sometimes("Of a validation: of the average of so many checkpoints.")
    directions: dict[str, dict[str, float | None]] = sometimes("Of a validation: what each direction scored.")
    samples: list[SampleOut] = sometimes()
    probe: str = sometimes("The file of its probe, in the run's folder.")
    path: str = sometimes("The folder of a checkpoint.")
    metric: float | None = sometimes("The score of a checkpoint; higher is better.")
    resumed_from: int | None = sometimes("Of a start: the step that it goes on from.")
    status: str = sometimes("Of an end: completed, stopped or failed.")
    reason: str = sometimes()
    level: str = sometimes()
    code: str = sometimes()
    message: str = sometimes()


class SeriesOut(AnswerPart):
    series: dict[str, CurveOut]


class ProbeSentence(AnswerPart):
    source: list[str]
    target: list[str]
    text: str
    shape: list[int] = Field(description="Layers, heads, target tokens, source tokens.")
    atlas: str = Field(description="Base64 of bytes in this shape: 255 · sqrt(weight) in 52 shades.")


class ProbeOut(AnswerPart):
    step: int
    sentences: list[ProbeSentence]


class EvalOut(AnswerPart):
    id: str
    run: str
    model: str
    data: str
    n: int
    metrics: dict[str, EvalMetric]


class EvalsOut(AnswerPart):
    evals: list[EvalOut]
