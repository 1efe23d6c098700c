"""Which tokens make a word; `tests/explain/test_tokens.py` has more scripts."""

import pytest

from jumok.text.word_groups import joins, starts_word, text_of, word_groups


@pytest.mark.parametrize(
    ("pieces", "words"),
    [
        ([" a", " man", "."], ["a", "man", "."]),
        ([" ri", "des", ")", "("], ["rides", ")", "("]),
        ([" 我", "昨天", "看"], ["我", "昨天", "看"]),
        ([" ", "<0xE2>", "<0x82>", "<0xAC>", " x"], ["€", "x"]),
        ([" a", " b", "c"], ["a", "bc"]),
        ([" ", " b"], ["", "b"]),
        (["a", "</s>", "b"], ["a", "</s>", "b"]),
        (["a", "<0x20><0x62>", "<0x63><0x20>"], ["a", "bc"]),
    ],
)
def test_pieces_of_words(pieces: list[str], words: list[str]) -> None:
    assert [text_of([pieces[i] for i in group]) for group in word_groups(pieces)] == words


def test_a_word_begins_behind_a_sign_and_never_inside_a_character() -> None:
    assert starts_word("(", "a")
    assert not starts_word("<0xE2>", "<0x82>")
    assert starts_word(" ", "</s>")
    found = [starts_word("(", f"<0x{byte:02X}>") for byte in (0x7F, 0x80, 0x81, 0xBF, 0xC0, 0xFF)]
    assert found == [True, False, False, False, True, True]
    assert joins("é")
    assert not joins("看")
