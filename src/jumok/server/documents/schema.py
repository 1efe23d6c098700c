"""The shapes of what `/v1/documents` takes and answers."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from jumok.server.documents.upload import FIELD_BYTES
from jumok.server.schema import AnswerPart, LanguageCode, Name, ProblemOut, RequestBody, WordDoubtOut

LONGEST = 100_000  # characters of a segment that a person may write
FormatName = Annotated[str, Field(min_length=1, max_length=256)]
FileName = Annotated[str, Field(min_length=1, max_length=1024)]


class DocumentForm(BaseModel):
    """A form with a document, as a page or curl -F sends it."""

    model_config = ConfigDict(extra="ignore")

    file: Annotated[bytes, Field(min_length=1, json_schema_extra={"format": "binary"})]
    model: Name | None = None
    format: FormatName | None = None
    glossary: Annotated[
        str | None,
        Field(max_length=FIELD_BYTES, description="Lines of term, tab, translation; | between choices."),
    ] = None
    glossary_mode: Annotated[
        Literal["strict", "soft"] | None,
        Field(description="Whether an answer must have its terms; strict if not given."),
    ] = None
    to: LanguageCode | None = None
    from_language: LanguageCode | None = None


class SegmentEdit(RequestBody):
    target: Annotated[
        str,
        Field(max_length=LONGEST, description="The whole translation; tags go with their words."),
    ]


class DocumentCounts(AnswerPart):
    """What became of the segments so far."""

    translated: int
    present: int = Field(description="Translated in the document already, and left alone.")
    skipped: int = Field(description="Nothing to translate: numbers, code, addresses.")
    doubtful: int = Field(description="Someone should look at them.")
    edited: int = Field(description="Mended by a person.")


class DocumentOut(AnswerPart):
    id: str = Field(description="Whoever knows it can read and change the document.")
    name: str
    format: str
    model: str
    status: Literal["waiting", "running", "done", "failed"]
    bytes: int
    done: int = Field(description="Segments that have had their turn.")
    total: int | None = Field(description="All segments; null until the document has been read.")
    seconds_left: float | None = Field(description="An estimate; null while there is none.")
    counts: DocumentCounts
    target_name: str = Field(description="What the translated file is called.")
    problem: ProblemOut | None = Field(description="Why it failed.")


class FormatOut(AnswerPart):
    name: str
    suffixes: list[str]


class DocumentsOut(AnswerPart):
    documents: list[DocumentOut] = Field(description="Those that were asked for and are still here.")
    formats: list[FormatOut]


class SegmentOut(AnswerPart):
    n: int
    where: str
    source: str
    target: str | None = Field(description="null while it has no translation.")
    outcome: Literal["translated", "present", "skipped"] | None = Field(description="null: its turn comes.")
    doubts: list[str] = Field(description="Why someone should look at it.")
    words: list[WordDoubtOut] = Field(description="Its words that a person would probably change.")
    edited: bool


class SegmentsOut(AnswerPart):
    total: int = Field(description="So many there are, of all or of the doubtful ones.")
    segments: list[SegmentOut]
