"""Tokens for people: every character of the text belongs to a token, in any script."""

from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from jumok.config import TextConfig
from jumok.explain.tokens import direction, endless, hidden, label, side_of, type_of
from jumok.text.frame import NO_END
from jumok.text.normalize import tidy
from jumok.text.tokenizer import BOS, BYTES, EOS, PAD, SPECIALS, UNK, Tokenizer, train_tokenizer
from jumok.text.word_groups import text_of, word_groups

FIXTURES = {
    "korean": "나는 어제 영화를 봤다.",
    "jamo": "\u1112\u1161\u11ab\u1100\u1173\u11af ㅎㅏㄴ ㅋㅋㅋ",
    "mixed": "2024년 A팀 3등 kg당 5,000원",
    "chinese": "我昨天看了电影。",
    "japanese": "漢字(かんじ)を読む",
    "arabic": "ذهبت إلى السوق في 2024",
    "hebrew": 'הוא אמר "שלום" אתמול',
    "hindi": "क्षत्रिय ज्ञान विद्यार्थी",
    "thai": "ฉันดูหนังเมื่อวานนี้",
    "emoji": "👨‍👩‍👧‍👦 🇰🇷 👩🏽‍🚀 x\u200dy",
    "long": "가나다라마바사아자차" * 20,
    "tabs": "a\tb\u00a0c  d",
    "empty": "",
    "html": "<b>&amp;</b>",
    "control": "a\x1b[31mb\x00",
    "marks": "\u0301a\u0301",
}
any_text = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)


@pytest.fixture(scope="module")
def bpe() -> Tokenizer:
    lines = ["나는 어제 영화를 봤다.", "a man rides a horse.", "(a) 3 2024", "क्षत्रिय ज्ञान"] * 3
    return train_tokenizer(lines, TextConfig(vocabulary=340))


@pytest.fixture(scope="module")
def characters() -> Tokenizer:
    return train_tokenizer(["나는 a man", " 2024-05"], TextConfig(kind="char", vocabulary=300))


@pytest.fixture(scope="module")
def letters() -> Tokenizer:
    lines = ["나는 어제 영화를 봤다.", "a man rides a horse.", "한국 한글 학교"] * 3
    return train_tokenizer(lines, TextConfig(vocabulary=340, jamo=True))


@pytest.fixture(scope="module")
def symbols() -> Tokenizer:
    return train_tokenizer(["나는 a man", "2024-05 don't"], TextConfig(kind="word", vocabulary=300))


def spelt(side: dict[str, Any]) -> str:
    """The text that the spans cover, the bytes of one character once."""
    spans = [token["span"] for token in side["tokens"] if token["span"] is not None]
    once = [span for i, span in enumerate(spans) if i == 0 or span != spans[i - 1] or span[0] == span[1]]
    assert all(a[1] == b[0] for a, b in zip(once, once[1:], strict=False))
    return "".join(side["text"][begin:end] for begin, end in once)


def check(tokenizer: Tokenizer, text: str) -> dict[str, Any]:
    text = tidy(text)
    side = side_of(tokenizer, tokenizer.encode(text), text, "ko", end=True)
    assert side["text"] == spelt(side) == text
    tokens = side["tokens"]
    assert [i for word in side["words"] for i in word["tokens"]] == list(range(len(tokens)))
    assert all(side["words"][token["word"]]["tokens"].count(token["i"]) == 1 for token in tokens)
    assert all(token["text"].strip() and word["text"] for token in tokens for word in side["words"])
    return side


@pytest.mark.parametrize("name", FIXTURES)
def test_spans_tile_the_text_of_every_script(
    bpe: Tokenizer, characters: Tokenizer, letters: Tokenizer, symbols: Tokenizer, name: str
) -> None:
    for tokenizer in (bpe, characters, letters, symbols):
        check(tokenizer, FIXTURES[name])


@settings(max_examples=150, deadline=None)
@given(any_text)
@example("\ufffd ")
@example("\u1112\u1161\u11ab\u11ab 학생")
def test_spans_tile_any_text(
    bpe: Tokenizer, characters: Tokenizer, letters: Tokenizer, symbols: Tokenizer, text: str
) -> None:
    for tokenizer in (bpe, characters, letters, symbols):
        check(tokenizer, text)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.integers(0, 330), max_size=12))
@example([*range(300, 312)])
def test_letters_in_any_order_tile_what_they_write(letters: Tokenizer, ids: list[int]) -> None:
    ids = [i for i in ids if i < letters.size]
    side = side_of(letters, ids, "", "ko", end=False)
    assert side["text"] == letters.decode(ids)
    if "\ufffd" not in side["text"]:
        assert spelt(side) == side["text"]


def test_letters_share_the_range_of_their_syllable() -> None:
    tokenizer = train_tokenizer(["한글 한국"], TextConfig(kind="char", vocabulary=300, jamo=True))
    side = check(tokenizer, "한 국")
    assert [(token["text"], token["span"]) for token in side["tokens"][:-1]] == [
        *(("ㅎ", [0, 1]), ("ㅏ", [0, 1]), ("ㄴ", [0, 1]), ("␣", [1, 2])),
        *(("ㄱ", [2, 3]), ("ㅜ", [2, 3]), ("ㄱ", [2, 3])),
    ]
    assert [word["text"] for word in side["words"]] == ["한", "국", "</s>"]


def test_a_symbol_is_a_word(symbols: Tokenizer) -> None:
    side = check(symbols, "don't 2024-05 new man")
    assert [word["text"] for word in side["words"]] == ["don't", "2024-05", "new", "man", "</s>"]


