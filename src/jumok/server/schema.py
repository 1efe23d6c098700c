"""The shapes of requests and answers under `/v1`. Unknown fields, wrong types and odd numbers are refused."""

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field
from pydantic_core import PydanticCustomError

from jumok.config import Arch, Utility
from jumok.explain.documents import ImageSize, KindSize, PositionKind, ScoreKind
from jumok.explain.op_fields import KindField
from jumok.server.gates.bounds import IN_FORCE, AtMost
from jumok.terms.glossary import LONGEST_TERM, MOST_CHOICES


class RequestBody(BaseModel):
    """A request body: strict about types, closed to unknown fields."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False, frozen=True)


class AnswerPart(BaseModel):
    """A part of an answer."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)


def not_too_long(text: str) -> str:
    """A text of the usual length; only a picture may be longer."""
    most = IN_FORCE.get().characters
    if len(text) > most and not text.startswith("data:"):
        message = f"String should have at most {most} characters"  # as pydantic says it
        raise PydanticCustomError("string_too_long", message)
    return text


Text = Annotated[str, AtMost("characters")]
Texts = Annotated[list[Text], Field(min_length=1), AtMost("texts")]
Source = Annotated[
    str,
    Field(
        description="A text of at most as many characters as the card's limits say. For a model whose card "
        'says source: "image", a picture as a data URL ("data:image/png;base64,…"); nothing else is opened.',
    ),
    AtMost("picture"),
    AfterValidator(not_too_long),
]
Sentence = Annotated[Source, Field(json_schema_extra={"pattern": r"\S"})]
"""A source that must not be blank."""
Sources = Annotated[list[Source], Field(min_length=1), AtMost("texts")]
Phrases = Annotated[list[Annotated[str, Field(min_length=1, max_length=200)]], Field(max_length=16)]
Name = Annotated[str, Field(min_length=1, max_length=128)]
TermText = Annotated[str, Field(min_length=1, max_length=LONGEST_TERM)]
GlossaryTerms = Annotated[
    dict[TermText, TermText | Annotated[list[TermText], Field(min_length=1, max_length=MOST_CHOICES)]],
    Field(min_length=1),
    AtMost("terms"),
]
Positive = Annotated[float, Field(gt=0, le=100)]


LanguageCode = Annotated[str, Field(min_length=1, max_length=32)]


class LanguageFields(RequestBody):
    """Which of a model's directions is meant: its card lists them."""

    to: LanguageCode | None = Field(
        None, description="The language to translate into; needed where the model has several."
    )
    from_language: LanguageCode | None = Field(
        None, description="The language of the texts; needed where it does not follow."
    )


def not_a_single_one(draws: int) -> int:
    if draws == 1:
        raise PydanticCustomError("single_draw", "a single draw is typical of itself: give 0, or 2 and more")
    return draws


Draws = Annotated[
    int, Field(ge=0, json_schema_extra={"not": {"const": 1}}), AtMost("mbr"), AfterValidator(not_a_single_one)
]


class SearchFields(LanguageFields):
    """How to search; what is not given is as the model's folder says."""

    model: Name | None = Field(None, description="A name of /v1/models; the first one if not given.")
    beam: Annotated[int, Field(ge=1), AtMost("beam")] | None = None
    n_best: Annotated[int, Field(ge=1), AtMost("n_best")] | None = None
    length_penalty: Annotated[float, Field(ge=0, le=10)] | None = None
    max_len: Annotated[int, Field(ge=1), AtMost("new_tokens")] | None = None
    min_len: Annotated[int, Field(ge=0), AtMost("new_tokens")] | None = None
    no_repeat_ngram: Annotated[int, Field(ge=0), AtMost("new_tokens")] | None = None
    loops: bool | None = None
    sample: bool | None = None
    temperature: Positive | None = None
    top_k: Annotated[int, Field(ge=0, le=1_000_000)] | None = None
    top_p: Annotated[float, Field(gt=0, le=1)] | None = None
    seed: Annotated[int, Field(ge=0, le=(1 << 53) - 1)] | None = Field(
        None, description="A whole number that every reader of JSON keeps exactly."
    )
    mbr: Draws | None = Field(
        None, description="0, or so many draws of which the most typical one is the answer."
    )
    utility: Utility | None = None
    ban: Phrases | None = None
    require: Phrases | None = None
    long: Literal["split", "cut", "error"] | None = None
    sentences: Literal["auto", "split", "as-is"] | None = Field(
        None, description="Whether each sentence of a text is translated by itself; auto: as suits the model."
    )
    protect: bool | None = Field(
        None,
        description="Placeholders, addresses, tags and code come out as they are; null: as suits the model.",
    )

    def chosen(self) -> dict[str, Any]:
        """The options that were given, by the names that a translator knows."""
        names = [*SearchFields.model_fields, *GlossaryFields.model_fields, "prefix"]
        asked = {name: getattr(self, name, None) for name in names if name != "model"}
        asked["confidence"] = getattr(self, "confidence", False) or None
        return {name: value for name, value in asked.items() if value is not None}


