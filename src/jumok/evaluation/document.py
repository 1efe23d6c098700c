"""The document of an evaluation, `eval/1`, as types: what `Evaluation.to_dict` writes and the page reads.

Files of earlier versions have fewer keys; readers ignore keys they do not know.
"""

from typing import Annotated, Any, Literal

from pydantic import Field

from jumok.evaluation.lengths import Unit
from jumok.evaluation.mistakes import Cause, Kind
from jumok.explain.documents import Count, DocumentPart, Number, sometimes


class EvalMetric(DocumentPart):
    value: Number
    ci95: tuple[Number, Number] | None = sometimes("Interval of 95 % by bootstrap.")
    signature: str = sometimes("How it was computed, in full.")


class EvalData(DocumentPart):
    name: str
    n: Annotated[int, Field(strict=True, ge=0)]
    sha256: str = sometimes("Of sources and references: equal means the same test set.")


class EvalBin(DocumentPart):
    """Sentences of one length; next to these keys `bleu`, `bleu_ci95` and so on for each metric."""

    lo: Count
    hi: Count | None
    """None: no upper end."""
    n: Count
    length_ratio: Number = sometimes()
    thin: bool = sometimes("Few sentences: the numbers say little.")
    examples: list[Count] = sometimes("Line numbers, the worst first; their texts are in `examples`.")


class EvalLengths(DocumentPart):
    unit: Unit
    bins: list[EvalBin]


class EvalExample(DocumentPart):
    line: Count
    chrf: Number = sometimes()
    source: str
    reference: str
    references: list[str] = sometimes("All of them, where there are several.")
    hypothesis: str


class WrongLengthPart(DocumentPart):
    lo: Count
    hi: Count | None
    """None: no upper end."""
    n: Count
    wrong: Count
    """Answers with mistakes."""
    kinds: dict[Kind, Count]


class WrongWordPart(DocumentPart):
    word: str
    times: Count
    """How often references have it."""
    missed: Count
    """How often it was omitted, moved, or another stood in its place."""
    extra: Count
    """How often answers have it where it is added, repeated, or in place of another."""
    instead: list[tuple[str, Count]]
    """What stood in its place, the commonest first."""
    lines: list[Count]


class WrongLinePart(DocumentPart):
    line: Count
    source: str
    reference: str
    hypothesis: str
    kinds: dict[Kind, Count]
    cause: Cause | None
    """search: the model finds the reference better than its answer; model: it does not. None: unknown."""


class MistakesDocument(DocumentPart):
    """What kinds of mistakes answers have, by word, by length of the source, and whose fault they are."""

    schema_: Literal["mistakes/1"] = Field(alias="schema")
    n: Count
    kinds: dict[Kind, Count]
    causes: dict[Cause, Count]
    """Of answers with mistakes whose scores are known."""
    unit: Unit
    lengths: list[WrongLengthPart]
    words: list[WrongWordPart]
    lines: list[WrongLinePart]
    cut: Count
    """Answers of which only the first words were compared."""


class EvalSpeed(DocumentPart):
    sentences_per_s: float
    target_tokens_per_s: float
    wall_s: float
    engine: dict[str, str] | None = sometimes("What translated: its name, the type of its numbers and more.")


class EvalDocument(DocumentPart):
    """How good one system's translations of one test set are."""

    schema_: Literal["eval/1"] = Field(alias="schema")
    model: str
    data: EvalData
    decode: dict[str, Any] = sometimes("Settings of the search.")
    metrics: dict[str, EvalMetric]
    length_ratio: Number = sometimes("Characters of the answers per character of the references.")
    by_length: EvalLengths | None = sometimes("The same by the length of the source.")
    train_length_histogram: list[tuple[Count, Count, Count]] | None = sometimes(
        "How long the training sources were: shortest, longest, how many."
    )
    train_length_counted: Count | None = sometimes("How many of them were measured.")
    speed: EvalSpeed | None = sometimes("How fast the test set was translated, end to end.")
    examples: list[EvalExample] = sometimes("The sentences that the bins name.")
    notes: list[str] = sometimes()
    mistakes: MistakesDocument | None = sometimes("With --mistakes: what kinds there are.")
