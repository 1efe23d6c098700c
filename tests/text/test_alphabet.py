"""Which characters become tokens, and that marks always do."""

from collections import Counter

from jumok.config import TextConfig
from jumok.text.alphabet import count_characters, count_words, favour_marks, most_frequent
from jumok.text.marks import CONTEXT_MARK, MARKS
from jumok.text.tokenizer import train_tokenizer

LINES = ["the dog sees the cat", "a dog", "the end"] * 5


def test_counts() -> None:
    assert count_characters(["aab", "b"]) == Counter(a=2, b=2)
    assert count_words(["a b a"]) == Counter({" a": 2, " b": 1})
    assert most_frequent(Counter(a=3, b=1, c=2), 2, least=1) == ["a", "c"]


def test_marks_of_questions_only_where_the_text_has_them_and_of_spans_if_they_are_learned() -> None:
    counts = Counter(a=9)
    favour_marks(counts, TextConfig())
    assert counts == Counter(a=9)
    counts = Counter({"a": 9, CONTEXT_MARK: 1})
    favour_marks(counts, TextConfig(marks=True))
    assert most_frequent(counts, 11, least=1) == sorted([*MARKS, CONTEXT_MARK])


def test_a_mark_is_one_token_wherever_it_stands() -> None:
    for kind in ("bpe", "char"):
        tokenizer = train_tokenizer(LINES, TextConfig(kind=kind, vocabulary=320, marks=True))
        assert tokenizer.has_marks
        text = "the ⓵dog⓶. (⓷) ⓾⓾"
        pieces = tokenizer.pieces(tokenizer.encode(text))
        assert [piece for piece in pieces if piece in MARKS] == ["⓵", "⓶", "⓷", "⓾", "⓾"]
        assert tokenizer.decode(tokenizer.encode(text)) == text
    assert not train_tokenizer(LINES, TextConfig(vocabulary=320)).has_marks