Doubts = Annotated[
    bool,
    Field(
        description="Also say how probable it is that a person would change each word: of calibrated models."
    ),
]


class GlossaryFields(RequestBody):
    """Terms with a fixed translation."""

    glossary: GlossaryTerms | None = Field(
        None,
        description="What terms of the source become: one text, or several of which any will do. A term that "
        "stays as it is stands on both sides.",
    )
    glossary_mode: Literal["strict", "soft"] | None = Field(
        None,
        description="strict (usual): an answer has its terms; soft: unless one without is far more probable.",
    )


class TranslateRequest(SearchFields, GlossaryFields):
    texts: Sources
    prefix: Text | Texts | None = Field(None, description="What answers begin with: one for all or one each.")
    align: bool = Field(
        default=False, description="Also say which source word, and which characters, each came from."
    )
    memory: bool = Field(
        default=True,
        description="Answer from the server's translation memory, if it has one; not if align is set.",
    )
    confidence: Doubts = False


class StreamRequest(SearchFields, GlossaryFields):
    text: Source
    prefix: Text | None = None
    confidence: Doubts = False


class SentencesRequest(LanguageFields):
    model: Name | None = None
    text: Source
    sentences: Literal["auto", "split", "as-is"] = "auto"


class SentencesAnswer(AnswerPart):
    model: str
    sentences: list[str] = Field(description="The parts of the text that are translated one by one.")


class ScoreRequest(LanguageFields):
    model: Name | None = None
    sources: Sources
    targets: Annotated[Texts, Field(description="One for each source, in the same order; 422 if not.")]


class TokenOut(AnswerPart):
    text: str
    id: int
    logprob: float


class SentenceOut(AnswerPart):
    """Where a sentence stands; characters are code points, and an end is the place behind the last."""

    source: tuple[int, int]
    text: tuple[int, int]
    tokens: tuple[int, int]


class LinkOut(AnswerPart):
    """A token of the answer and the characters of the source that it was written from, in code points."""

    source: tuple[int, int]
    target: tuple[int, int]
    weight: float = Field(description="How much the aligning head looked there, from 0 to 1.")


Probability = Annotated[float, Field(ge=0, le=1)]


class WordDoubtOut(AnswerPart):
    text: tuple[int, int] = Field(description="From and to which character of the answer.")
    change: Probability = Field(description="That a person would change this word.")


class ConfidenceOut(AnswerPart):
    """Calibrated probabilities that a person would change an answer."""

    change: Probability = Field(description="That a person would change anything in it.")
    sentences: list[Probability] = Field(description="The same of each sentence.")
    words: list[WordDoubtOut] = Field(description="Of every word, and of every mark between words.")


class HypothesisOut(AnswerPart):
    text: str
    score: float
    score_per_token: float
    finished: bool
    tokens: list[TokenOut]
    sentences: list[SentenceOut] = Field([], description="Of a text that was translated in parts.")
    links: list[LinkOut] = Field([], description="One for each token, if `align` is asked for.")
    confidence: ConfidenceOut | None = Field(None, description="Of the best answer, if asked for.")


