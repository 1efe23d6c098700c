"""Places of tokens: in what they write, and in a text as it was given."""

from unicodedata import normalize

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from jumok.config import TextConfig
from jumok.text.normalize import nfc, tidy
from jumok.text.spans import (
    TextPart,
    composed,
    laid_out,
    piece_bytes,
    place_of,
    source_spans,
    spell,
    tidy_places,
    token_spans,
)
from jumok.text.tokenizer import EOS, Tokenizer, train_tokenizer

any_text = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
LINES = ["나는 어제 영화를 봤다.", "a man rides a horse.", "(a) 3 2024", "한국 한글 학교"] * 3


@pytest.fixture(scope="module", params=["bpe", "char", "word", "jamo"])
def tokenizer(request: pytest.FixtureRequest) -> Tokenizer:
    jamo = request.param == "jamo"
    kind = "bpe" if jamo else request.param
    return train_tokenizer(LINES, TextConfig(kind=kind, vocabulary=340, jamo=jamo))


@given(any_text)
@example("e\u0301 \u1112\u1161\u11ab \u0915\u093c")
@example("\u0301a\u0301")
@settings(max_examples=200)
def test_parts_compose_to_the_whole(text: str) -> None:
    parts = composed(text)
    assert "".join(part for part, _ in parts) == nfc(text)
    assert [span for _, span in parts] == list(
        zip([0, *(end for _, (_, end) in parts)][:-1], [end for _, (_, end) in parts], strict=True)
    )


@given(any_text)
@example(" a\u2003\n b ")
@example("e\u0301 x")
@settings(max_examples=200)
def test_places_of_a_tidied_text(text: str) -> None:
    tidied, places = tidy_places(text)
    assert tidied == tidy(text)
    assert len(places) == len(tidied)
    for character, (begin, end) in zip(tidied, places, strict=True):
        assert tidy(text[begin:end]).count(character) or character == " "
    assert places == sorted(places)


def test_a_long_run_of_marks_is_no_burden() -> None:
    text = "a" + "\u0301\u0316" * 50_000
    assert tidy_places(text)[0] == tidy(text)


@given(text=any_text)
@example(text="나는 a man 2024 한글")
@settings(max_examples=100)
def test_spans_of_tokens_cover_the_text(tokenizer: Tokenizer, text: str) -> None:
    ids = tokenizer.encode(tidy(text))
    written = tokenizer.decode(ids)
    spans = token_spans(tokenizer, [*ids, EOS])
    assert len(spans) == len(ids) + 1
    assert spans[-1][0] == spans[-1][1]
    covered = {place for begin, end in spans for place in range(begin, end)}
    assert {place for place, character in enumerate(written) if not character.isspace()} <= covered
    assert all(0 <= begin <= end <= len(written) for begin, end in spans)


@given(st.lists(st.integers(0, 339), max_size=12))
@settings(max_examples=100)
def test_any_ids_have_spans_within_what_they_write(tokenizer: Tokenizer, ids: list[int]) -> None:
    ids = [i for i in ids if i < tokenizer.size]
    written = tokenizer.decode(ids)
    spans = token_spans(tokenizer, ids)
    assert len(spans) == len(ids)
    assert all(0 <= begin <= end <= len(written) for begin, end in spans)


@given(st.lists(st.integers(0, 339), max_size=12))
@settings(max_examples=100)
def test_tokens_without_bytes_are_placed_as_the_others_are(tokenizer: Tokenizer, ids: list[int]) -> None:
    ids = [i for i in ids if i < tokenizer.size and piece_bytes(tokenizer.pieces([i])[0]) is None]
    parts = list(spell(ids, tokenizer.pieces(ids), tokenizer.tags))
    ranges, written = laid_out(parts, jamo=tokenizer.jamo)
    dropped = int(tokenizer.kind != "char" and written[:1] == " ")
    expected = [written[begin:end].removeprefix(" ") or written[begin:end] for begin, end in ranges]
    spans = token_spans(tokenizer, ids)
    found = [written[dropped:][slice(*spans[part.tokens[0]])] for part in parts]
    assert found[1:] == expected[1:]
    assert [one.strip() for one in found[:1]] == [one.strip() for one in expected[:1]]


