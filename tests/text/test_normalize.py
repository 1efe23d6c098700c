"""One spelling for each text."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jumok.errors import DataError
from jumok.text.normalize import nfc, tidy


def test_decomposed_hangul_is_composed() -> None:
    assert nfc("\u1112\u1161\u11ab") == "한"


def test_tidy_makes_every_white_space_one_space() -> None:
    assert tidy("\u3000 a\u00a0\t b\u2028c\r\n") == "a b c"


@given(st.text())
def test_tidy_twice_is_tidy_once(text: str) -> None:
    once = tidy(text)
    assert tidy(once) == once
    assert unicodedata.is_normalized("NFC", once)


def test_a_lone_surrogate_is_refused_with_its_place() -> None:
    with pytest.raises(DataError, match=r"lone surrogate U\+D800 at character 3") as caught:
        nfc("ab\ud800")
    assert caught.value.code == "bad_unicode"
    assert "half of a character" in caught.value.hint
