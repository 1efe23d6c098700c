"""A calibrated model's doubts: from the scores of an answer to the probability of a person changing it."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jumok.checkpoint.calibration import bad_calibration, is_calibrated, read_calibration, read_learned
from jumok.checkpoint.manifest import CALIBRATION, NOVELTY
from jumok.decoding.estimator import Estimator, parse_estimator
from jumok.decoding.jobs import Request
from jumok.decoding.results import Confidence, Hypothesis, WordDoubt
from jumok.decoding.word_features import (
    SENTENCE_FEATURES,
    WORD_FEATURES,
    ScoredSentence,
    sentence_columns,
    word_columns,
)
from jumok.errors import ConfigError, ModelError
from jumok.text.novelty import Novelty, parse_novelty
from jumok.text.spans import token_spans
from jumok.text.tokenizer import Tokenizers
from jumok.text.word_spans import word_spans

if TYPE_CHECKING:
    from jumok.decoding.engines import Engine

log = logging.getLogger("jumok")

DIGITS = 4
"""Of a probability: calibration knows no more, and engines round differently behind them."""


@dataclass(frozen=True, slots=True)
class Calibration:
    """What a model's scores mean: an estimator for words, and one for sentences."""

    words: Estimator
    sentences: Estimator
    fitted: Mapping[str, Any]
    """What it was fitted on, and how well a half of that foretold the other half."""

    def confidence(self, answer: ScoredSentence) -> Confidence:
        """How probable a change of each word is, and of the sentence. A blank one stays."""
        spans, known = word_spans(answer.text), word_columns(answer)
        if not spans:
            return Confidence(0.0, (0.0,), ())
        change = self.words.probabilities(known)
        whole = self.sentences.probabilities(sentence_columns(known, change))
        [sentence] = whole.round(DIGITS).tolist()
        rounded = change.round(DIGITS).tolist()
        return Confidence(sentence, (sentence,), tuple(map(WordDoubt, spans, rounded)))

    def to_dict(self) -> dict[str, Any]:
        return {
            "words": self.words.to_dict(),
            "sentences": self.sentences.to_dict(),
            "fitted": dict(self.fitted),
        }


def scored_sentence(source: str, answer: Hypothesis, tokenizers: Tokenizers) -> ScoredSentence:
    """An answer to one sentence with what is known of it."""
    tokens = answer.tokens[len(tokenizers.opening) :]  # what is forced says nothing
    spans = token_spans(tokenizers.target, [token.id for token in tokens])
    read = source if tokenizers.pictures is None else ""
    return ScoredSentence(read, answer.text, [token.logprob for token in tokens], spans)


def with_confidence(
    calibration: Calibration, source: str, hypotheses: Sequence[Hypothesis], tokenizers: Tokenizers
) -> list[Hypothesis]:
    """The answers to one sentence, the best of them with its confidence; for the others nothing is known."""
    best, *others = hypotheses
    return [
        replace(best, confidence=calibration.confidence(scored_sentence(source, best, tokenizers))),
        *others,
    ]


def check_drawn(request: Request) -> None:
    """Refuse to give numbers that were never compared with what people change."""
    if request.decoding.draws:
        raise ConfigError(
            "confidence is calibrated for answers that are searched, and these are drawn at random",
            hint="set sample to false and mbr to 0, or name a beam",
            code="not_calibrated",
        )


class Calibrated:
    """The part of a translator that knows how sure it may be."""

    _engine: "Engine"
    interventions: Sequence[Mapping[str, Any]]

    @property
    def folder(self) -> Path:
        """The model's own folder; of a run, that of the checkpoint in use."""
        return self._engine.contents.folder

    @property
    def is_calibrated(self) -> bool:
        """Whether answers can say which words are doubtful."""
        return is_calibrated(self.folder)

    @cached_property
    def lowest_score(self) -> float | None:
        """What 99 of 100 validation sentences score at least, per token; None where that is not known."""
        try:
            found = read_calibration(self.folder).get("fitted", {}).get("lowest_score")
        except (ConfigError, ModelError, AttributeError):
            return None
        return float(found) if isinstance(found, int | float) else None

    @cached_property
    def novelty(self) -> Novelty | None:
        """Which tokens stood side by side in training; None where that is not known."""
        if not (self.folder / NOVELTY).exists():
            return None
        try:
            return parse_novelty(read_learned(self.folder, NOVELTY))
        except ModelError as error:
            log.warning("%s\n  nothing is said about how new a text is", error)
            return None

    @cached_property
    def calibration(self) -> Calibration:
        """What turns scores into probabilities, read when it is first asked for."""
        return load_calibration(self.folder, changed=bool(self.interventions))

    def check(self, request: Request) -> None:
        """Refuse what this model cannot do, before any work begins."""
        if request.confidence:
            check_drawn(request)
            _ = self.calibration


def load_calibration(folder: Path, *, changed: bool = False) -> Calibration:
    """The calibration that lies beside a model; one that was `changed` since has none."""
    if changed:
        raise ConfigError(
            "a model with interventions is not the one that was calibrated",
            hint="ask for confidence without interventions",
            code="not_calibrated",
        )
    fields = read_calibration(folder)
    try:
        return parse_calibration(fields)
    except ValueError as error:
        raise bad_calibration(folder / CALIBRATION, str(error)) from None


def parse_calibration(fields: Mapping[str, Any]) -> Calibration:
    """What `to_dict` wrote; a ValueError if it cannot be that."""
    match fields:
        case {"words": words, "sentences": sentences, "fitted": dict(fitted)}:
            found = Calibration(parse_estimator(words), parse_estimator(sentences), fitted)
        case _:
            raise ValueError("words, sentences or fitted is missing")
    for one, names in ((found.words, WORD_FEATURES), (found.sentences, SENTENCE_FEATURES)):
        if strange := one.weights.keys() - set(names):
            raise ValueError(f"it asks for {min(strange)!r}, which this jumok does not know of an answer")
    return found
