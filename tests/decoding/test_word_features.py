"""What is known of the words of an answer: numbers that are worked out by hand."""

import numpy as np
import pytest

from jumok.decoding.word_features import (
    SENTENCE_FEATURES,
    WORD_FEATURES,
    WORST,
    ScoredSentence,
    overlaps,
    sentence_columns,
    word_columns,
)

# "A cat ." with the tokens " A", " c", "at", ".", end
ANSWER = ScoredSentence(
    "Eine Katze.", "A cat.", [-0.1, -1.0, -0.5, -0.2, -0.4], [(0, 1), (2, 3), (3, 5), (5, 6), (6, 6)]
)


def test_tokens_belong_to_the_words_that_they_write() -> None:
    assert overlaps([(0, 1), (2, 5)], [(0, 1), (1, 3), (3, 5), (5, 5)]).tolist() == [
        [True, False, False, False],
        [False, True, True, False],
    ]


def test_features_by_hand() -> None:
    found = word_columns(ANSWER)
    assert tuple(found) == WORD_FEATURES
    assert found["word"] == pytest.approx([-0.1, -1.5, -0.2])
    assert found["probability"] == pytest.approx(np.exp([-0.1, -1.5, -0.2]))
    assert found["lowest"] == pytest.approx([-0.1, -1.0, -0.2])
    assert found["before"] == pytest.approx([0, -0.1, -1.5])
    assert found["after"] == pytest.approx([-1.5, -0.2, -0.4])
    assert found["earlier"] == pytest.approx([0, -0.1, -0.8])
    assert found["later"] == pytest.approx([-0.85, -0.2, 0])
    assert found["sentence"] == pytest.approx([-0.44] * 3)
    assert found["weakest"] == pytest.approx([-1.5] * 3)
    assert found["end"] == pytest.approx([-0.4] * 3)
    assert found["tokens"] == pytest.approx(np.log([1, 2, 1]))
    assert found["place"] == pytest.approx([1 / 6, 1 / 2, 5 / 6])
    assert found["words"] == pytest.approx([np.log(3)] * 3)
    assert found["ratio"] == pytest.approx([np.log(11 / 16)] * 3)
    assert found["longer"] == pytest.approx(found["ratio"] ** 2)
    assert found["copy"].tolist() == [0, 0, 1]  # the source has the full stop
    assert found["mark"].tolist() == [0, 0, 1]
    assert found["capital"].tolist() == [1, 0, 0]
    assert found["number"].tolist() == found["repeat"].tolist() == [0, 0, 0]


def test_an_answer_without_an_end_and_a_token_that_is_impossible() -> None:
    found = word_columns(ScoredSentence("", "a a", [-1e9, -0.5], [(0, 1), (2, 3)]))
    assert found["word"].tolist() == [WORST, -0.5]
    assert found["end"].tolist() == [0, 0]
    assert found["repeat"].tolist() == [1, 1]
    assert all(np.isfinite(column).all() for column in found.values())


def test_a_text_that_no_token_wrote_is_sure() -> None:
    """Such as a name that was put in place of a mark afterwards."""
    found = word_columns(ScoredSentence("x", "Berlin", [-0.3], [(0, 0)]))
    assert (found["word"].tolist(), found["lowest"].tolist(), found["tokens"].tolist()) == ([0], [0], [0])
    assert found["sentence"].tolist() == [-0.3]
    found = word_columns(ScoredSentence("x", "Berlin", [], []))
    assert [found[name].tolist() for name in ("word", "lowest", "sentence", "end")] == [[0]] * 4


def test_a_blank_answer_has_no_words() -> None:
    found = word_columns(ScoredSentence("x", "", [-0.3], [(0, 0)]))
    assert {len(column) for column in found.values()} == {0}
    assert sentence_columns(found, np.zeros(0))["expected"].tolist() == [0]


def test_features_of_a_sentence_by_hand() -> None:
    found = sentence_columns(word_columns(ANSWER), np.array([0.5, 0.2, 0.1]))
    assert set(found) == set(SENTENCE_FEATURES)
    assert found["expected"] == pytest.approx([np.log(1.8)])
    assert found["doubtful"].tolist() == [0.5]
    sure = sentence_columns(word_columns(ANSWER), np.array([1.0, 0.0, 0.0]))
    assert sure["unchanged"] == pytest.approx([np.log(0.001)])
    assert found["unchanged"] == pytest.approx([np.log(0.5 * 0.8 * 0.9)])
    assert found["sentence"] == pytest.approx([-0.44])