@settings(max_examples=150, deadline=None)
@given(st.lists(st.integers(0, 339), max_size=12))
def test_any_ids_are_placed_in_the_text_that_they_spell(bpe: Tokenizer, ids: list[int]) -> None:
    ids = [id for id in ids if id < bpe.size]
    side = side_of(bpe, ids, bpe.decode(ids), "", end=False)
    assert side["text"] == spelt(side) == bpe.decode(ids)


def test_a_sentence_to_the_letter(bpe: Tokenizer) -> None:
    text = "나는 봤다."
    side = side_of(bpe, bpe.encode(text), text, "ko", end=True)
    first, last = side["tokens"][0], side["tokens"][-1]
    assert (first["text"], first["piece"], first["type"], first["span"]) == (
        "나는",
        " 나는",
        "normal",
        [0, 2],
    )
    assert last == {
        "i": len(side["tokens"]) - 1,
        "id": 2,
        "text": "</s>",
        "piece": "</s>",
        "type": "special",
        "span": None,
        "word": 3,
    }
    assert [word["text"] for word in side["words"]] == ["나는", "봤다", ".", "</s>"]
    assert [word.get("type") for word in side["words"]] == [None, None, None, "special"]
    assert (side["lang"], side["dir"]) == ("ko", "ltr")


def test_the_bytes_of_a_character_share_its_place_and_its_text(bpe: Tokenizer) -> None:
    side = check(bpe, "a 🇰a")
    flag = [token for token in side["tokens"] if token["type"] == "byte"]
    assert [token["byte"] for token in flag] == list("🇰".encode())
    assert {(token["text"], tuple(token["span"]), token["group"]) for token in flag} == {("🇰", (2, 3), 0)}


def test_bytes_that_are_no_character_show_themselves(bpe: Tokenizer) -> None:
    ids = [*bpe.encode("a"), 4 + 0xEA, 4 + 0xB0]
    side = side_of(bpe, ids, bpe.decode(ids), "", end=False)
    assert [token["text"] for token in side["tokens"]][1:] == ["EA", "B0"]
    assert [token["group"] for token in side["tokens"][1:]] == [0, 1]
    assert side["text"] == "a\ufffd\ufffd"


def test_special_tokens_have_no_place_wherever_they_are(bpe: Tokenizer) -> None:
    ids = [*bpe.encode("a man"), UNK, *bpe.encode("rides")]
    side = side_of(bpe, ids, "not what the ids spell", "", end=False, start=True)
    assert side["text"] == "a man rides"
    assert [t["type"] for t in side["tokens"] if t["span"] is None] == ["special", "unk"]
    assert spelt(side) == "a man rides"


@pytest.mark.parametrize(
    ("text", "way"),
    [
        ("abc", "ltr"),
        ("123 שלום abc", "rtl"),
        ("«مرحبا»", "rtl"),
        ("12:30", "ltr"),
        ("", "ltr"),
        ("나 ש", "ltr"),
    ],
)
def test_a_text_runs_as_its_first_strong_character(text: str, way: str) -> None:
    assert direction(text) == way


def words(pieces: list[str]) -> list[str]:
    return [text_of([pieces[i] for i in group]) for group in word_groups(pieces)]


@pytest.mark.parametrize(
    ("pieces", "expected"),
    [
        ([" 나", "는", " 영화", "를", " 봤", "다", ".", "</s>"], ["나는", "영화를", "봤다", ".", "</s>"]),
        (list("3 May 2024"), ["3", "May", "2024"]),
        (list("2024-05-03"), ["2024", "-", "05", "-", "03"]),
        (list("2024年5月"), ["2024", "年", "5", "月"]),
        (list("मई २०२४"), ["मई", "२०२४"]),
        (list("कि की"), ["कि", "की"]),
        ([" a", BYTES[0xED], BYTES[0x95], BYTES[0x9C], "b", "!"], ["a한b", "!"]),
        (["(", "a", ")", " b"], ["(", "a", ")", "b"]),
    ],
)
def test_words_of_many_scripts(pieces: list[str], expected: list[str]) -> None:
    assert words(pieces) == expected


@given(st.lists(st.text(min_size=1, max_size=3) | st.sampled_from([*BYTES, "</s>", " "])))
def test_every_piece_is_in_exactly_one_word(pieces: list[str]) -> None:
    assert [i for group in word_groups(pieces) for i in group] == list(range(len(pieces)))


def test_labels_are_never_blank() -> None:
    assert [label(piece) for piece in (" 나", " ", "</s>", BYTES[0xEA], "\u0301", "\x1b[31m")] == [
        "나",
        "␣",
        "</s>",
        "EA",
        "◌\u0301",
        "\ufffd[31m",
    ]


def test_what_sort_of_token_it_is() -> None:
    pieces = {BOS: "<s>", EOS: "</s>", UNK: "<unk>", PAD: "<pad>"}
    assert {id: type_of(id, piece) for id, piece in pieces.items()} == {
        BOS: "special",
        EOS: "special",
        UNK: "unk",
        PAD: "pad",
    }
    assert (type_of(len(SPECIALS), "a"), type_of(9, BYTES[0xEA])) == ("normal", "byte")


def test_an_end_that_is_the_last_token_was_not_read() -> None:
    assert endless((5, 6, EOS)) == (5, 6)
    assert endless((5, EOS, 6)) == (5, EOS, 6)  # a tag behind it
    assert endless((5, 6)) == (5, 6, NO_END)
    assert endless(()) == ()
    assert endless((b"abc",)) == (b"abc",)


def test_a_hidden_patch_has_the_mean_colour_of_the_picture() -> None:
    source = [bytes([0, 0, 0, 10, 20, 30]), bytes([20, 40, 60, 30, 60, 93])]
    assert hidden(source) == bytes([15, 30, 46]) * 2