class MatchOut(AnswerPart):
    """An entry of the server's translation memory for characters of the text."""

    span: tuple[int, int]
    source: str
    target: str
    score: float = Field(description="How similar the sources are; 1 is the same text.")
    used: bool = Field(description="The entry is the answer there: nothing was computed.")


class TermOut(AnswerPart):
    """A term of the glossary that the source has."""

    source: str
    targets: list[str]
    present: bool = Field(description="Whether the answer has one of the targets.")


class NoveltyOut(AnswerPart):
    """How new a text is to a model: pairs of tokens that stand side by side in it."""

    pairs: int
    unseen: int = Field(description="Pairs that never stood together in the sources it was trained on.")
    strange: bool = Field(
        description="They are more than in 99 of 100 validation sentences: not the kind of text it learned."
    )


class TranslationOut(HypothesisOut):
    alternatives: list[HypothesisOut]
    matches: list[MatchOut] = Field(
        [], description="What the server's translation memory has, if it has one."
    )
    terms: list[TermOut] = Field([], description="Of a request with a glossary.")
    align: str | None = Field(None, description="Pharaoh form: pairs of word numbers, source first.")
    novelty: NoveltyOut | None = Field(
        None, description="Left out where the model does not know its training, and of texts of the memory."
    )


class TranslateAnswer(AnswerPart):
    model: str
    results: list[TranslationOut]
    ms: float


class StreamStart(AnswerPart):
    """The first event of a stream."""

    id: str
    model: str
    source_tokens: list[str]


class StreamPartial(AnswerPart):
    """How far the answer has come."""

    t: int
    text: str
    tokens: list[str]
    stable: int = Field(description="So many tokens never change again.")
    score: float
    sure: int = Field(description="So many characters of the text never change again.")


class StreamFinal(TranslationOut):
    """The last event of a stream."""

    ms: float


class CorrectionRequest(LanguageFields):
    model: Name | None = Field(None, description="The model that is corrected; it tells the languages.")
    source: Annotated[Text, Field(min_length=1)]
    target: Annotated[Text, Field(min_length=1, description="What the translation should be.")]


class CorrectionAnswer(AnswerPart):
    remembered: bool
    source_language: str
    target_language: str


class ScoreOut(AnswerPart):
    score: float
    score_per_token: float
    tokens: list[TokenOut]


class ScoreAnswer(AnswerPart):
    model: str
    results: list[ScoreOut]
    ms: float


class DirectionOut(AnswerPart):
    source: str
    target: str


class Card(AnswerPart):
    name: str
    arch: Arch
    source_language: str
    target_language: str
    parameters: int
    fingerprint: str
    max_length: int
    positions: PositionKind | None
    score: ScoreKind | None
    d_model: int
    kinds: dict[KindField, KindSize]
    decoding: dict[str, Any]
    limits: dict[str, int | float]
    run: str | None
    examples: list[str]
    context: bool = Field(description="It was taught to read a question and a context.")
    source: Literal["text", "image"] = Field(description="What it reads.")
    image: ImageSize | None = Field(description="What it makes of a picture.")
    sentences: Literal["split", "as-is"] = Field(description="How it takes a text if no one says.")
    confidence: bool = Field(description="It is calibrated: answers can say which words are doubtful.")
    lowest_score: float | None = Field(
        description="Per token; 99 of 100 validation sentences score higher: below it, a text may be strange."
    )
    neighbours: bool = Field(description="It has an index of training states: /v1/neighbours.")
    directions: list[DirectionOut] = Field(
        [], description="From which language into which, where there are several; `to` chooses."
    )
    languages: list[str] = Field([], description="Of a model that translates each of many into every other.")
    members: list[str] = Field(description="The models of an ensemble; none: it is a single model.")


class Cards(AnswerPart):
    models: list[Card]


class PositionRows(AnswerPart):
    positions: PositionKind | None
    rows: list[list[float]] | None


class ProblemOut(BaseModel):
    type: str
    title: str
    status: int
    detail: str
    code: str
    request_id: str
    field: str | None = Field(None, description="The path of the field that is wrong: interventions.0.layer.")
