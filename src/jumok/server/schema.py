"""The shapes of requests and answers under `/v1`. Unknown fields, wrong types and odd numbers are refused."""

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field
from pydantic_core import PydanticCustomError

from jumok.config import Utility
from jumok.server.gates.limits import DEFAULTS


class Asked(BaseModel):
    """A request body: strict about types, closed to unknown fields."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False, frozen=True)


class Told(BaseModel):
    """A part of an answer."""

    model_config = ConfigDict(extra="forbid", frozen=True)


def not_too_long(text: str) -> str:
    """A text of the usual length; only a picture may be longer."""
    most = DEFAULTS.characters
    if len(text) > most and not text.startswith("data:"):
        message = f"String should have at most {most} characters"  # as pydantic says it
        raise PydanticCustomError("string_too_long", message)
    return text


Text = Annotated[str, Field(max_length=DEFAULTS.characters)]
Texts = Annotated[list[Text], Field(min_length=1, max_length=DEFAULTS.texts)]
Source = Annotated[
    str,
    Field(
        max_length=DEFAULTS.picture,
        description=f"A text of at most {DEFAULTS.characters} characters. For a model whose card says "
        'source: "image", a picture as a data URL ("data:image/png;base64,…"); nothing else is opened.',
    ),
    AfterValidator(not_too_long),
]
Sources = Annotated[list[Source], Field(min_length=1, max_length=DEFAULTS.texts)]
Phrases = Annotated[list[Annotated[str, Field(min_length=1, max_length=200)]], Field(max_length=16)]
Name = Annotated[str, Field(min_length=1, max_length=128)]
Positive = Annotated[float, Field(gt=0, le=100)]


class Options(Asked):
    """How to search; what is not given is as the model's folder says."""

    model: Name | None = Field(None, description="A name of /v1/models; the first one if not given.")
    beam: Annotated[int, Field(ge=1, le=DEFAULTS.beam)] | None = None
    n_best: Annotated[int, Field(ge=1, le=DEFAULTS.n_best)] | None = None
    length_penalty: Annotated[float, Field(ge=0, le=10)] | None = None
    max_len: Annotated[int, Field(ge=1, le=DEFAULTS.new_tokens)] | None = None
    min_len: Annotated[int, Field(ge=0, le=DEFAULTS.new_tokens)] | None = None
    no_repeat_ngram: Annotated[int, Field(ge=0, le=DEFAULTS.new_tokens)] | None = None
    sample: bool | None = None
    temperature: Positive | None = None
    top_k: Annotated[int, Field(ge=0, le=1_000_000)] | None = None
    top_p: Annotated[float, Field(gt=0, le=1)] | None = None
    seed: Annotated[int, Field(ge=0, lt=1 << 63)] | None = None
    mbr: Annotated[int, Field(ge=0, le=DEFAULTS.mbr)] | None = None
    utility: Utility | None = None
    ban: Phrases | None = None
    require: Phrases | None = None
    long: Literal["split", "cut", "error"] | None = None

    def chosen(self) -> dict[str, Any]:
        """The options that were given, by the names that a translator knows."""
        names = [*Options.model_fields, "prefix"]
        asked = {name: getattr(self, name, None) for name in names if name != "model"}
        return {name: value for name, value in asked.items() if value is not None}


class TranslateRequest(Options):
    texts: Sources
    prefix: Text | Texts | None = Field(None, description="What answers begin with: one for all or one each.")
    align: bool = Field(default=False, description="Also say which source word each target word came from.")


class StreamRequest(Options):
    text: Source
    prefix: Text | None = None


class ScoreRequest(Asked):
    model: Name | None = None
    sources: Sources
    targets: Texts


class TokenOut(Told):
    text: str
    id: int
    logprob: float


class HypothesisOut(Told):
    text: str
    score: float
    score_per_token: float
    finished: bool
    tokens: list[TokenOut]


class TranslationOut(HypothesisOut):
    alternatives: list[HypothesisOut]
    align: str | None = Field(None, description="Pharaoh form: pairs of word numbers, source first.")


class TranslateAnswer(Told):
    model: str
    results: list[TranslationOut]
    ms: float


class ScoreOut(Told):
    score: float
    score_per_token: float
    tokens: list[TokenOut]


class ScoreAnswer(Told):
    model: str
    results: list[ScoreOut]
    ms: float


class KindOut(Told):
    layers: int
    heads: int
    d_head: int


class ImageOut(Told):
    size: int = Field(description="Pixels of the square, a side.")
    patch: int = Field(description="Pixels of a patch, a side.")


class Card(Told):
    name: str
    arch: Literal["rnn", "luong", "transformer"]
    source_language: str
    target_language: str
    parameters: int
    fingerprint: str
    max_length: int
    positions: str | None
    score: str | None
    d_model: int
    kinds: dict[str, KindOut]
    decoding: dict[str, Any]
    limits: dict[str, int | float]
    run: str | None
    examples: list[str]
    context: bool = Field(description="It was taught to read a question and a context.")
    source: Literal["text", "image"] = Field(description="What it reads.")
    image: ImageOut | None = Field(description="What it makes of a picture.")


class Cards(Told):
    models: list[Card]


class Positions(Told):
    positions: str | None
    rows: list[list[float]] | None


class ProblemOut(BaseModel):
    type: str
    title: str
    status: int
    detail: str
    code: str
    request_id: str
    field: str | None = Field(None, description="The path of the field that is wrong: interventions.0.layer.")
