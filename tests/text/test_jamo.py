"""Korean syllables as letters: nothing else changes, and nothing is lost."""

import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from jumok.text.jamo import alone, to_jamo


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_nfc_puts_every_text_together_again(text: str) -> None:
    text = unicodedata.normalize("NFC", text)
    assert unicodedata.normalize("NFC", to_jamo(text)) == text
    assert not any("가" <= character <= "힣" for character in to_jamo(text))


def test_only_syllables_are_taken_apart() -> None:
    assert to_jamo("한 é ㅋ") == "\u1112\u1161\u11ab é ㅋ"


def test_every_letter_can_stand_alone() -> None:
    assert alone(to_jamo("한 굶")) == "ㅎㅏㄴ ㄱㅜㄻ"
    letters = {letter for code in range(0xAC00, 0xD7A4) for letter in to_jamo(chr(code))}
    assert len(letters) == 19 + 21 + 27
    assert all("ㄱ" <= alone(letter) <= "ㅣ" for letter in letters)