def test_a_source_as_it_was_given() -> None:
    tokenizer = train_tokenizer(LINES, TextConfig(vocabulary=340))
    text = "  a\n man  " + normalize("NFD", "학교") + "."
    found = [text[begin:end] for begin, end in source_spans(tokenizer, text)]
    assert " " not in "".join(found)
    assert "\n" not in "".join(found)
    assert found[-1] == "."
    assert "".join(found) == text.replace(" ", "").replace("\n", "")


def test_a_piece_of_bytes_may_have_several() -> None:
    found = [piece_bytes(one) for one in ("<0xEA>", "<0xEA><0xB0><0x80>", "<0xEA>x", "<0xEA", "a", "")]
    assert found == [b"\xea", b"\xea\xb0\x80", None, None, None, None]


def test_bytes_write_a_character_together() -> None:
    pieces = ["<s>", "<0xEA>", "<0xB0>", "<0x80>", "<0x41>", " a", "<0xC3><0xA9><0x42>", "<0xC3>", "<0xA9>"]
    assert list(spell([1, *range(10, 18)], pieces)) == [
        TextPart((1, 2, 3), "가", "가".encode()),
        TextPart((4,), "A", b"A"),
        TextPart((5,), " a"),
        TextPart((6,), "éB", "éB".encode()),
        TextPart((7, 8), "é", "é".encode()),
    ]
    assert list(spell([10, 11], ["<0xEA>", "<0x41>"])) == [
        TextPart((0,), "\ufffd", b"\xea"),
        TextPart((1,), "\ufffd", b"A"),
    ]


def test_letters_of_one_syllable_share_its_place() -> None:
    parts = [TextPart((n,), letter) for n, letter in enumerate(["ᄒ", "ᅡ", "ᆫ", "ᄀ", "ᅡ", "a"])]
    spans = [*[(0, 1)] * 3, *[(1, 2)] * 2, (2, 3)]
    assert laid_out(parts, jamo=True) == (spans, "한가a")
    assert laid_out(parts, jamo=False) == ([(n, n + 1) for n in range(6)], normalize("NFD", "한가a"))


def test_the_space_before_a_word_is_no_part_of_it() -> None:
    tokenizer = train_tokenizer(LINES, TextConfig(vocabulary=340)).with_tags(["<2de>"])
    names = (" a", " ", "<2de>", "<0xC3>", "<0xA9>")
    word, space, tag, first, second = (tokenizer.token_id(name) or 0 for name in names)
    for ids, text, spans in (
        ([word, space, tag, word, EOS], "a  a", [(0, 1), (1, 2), (2, 2), (3, 4), (4, 4)]),
        ([space, word], " a", [(0, 0), (1, 2)]),
        (
            [word, space, first, second, EOS, word, EOS],
            "a é a",
            [(0, 1), (1, 2), (2, 3), (2, 3), (4, 4), (4, 5), (5, 5)],
        ),
    ):
        assert tokenizer.decode(ids) == text
        assert token_spans(tokenizer, ids) == spans
    assert source_spans(tokenizer, "a  a") == [(0, 1), (3, 4)]
    assert source_spans(tokenizer, "a a") == [(0, 1), (2, 3)]


def test_a_run_of_spaces_is_one_place() -> None:
    assert tidy_places(" a  b\n") == ("a b", [(1, 2), (2, 4), (4, 5)])
    assert tidy_places("a\u0301  b") == ("á b", [(0, 2), (2, 4), (4, 5)])


def test_a_place_outside() -> None:
    assert place_of((2, 2), [(2, 3), (4, 5)]) == (5, 5)
    assert place_of((0, 0), []) == (0, 0)
    assert place_of((1, 1), [(2, 3)]) == (3, 3)
    assert place_of((0, 0), [(2, 3)]) == (2, 2)
