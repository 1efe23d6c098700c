"""Calibration of a whole model: what it learns holds for sentences that it has not seen."""

import shutil
from dataclasses import replace

import pytest

from jumok.checkpoint.bundled import bundled
from jumok.data.builtin import builtin_corpus
from jumok.decoding.translator import Translator, load
from jumok.errors import ConfigError, DataError
from jumok.evaluation.calibrate import (
    LabelledAnswer,
    calibrate,
    check_enough,
    fit_calibration,
    judge,
    label_answers,
    lowest_score,
)

Pairs = tuple[list[str], list[str]]


def pairs_of(split: str, count: int) -> Pairs:
    rows = [texts for _, texts in zip(range(count), builtin_corpus("dates", split).texts(), strict=False)]
    return [source for source, *_ in rows], [target for _, target, *_ in rows]


@pytest.fixture(scope="module")
def translator(tmp_path_factory: pytest.TempPathFactory) -> Translator:
    return load(shutil.copytree(bundled()["rnn"], tmp_path_factory.mktemp("calibrate") / "rnn"), "cpu")


def test_it_finds_the_errors_of_sentences_that_it_has_not_seen(translator: Translator) -> None:
    """The bundled rnn has about one word in six wrong."""
    fitted = fit_calibration(label_answers(translator, *pairs_of("valid", 400), beam=1))
    words, sentences = judge(fitted, label_answers(translator, *pairs_of("test", 400), beam=1))
    assert 0.1 < words.changed < 0.3
    assert words.found > 0.8  # of the errors are among the most doubtful fifth
    assert words.auc > 0.95
    assert words.error < 0.05
    assert sentences.auc > 0.9


def test_what_is_kept_is_used(translator: Translator) -> None:
    found = calibrate(translator, *pairs_of("valid", 200), beam=1)
    assert found.file == translator.folder / "confidence.json"
    again = load(translator.folder, "cpu")
    assert again.calibration == found.calibration
    assert found.calibration.fitted["sentences"] == 200
    assert found.calibration.fitted["decoding"]["beam"] == 1
    scores = [one.score_per_token for one in translator.translate(pairs_of("valid", 200)[0], beam=1)]
    low = found.calibration.fitted["lowest_score"]
    assert again.lowest_score == low
    assert sum(score < low for score in scores) == 2
    assert found.to_dict()["words"]["count"] == found.words.count
    labelled = label_answers(translator, *pairs_of("valid", 200), beam=1)
    held_out = judge(fit_calibration(labelled[::2]), labelled[1::2])  # every second one
    assert (found.words, found.sentences) == held_out
    assert found.calibration.words == fit_calibration(labelled).words  # of all that there is
    assert found.calibration.fitted["words"] == sum(len(one.changed) for one in labelled)
    before = (translator.folder / "confidence.json").read_bytes()
    assert calibrate(translator, *pairs_of("valid", 100), keep=False).file is None
    assert (translator.folder / "confidence.json").read_bytes() == before


def test_labels_are_those_of_the_words(translator: Translator) -> None:
    sources = ["5. März 2024", "", "5. März 2024"]
    right, wrong = label_answers(
        translator, sources, ["2024-03-05", "", "2024-03-06"]
    )  # a blank has no words
    assert right.changed == (False,) * 5
    assert right.any_changed is False
    assert wrong.changed == (False, False, False, False, True)
    assert wrong.any_changed is True


def test_a_handful_is_refused(translator: Translator) -> None:
    with pytest.raises(
        DataError, match=r"(?s)have 50 words in 10 sentences, too few.*50 lines with 500 words"
    ):
        calibrate(translator, ["5. März 2024"] * 10, ["2024-03-05"] * 10)


def test_draws_are_refused(translator: Translator) -> None:
    with pytest.raises(ConfigError, match="calibrated for answers that are searched"):
        calibrate(translator, ["x"], ["y"], sample=True)


def answers_of(sentences: int, words: int) -> list[LabelledAnswer]:
    """The words are shared out among the sentences; the scores are whole numbers from 0 down."""
    counts = [words // sentences + (n < words % sentences) for n in range(sentences)]
    return [
        LabelledAnswer({}, (False,) * count, any_changed=False, score=-n) for n, count in enumerate(counts)
    ]


@pytest.mark.parametrize(("sentences", "words"), [(49, 500), (50, 499)])
def test_fifty_sentences_of_five_hundred_words_are_enough_and_no_fewer(sentences: int, words: int) -> None:
    check_enough(answers_of(50, 500))
    with pytest.raises(DataError, match=f"have {words} words in {sentences} sentences, too few"):
        check_enough(answers_of(sentences, words))


def test_one_answer_in_a_hundred_scores_lower() -> None:
    assert lowest_score(answers_of(101, 101)) == -99
    assert lowest_score(answers_of(4, 4)) == -2.97
    assert lowest_score([replace(answers_of(1, 1)[0], score=-1.23456)]) == -1.2346
