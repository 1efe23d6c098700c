"""Scores of given targets: those of the search, and pairs that are none."""

import pytest

from jumok.decoding.scores import score_pairs, unequal
from jumok.decoding.translator import load
from jumok.errors import DataError
from jumok.progress import silent


def test_the_score_of_an_answer_is_the_one_it_was_found_with() -> None:
    translator = load("demo/rnn", "cpu")
    sources = ["5. März 2024", "the 11th of June in 98"]
    answers = translator.translate(sources)
    found = translator.score(sources, [answer.text for answer in answers])
    for answer, score in zip(answers, found, strict=True):
        assert score.score == pytest.approx(answer.score, abs=1e-3)
        assert [token.id for token in score.tokens] == [token.id for token in answer.tokens]


def test_lists_of_different_length_are_no_pairs() -> None:
    translator = load("demo/rnn", "cpu")
    with pytest.raises(DataError, match="there are 2 sources and 1 targets"):
        score_pairs(
            translator._engine,
            translator.tokenizers,
            translator.config,
            ["a", "b"],
            ["c"],
            translator.explained,
            silent,
        )
    assert unequal(3, 4).code == "unequal_lines"
