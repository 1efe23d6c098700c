"""One spelling for each text."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jumok.errors import DataError
from jumok.text import normalize as module
from jumok.text.normalize import PIECE, nfc, sort_marks, tidy


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


MARKS = "\u0301\u0323\u0327\u0344\u0f71\u0f73\u0334\u3099"


@given(st.text(st.sampled_from(f"ae한각\u1100\u1161\u11a8か {MARKS}"), max_size=60), st.integers(2, 9))
def test_marks_sorted_here_are_those_that_the_library_sorts(text: str, piece: int) -> None:
    assert unicodedata.normalize("NFC", sort_marks(text, piece)) == unicodedata.normalize("NFC", text)


@given(st.text(st.sampled_from("a한" + MARKS), min_size=PIECE + 1, max_size=2 * PIECE))
def test_a_long_text_is_composed_like_a_short_one(text: str) -> None:
    assert nfc(text) == unicodedata.normalize("NFC", text)


def test_the_library_never_sorts_a_long_run_of_marks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its time grows with the square of the marks that are out of order: half a minute for 200,000."""
    worst = 0

    def normalize(form: str, text: str) -> str:
        nonlocal worst
        marks = [unicodedata.combining(character) for character in text]
        if marks != sorted(marks):
            worst = max(worst, len(text))
        return unicodedata.normalize(form, text)

    monkeypatch.setattr(module, "normalize", normalize)
    assert len(nfc("a" + "\u0301\u0323" * 4_000)) == 8_000  # the first of the lower marks joins the a
    assert 0 < worst <= PIECE
