"""A tokenizer file for other programs gives, from raw text, the ids that our own encoding gives."""

import json

import pytest
import tokenizers
from hypothesis import given
from hypothesis import strategies as st
from tests.export.test_kept_rows import foreign

from jumok.config import TextConfig
from jumok.export.spelling import suppressed, tokenizer_file
from jumok.text.jamo import to_jamo
from jumok.text.normalize import nfc, tidy
from jumok.text.tokenizer import EOS, Tokenizer, train_tokenizer

LINES = ["a man rides a horse.", "나는 어제 영화를 봤다.", "one two  three", "café 12"] * 3
TEXT = st.text(st.characters(exclude_categories=("Cs", "Cn"))) | st.text("ab </s><s>\t\n\x1c\x85\u3000é나 1")


def both(**settings: object) -> tuple[Tokenizer, tokenizers.Tokenizer]:
    ours = train_tokenizer(LINES, TextConfig(vocabulary=330, **settings))
    theirs = tokenizers.Tokenizer.from_str(json.dumps(tokenizer_file(ours)))
    theirs.encode_special_tokens = True
    return ours, theirs


BOTH = {kind: both(kind=kind) for kind in ("bpe", "char", "word")}
LETTERS = both(jamo=True)


@pytest.mark.parametrize("kind", BOTH)
@given(text=TEXT)
def test_raw_text_gets_our_ids_and_an_end(kind: str, text: str) -> None:
    ours, theirs = BOTH[kind]
    assert theirs.encode(text).ids == [*ours.encode(tidy(text)), EOS]


@given(text=TEXT)
def test_where_pieces_are_letters_it_expects_letters(text: str) -> None:
    ours, theirs = LETTERS
    assert theirs.encode(to_jamo(nfc(text))).ids == [*ours.encode(tidy(text)), EOS]


def test_ids_become_text_again() -> None:
    ours, theirs = BOTH["bpe"]
    assert theirs.decode([*ours.encode("나는 café 🙂"), EOS]) == "나는 café 🙂"


def test_no_answer_has_special_ids_control_bytes_or_bytes_that_utf8_does_not_know() -> None:
    ids = suppressed()
    assert {0, 1, 3, 4 + 0x0A, 4 + 0xC0, 4 + 0xFF} <= set(ids)
    assert not {EOS, 4 + 0x41, 4 + 0x80, 4 + 0xC2, 260} & set(ids)


def test_what_is_done_before_and_behind_the_pieces() -> None:
    text, other = ({"Sequence": {"id": name, "type_id": 0}} for name in "AB")
    end = {"SpecialToken": {"id": "</s>", "type_id": 0}}
    for kind in BOTH:
        form = tokenizer_file(BOTH[kind][0])
        names = [step["type"] for step in form["normalizer"]["normalizers"]]
        assert names[:3] == ["NFC", "Replace", "Strip"]
        assert form["post_processor"] == {
            "type": "TemplateProcessing",
            "single": [text, end],
            "pair": [text, end, other, end],
            "special_tokens": {"</s>": {"id": "</s>", "ids": [EOS], "tokens": ["</s>"]}},
        }


def test_ids_that_are_left_out() -> None:
    """`<s>`, `<pad>` and `<unk>`, control characters, and bytes that no UTF-8 has. Of bytes that go on with a
    character it depends on the one before, and a list of ids cannot say that."""
    controls = [4 + byte for byte in (*range(0x20), 0x7F)]
    never = [4 + byte for byte in (0xC0, 0xC1, *range(0xF5, 0x100))]
    assert suppressed() == [0, 1, 3, *controls, *never]


def test_a_tokenizer_from_elsewhere_keeps_its_parts_and_has_our_ids() -> None:
    tokenizer = foreign().tokenizers.target
    form = tokenizer_file(tokenizer)
    assert form["model"] == {"type": "BPE", "vocab": {"\u2581a": 260, "b": 261, "c": 262}, "merges": []}
    assert [(one["id"], one["content"]) for one in form["added_tokens"]] == [
        (0, "<s>"),
        (1, "<pad>"),
        (2, "</s>"),
        (3, "<unk>"),
        (263, "<mask>"),
    ]
    theirs = tokenizers.Tokenizer.from_str(json.dumps(form))
    assert theirs.encode("bc").ids == [*tokenizer.encode("bc"), EOS] == [261, 262, EOS]
