"""The document of an evaluation, `eval/1`, as types: what `Evaluation.to_dict` writes and the page reads.

Files of earlier versions have fewer keys; readers ignore keys they do not know.
"""

from typing import Annotated, Any, Literal

from pydantic import Field

from jumok.evaluation.lengths import Unit
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
