"""A question and its context are one source, whose marks are pieces of their own."""

from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jumok.config import TextConfig
from jumok.data.questions import holds_question, join_question, read_question
from jumok.errors import DataError
from jumok.text.marks import CONTEXT_MARK, QUESTION_MARK, is_question
from jumok.text.normalize import tidy
from jumok.text.tokenizer import train_tokenizer


def test_the_question_comes_first() -> None:
    assert join_question(" Is it  on? ", "The lamp\nis on.") == "␞ Is it on? ␟ The lamp is on."
    assert join_question("Is it on?", " ") == "␞ Is it on? ␟"


texts = st.text(st.sampled_from("ab ␞␟?."), max_size=12)


@given(texts, texts)
def test_marks_inside_are_no_marks(question: str, context: str) -> None:
    if not tidy(question.replace(QUESTION_MARK, " ").replace(CONTEXT_MARK, " ")):
        with pytest.raises(DataError, match="the question is blank"):
            join_question(question, context)
        return
    joined = join_question(question, context)
    assert is_question(joined)
    assert tidy(joined) == joined
    assert (joined.count(QUESTION_MARK), joined.count(CONTEXT_MARK)) == (1, 1)


@pytest.mark.parametrize("kind", ["bpe", "char", "word"])
def test_marks_are_pieces_of_their_own(kind: Literal["bpe", "char", "word"]) -> None:
    lines = [join_question(f"?!{i}", f"...{i}") for i in range(20)]
    tokenizer = train_tokenizer(lines, TextConfig(kind=kind, vocabulary=300))
    pieces = tokenizer.pieces(tokenizer.encode(lines[3]))
    assert [piece.strip() for piece in pieces if QUESTION_MARK in piece or CONTEXT_MARK in piece] == [
        QUESTION_MARK,
        CONTEXT_MARK,
    ]


QUESTION = {"context": "The lamp is on.", "question": "Is it on?", "answer": "yes"}


def test_an_object_becomes_source_and_target() -> None:
    assert holds_question(QUESTION)
    assert not holds_question({"question": "a", "answer": "b"})
    assert read_question(QUESTION, "q.jsonl:1") == ("␞ Is it on? ␟ The lamp is on.", "yes")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"answer": ""}, "the answer is empty"),
        ({"answer": " \t"}, "the answer is empty"),
        ({"question": ""}, "the question is empty"),
        ({"answer": 3}, '"answer" is not a text'),
        ({"context": None}, '"context" is not a text'),
    ],
)
def test_what_is_missing_is_named_with_its_line(change: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError) as caught:
        read_question(QUESTION | change, "q.jsonl:7")
    assert str(caught.value).startswith(f"{message}\n  q.jsonl:7\n  a line is")


@pytest.mark.parametrize("kind", ["bpe", "char", "word"])
def test_marks_are_pieces_in_the_smallest_vocabulary(kind: Literal["bpe", "char", "word"]) -> None:
    letters = "abcdefghijklmnopqrstuvwxyz" * 3
    lines = [join_question(letters, " ".join(letters)), letters] * 5
    tokenizer = train_tokenizer(lines, TextConfig(kind=kind, vocabulary=300))
    pieces = [piece.strip() for piece in tokenizer.pieces(tokenizer.encode(lines[0]))]
    assert (pieces.count(QUESTION_MARK), pieces.count(CONTEXT_MARK)) == (1, 1)
