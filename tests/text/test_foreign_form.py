import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jumok.text import foreign_form
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


def nested(depth: int, inner: str = "NFC") -> dict[str, Any]:
    """So many steps, each in a sequence that is the one before."""
    return {"type": inner} if depth == 1 else {"type": "Sequence", "normalizers": [nested(depth - 1, inner)]}


def split(pattern: str) -> dict[str, Any]:
    return {"type": "Split", "pattern": {"Regex": pattern}}


FORM = ForeignForm(
    ("▁a", "b"), ("<mask>",), "spaces", (TextCut(library=LIBRARY), TextCut(sentencepiece=b"\0x"))
)


def test_the_file_stays_as_it_was() -> None:
    """Its bytes are the fingerprint of the tokenizer."""
    assert FORM.to_bytes().decode() == (
        '{"format":"jumok-pieces/1","spelling":"spaces","pieces":["▁a","b"],"tags":["<mask>"],"cuts":[{"library":'
        '{"normalizer":null,"pre_tokenizer":null,"model":{"type":"BPE","vocab":{"a":0},"merges":[]}}},'
        '{"sentencepiece":"AHg="}]}'
    )
    assert checked_library({**PARTS, "normalizer": {"type": "Replace", "content": "▁"}}) == (
        '{"normalizer":{"type":"Replace","content":"▁"},"pre_tokenizer":null,'
        '"model":{"type":"BPE","vocab":{"a":0},"merges":[]}}'
    )


def test_steps_and_settings_that_are_known_are_taken() -> None:
    unigram = {"type": "Unigram", "unk_id": 0, "vocab": [], "byte_fallback": False}
    known = {**PARTS, "normalizer": nested(5), "pre_tokenizer": split("^▁+"), "model": unigram}
    assert json.loads(checked_library(known)) == known
    text = {**PARTS, "pre_tokenizer": {"type": "Split", "pattern": {"String": "x"}}}
    assert json.loads(checked_library(text)) == text


def test_so_many_pieces_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(foreign_form, "MOST_PIECES", 3)
    assert parse_foreign(FORM.to_bytes()) == FORM
    monkeypatch.setattr(foreign_form, "MOST_PIECES", 2)
    with pytest.raises(ValueError, match="or there are too many"):
        parse_foreign(FORM.to_bytes())


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
        ({"cuts": [{"library": {**PARTS, "pre_tokenizer": {"type": "Script"}}}]}, "a step of type"),
        ({"cuts": [{"library": {**PARTS, "normalizer": nested(6)}}]}, "a step of type"),
        ({"cuts": [{"library": {**PARTS, "normalizer": nested(2, "Script")}}]}, "a step of type"),
        ({"cuts": [{"library": {**PARTS, "pre_tokenizer": split("(a+)+")}}]}, "the pattern"),
        ({"cuts": [{"library": {**PARTS, "more": 1}}]}, "no model that cuts"),
        ({"cuts": [{"library": {**PARTS, "model": 3}}]}, "no model that cuts"),
        ({"cuts": [{"library": {**PARTS, "model": {"type": "X"}}}]}, "'X', and Unigram and BPE are known"),
        ({"cuts": [{"library": {**PARTS, "model": {**MODEL, "code": 1}}}]}, "a model of type 'BPE', and"),
        ({"cuts": [{"sentencepiece": "A*Hg="}]}, "base64"),
        ({"pieces": ["\ud800"]}, "surrogates not allowed"),
    ],
)  # fmt: skip
def test_any_other_content_is_refused(changed: dict[str, object], message: str) -> None:
    data = json.dumps({**json.loads(FORM.to_bytes()), **changed}).encode()
    with pytest.raises(ValueError, match=message):
        parse_foreign(data)


def test_the_letters_of_bytes_are_those_of_gpt_2() -> None:
    letters = {" ": "Ġ", "\n": "Ċ", "!": "!", "~": "~", "\x7f": "ġ", "\xa0": "ł", "\xa1": "¡"}
    letters |= {"\xac": "¬", "\xad": "Ń", "\xae": "®", "\xff": "ÿ", "\0": "Ā"}
    assert {letter: chr(BYTE_OF_LETTER[letter]) for letter in letters.values()} == {
        letter: byte for byte, letter in letters.items()
    }
    assert sorted(BYTE_OF_LETTER.values()) == list(range(256))
    assert sorted(spelled("".join(BYTE_OF_LETTER), "bytes")) == list(range(256))
    assert (spelled("가", "bytes"), spelled("▁a▁", "spaces")) == (b"", b" a ")


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
    form = ForeignForm(("a", "b"), ("<s>", "<t>"), "bytes", ())
    names = token_names(form)
    assert [names[one] for one in ("</s>", "a", "b", "<s>", "<t>")] == [2, 260, 261, 262, 263]
