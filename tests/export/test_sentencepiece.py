"""The real SentencePiece reads our tokenizer, and cuts text as we do."""

import unicodedata

import pytest
import sentencepiece as library
from hypothesis import given
from hypothesis import strategies as st
from tests.decoding.conftest import LINES

from jumok.checkpoint.bundled import bundled
from jumok.config import TextConfig
from jumok.data.builtin import builtin_corpus
from jumok.export.sentencepiece import SPACE, differences, model_bytes, replacements, spell
from jumok.text.normalize import tidy
from jumok.text.tokenizer import FIRST, Tokenizer, load_tokenizers, train_tokenizer


@pytest.fixture(scope="module")
def dates() -> Tokenizer:
    return load_tokenizers(bundled()["transformer"]).target


@pytest.fixture(scope="module")
def model(dates: Tokenizer) -> bytes:
    return model_bytes(dates)


@pytest.fixture(scope="module")
def processor(model: bytes) -> library.SentencePieceProcessor:
    return library.SentencePieceProcessor(model_proto=model)


def test_all_pieces_have_our_ids(dates: Tokenizer, processor: library.SentencePieceProcessor) -> None:
    assert processor.get_piece_size() == dates.size
    ours = dates.pieces(range(dates.size))
    assert [processor.id_to_piece(i) for i in range(dates.size)] == [spell(piece) for piece in ours]
    specials = processor.bos_id(), processor.pad_id(), processor.eos_id(), processor.unk_id()
    assert specials == (0, 1, 2, 3)
    assert processor.is_unknown(3)
    assert all(processor.is_control(i) for i in range(3))
    assert all(processor.is_byte(i) for i in range(4, 260))
    assert not any(processor.is_control(i) or processor.is_byte(i) for i in range(FIRST, dates.size))


def test_real_sentences_are_cut_as_we_do(dates: Tokenizer, model: bytes) -> None:
    texts = [tidy(text) for pair in builtin_corpus("dates", "valid").pairs() for text in pair]
    assert len(texts) == 2000
    assert differences(model, dates, texts) == []


def test_characters_need_no_space_in_front() -> None:
    tokenizer = train_tokenizer(LINES, TextConfig(kind="char"))
    assert differences(model_bytes(tokenizer), tokenizer, ["a man, 영화!", "é 😀"]) == []


ALPHABET = "ab12 .-월일ä é€😀"


@given(st.text(ALPHABET, max_size=20))
def test_any_text_is_cut_as_we_do(dates: Tokenizer, model: bytes, text: str) -> None:
    assert differences(model, dates, [tidy(text)]) == []


def test_white_space_and_accents_become_what_we_make_of_them(
    dates: Tokenizer, processor: library.SentencePieceProcessor
) -> None:
    raw = " 5.\tMa\u0308rz\u00a0 2024\u3000\u1112\u1161\u11ab 하\u11ab e\u0323\u0302 ẹ\u0302 \u212b "
    assert processor.encode(raw) == dates.encode(tidy(raw))
    assert processor.decode(processor.encode(raw)) == tidy(raw)


def test_the_table_is_nfc() -> None:
    table = replacements()
    assert len(table) > 20_000
    for before, after in table.items():
        assert unicodedata.normalize("NFC", before) == after or (before.isspace() and after == " ")
    for code in range(0x20, 0x30000):
        character = chr(code)
        apart = unicodedata.normalize("NFD", character)
        composed = unicodedata.normalize("NFC", character)
        if not 0xD800 <= code < 0xE000 and apart != composed and not character.isspace():
            assert table[apart] == composed


def test_the_sign_for_spaces_is_a_space_there() -> None:
    tokenizer = train_tokenizer([f"a{SPACE}b a{SPACE}b"] * 3, TextConfig(kind="char"))
    [(_, ours, theirs)] = differences(model_bytes(tokenizer), tokenizer, [f"a{SPACE}b"])
    assert tokenizer.pieces(ours) == ["a", SPACE, "b"]
    assert tokenizer.pieces(theirs) == ["a", " ", "b"]
