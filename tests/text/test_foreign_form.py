import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jumok.text.foreign_form import (
    BYTE_OF_LETTER,
    ForeignForm,
    TextCut,
    checked_library,
    is_foreign,
    parse_foreign,
    shown,
    spelled,
    token_names,
)

MODEL = {"type": "BPE", "vocab": {"a": 0}, "merges": []}
PARTS = {"normalizer": None, "pre_tokenizer": None, "model": MODEL}
LIBRARY = checked_library(PARTS)
FORM = ForeignForm(
    ("▁a", "b"), ("<mask>",), "spaces", (TextCut(library=LIBRARY), TextCut(sentencepiece=b"\0x"))
)


def test_a_file_read_back_is_the_same() -> None:
    data = FORM.to_bytes()
    assert is_foreign(data)
    assert parse_foreign(data) == FORM
    assert parse_foreign(data).to_bytes() == data


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"spelling": "letters"}, "a setting differs"),
        ({"pieces": ["a", "a"]}, "a token occurs twice"),
        ({"pieces": [3]}, "a token is no text"),
        ({"tags": [""]}, "a token is no text"),
        ({"cuts": []}, "a list is missing"),
        ({"cuts": [{"code": "print()"}]}, "it cuts in an unknown way"),
        ({"format": "jumok-pieces/9"}, "another format"),
        ({"more": 1}, "another format"),
        ({"cuts": [{"library": {**PARTS, "model": {**MODEL, "dropout": 0.1}}}]}, "its BPE has dropout"),
        ({"cuts": [{"library": {**PARTS, "normalizer": {"type": "Script"}}}]}, "a step of type"),
    ],
)  # fmt: skip
def test_any_other_content_is_refused(changed: dict[str, object], message: str) -> None:
    data = json.dumps({**json.loads(FORM.to_bytes()), **changed}).encode()
    with pytest.raises(ValueError, match=message):
        parse_foreign(data)


@given(st.binary(min_size=1, max_size=8))
def test_letters_of_byte_level_pieces_are_bytes(data: bytes) -> None:
    letter_of = {byte: letter for letter, byte in BYTE_OF_LETTER.items()}
    piece = "".join(letter_of[byte] for byte in data)
    assert spelled(piece, "bytes") == data
    try:
        assert shown(data, piece) == data.decode()
    except UnicodeDecodeError:
        assert shown(data, piece) == "".join(f"<0x{byte:02X}>" for byte in data)


def test_a_tag_goes_before_a_special_token_of_the_same_name() -> None:
    form = ForeignForm(("a",), ("<s>",), "bytes", ())
    names = token_names(form)
    assert names["<s>"] == 261
    assert names["</s>"] == 2
    assert names["a"] == 260
