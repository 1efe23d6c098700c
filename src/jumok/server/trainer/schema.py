"""The shapes of what `/v1/training` takes and answers."""

from typing import Annotated, Literal

from pydantic import Field

from jumok.config import Arch
from jumok.server.gates.bounds import AtMost
from jumok.server.schema import AnswerPart, RequestBody

SHORTEST_S = 5
Column = Annotated[str, AtMost("training_bytes")]
Code = Annotated[str, Field(pattern=r"^[A-Za-z]{2,8}([_-][A-Za-z0-9]{1,8}){0,3}$")]
Status = Literal["starting", "running", "pausing", "paused", "stopping", "loading", "done", "failed"]


class PairsRequest(RequestBody):
    """Pairs to learn from: `pairs` with a tab in every line, or `source` and `target` with as many lines."""

    pairs: Column | None = Field(None, description="A source, a tab and its target in every line.")
    source: Column | None = Field(None, description="The sources, one a line.")
    target: Column | None = Field(None, description="Line n translates line n of the source.")


class TrainingRequest(PairsRequest):
    """What to train, and for how long."""

    arch: Arch = Field("transformer", description="What is trained.")
    seconds: Annotated[int, Field(ge=SHORTEST_S), AtMost("training_s")] = Field(
        120, description="Of training; pauses do not count."
    )
    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]{0,39}$")] | None = Field(
        None, description="Of the run and the model; a number is added to one that is taken."
    )
    source_language: Code | None = None
    target_language: Code | None = None


class TrainingAction(RequestBody):
    """What to do with the run."""

    action: Literal["pause", "resume", "stop"]


class FindingOut(AnswerPart):
    kind: str
    severity: Literal["error", "warning", "info"]
    title: str
    advice: str
    count: int
    lines: list[int] = Field(description="The first line numbers, counted from 1.")
    example: str


class PairsOut(AnswerPart):
    pairs: int
    findings: list[FindingOut] = Field(description="As jumok check says them, the worst first.")
    trainable: bool = Field(description="Whether jumok train can read all of it.")


class TrainingOut(AnswerPart):
    run: str = Field(description="Its name in /v1/runs, once it has begun to write.")
    status: Status
    arch: Arch
    pairs: int
    step: int | None
    elapsed_s: float | None = Field(description="Seconds of training so far.")
    seconds: int = Field(description="How long it is to train.")
    model: str | None = Field(description="Its name in /v1/models, once it is served.")
    problem: str | None = Field(description="What went wrong, in a sentence or two.")
    command: str = Field(description="The same on the command line.")


class TrainerOut(AnswerPart):
    off: Literal["not_allowed", "no_torch"] | None = Field(description="Why nothing can be trained here.")
    most_bytes: int
    most_seconds: int
    current: TrainingOut | None = Field(description="The run that goes on, or the last one.")
