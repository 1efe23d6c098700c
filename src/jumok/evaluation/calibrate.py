"""Calibrates a model: learns from sentences with translations what its scores say about changes."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jumok.checkpoint.calibration import write_calibration
from jumok.decoding.confidence import Calibration, check_drawn, scored_sentence
from jumok.decoding.estimator import Estimator
from jumok.decoding.jobs import make_request
from jumok.decoding.translator import Translator
from jumok.decoding.word_features import (
    SENTENCE_FEATURES,
    WORD_FEATURES,
    Column,
    sentence_columns,
    word_columns,
)
from jumok.errors import DataError
from jumok.evaluation.logistic import fit_estimator
from jumok.evaluation.metrics import References, several
from jumok.evaluation.post_edits import changed_words, is_changed
from jumok.evaluation.reliability import Reliability, reliability
from jumok.progress import Progress, silent

LEAST_WORDS, LEAST_SENTENCES = 500, 50
"""With fewer there is little to learn from, and probabilities would only look exact."""
RARE = 0.01


@dataclass(frozen=True, slots=True)
class LabelledAnswer:
    """One answer: its features, and which of its words a person would change."""

    columns: Mapping[str, Column]
    changed: tuple[bool, ...]
    any_changed: bool
    score: float = 0.0
    """Log-probability per token."""


@dataclass(frozen=True, slots=True)
class CalibrationReport:
    """A calibration, and how good one is that was made from every second sentence, on the others."""

    calibration: Calibration
    words: Reliability
    sentences: Reliability
    file: Path | None
    """Where it was kept."""

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return {
            "words": self.words.to_dict(),
            "sentences": self.sentences.to_dict(),
            "fitted": dict(self.calibration.fitted),
            "file": None if self.file is None else str(self.file),
        }


def calibrate(
    translator: Translator,
    sources: Sequence[str],
    references: References,
    *,
    keep: bool = True,
    progress: Progress = silent,
    **decode: Any,
) -> CalibrationReport:
    """Translate the sources, and learn from the references which words a person would change.

    What was learned is kept in the model's folder, where translators that are loaded afterwards find it.
    Options are those of decoding. Sentences that the model was trained on would make it look too sure.
    """
    return calibrate_sets([(translator, sources, references)], keep=keep, progress=progress, **decode)


def calibrate_sets(
    sets: Sequence[tuple[Translator, Sequence[str], References]],
    *,
    keep: bool = True,
    progress: Progress = silent,
    **decode: Any,
) -> CalibrationReport:
    """`calibrate` from several sets of sentences, each by one model's translator for its own direction."""
    translator = sets[0][0]
    labelled = [one for each in sets for one in label_answers(*each, progress=progress, **decode)]
    check_enough(labelled)
    half = fit_calibration(labelled[::2])
    words, sentences = judge(half, labelled[1::2])
    fitted = {
        "sentences": len(labelled),
        "words": sum(len(one.changed) for one in labelled),
        "changed": words.changed,
        "auc": words.auc,
        "found": words.found,
        "error": words.error,
        "lowest_score": lowest_score(labelled),
        "decoding": asdict(make_request(translator.config.decoding, decode).decoding),
    }
    whole = fit_calibration(labelled, fitted)
    file = write_calibration(translator.folder, whole.to_dict()) if keep else None
    return CalibrationReport(whole, words, sentences, file)


def label_answers(
    translator: Translator,
    sources: Sequence[str],
    references: References,
    *,
    progress: Progress = silent,
    **decode: Any,
) -> list[LabelledAnswer]:
    """The features and the labels of the answer to each source."""
    options = {"sentences": "as-is", **decode}
    request = make_request(translator.config.decoding, {**options, "n_best": 1})
    check_drawn(request)
    translator = translator.directed(request)
    answered, found = translator.answered(list(sources), request, progress), []
    for source, (_, made, answers), texts in zip(sources, answered, several(references), strict=True):
        if len(made.jobs) == 1:  # else it is blank, or too long for the model
            [[best]] = translator.parts(source, made.layout, answers, request)
            columns = word_columns(scored_sentence(source, best, translator.tokenizers))
            changed = changed_words(best.text, texts)
            whole = is_changed(best.text, texts)
            found.append(LabelledAnswer(columns, changed, whole, best.score_per_token))
    return found


def lowest_score(labelled: Sequence[LabelledAnswer]) -> float:
    """What 99 of 100 answers score at least, per token: below it, a text may be of a kind never learned."""
    return round(float(np.quantile([one.score for one in labelled], RARE)), 4)


def check_enough(labelled: Sequence[LabelledAnswer]) -> None:
    """Refuse to calibrate on a handful."""
    words = sum(len(one.changed) for one in labelled)
    if words < LEAST_WORDS or len(labelled) < LEAST_SENTENCES:
        raise DataError(
            f"the answers have {words:,} words in {len(labelled):,} sentences, too few to calibrate on",
            hint=f"give {LEAST_SENTENCES} lines with {LEAST_WORDS} words or more; 1,000 lines do well",
            code="too_few",
        )


def fit_calibration(
    labelled: Sequence[LabelledAnswer], fitted: Mapping[str, Any] | None = None
) -> Calibration:
    """An estimator for words, and with what it says one for sentences."""
    rows = [one for one in labelled if one.changed]
    columns = joined([one.columns for one in rows])
    changed = np.concatenate([np.asarray(one.changed) for one in rows])
    words = fit_estimator(columns, changed, WORD_FEATURES)
    known = joined([sentence_features(words, one) for one in rows])
    whole = np.asarray([one.any_changed for one in rows])
    return Calibration(words, fit_estimator(known, whole, SENTENCE_FEATURES), fitted or {})


def sentence_features(estimator: Estimator, one: LabelledAnswer) -> dict[str, Column]:
    return sentence_columns(one.columns, estimator.probabilities(one.columns))


def judge(calibration: Calibration, labelled: Sequence[LabelledAnswer]) -> tuple[Reliability, Reliability]:
    """How good a calibration is for words and for sentences that it has not seen."""
    rows = [one for one in labelled if one.changed]
    columns = joined([one.columns for one in rows])
    words, changed = calibration.words, np.concatenate([np.asarray(one.changed) for one in rows])
    known = joined([sentence_features(words, one) for one in rows])
    whole: NDArray[np.bool_] = np.asarray([one.any_changed for one in rows])
    return (
        reliability(words.probabilities(columns), changed),
        reliability(calibration.sentences.probabilities(known), whole),
    )


def joined(many: Sequence[Mapping[str, Column]]) -> dict[str, Column]:
    """The columns of all, one below the other."""
    return {name: np.concatenate([one[name] for one in many]) for name in many[0]}
