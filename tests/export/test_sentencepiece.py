"""The real SentencePiece reads our tokenizer, and cuts text as we do."""

import unicodedata
from importlib import import_module
from typing import Any

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


def test_pieces_scores_and_settings_one_by_one() -> None:
    """A piece has minus the rank of its first join as score; one that nothing joins has the last place."""
    format: Any = import_module("sentencepiece.sentencepiece_model_pb2")
    tokenizer = train_tokenizer(["abab abab"] * 3, TextConfig(vocabulary=300))
    found = format.ModelProto.FromString(model_bytes(tokenizer))
    assert [(one.piece, one.score, one.type) for one in found.pieces[:5]] == [
        ("<s>", 0, 3),
        ("<pad>", 0, 3),
        ("</s>", 0, 3),
        ("<unk>", 0, 2),
        ("<0x00>", 0, 6),
    ]
    own = {one.piece: one.score for one in found.pieces[FIRST:]}
    joins = [spell(left + right) for left, right in tokenizer.merges]
    assert len(joins) >= 3
    assert [own[name] for name in dict.fromkeys(joins)] == [
        -float(joins.index(n)) for n in dict.fromkeys(joins)
    ]
    assert {own[name] for name in own.keys() - set(joins)} == {-float(len(joins))}
    assert {one.type for one in found.pieces[FIRST:]} == {1}
    trainer = found.trainer_spec
    assert (trainer.model_type, trainer.vocab_size, trainer.byte_fallback) == (2, tokenizer.size, True)
    assert (trainer.bos_id, trainer.pad_id, trainer.eos_id, trainer.unk_id) == (0, 1, 2, 3)
    names = trainer.bos_piece, trainer.pad_piece, trainer.eos_piece, trainer.unk_piece
    assert names == ("<s>", "<pad>", "</s>", "<unk>")
    normaliser = found.normalizer_spec
    assert (normaliser.name, normaliser.add_dummy_prefix) == ("nfc", True)
    assert normaliser.remove_extra_whitespaces
    assert normaliser.escape_whitespaces


def test_our_own_sign_for_spaces_is_a_piece_that_is_never_met() -> None:
    format: Any = import_module("sentencepiece.sentencepiece_model_pb2")
    assert [spell("a b"), spell(" "), spell(f"a{SPACE}")] == [f"a{SPACE}b", SPACE, "<unused aU+2581>"]
    tokenizer = train_tokenizer([f"a{SPACE}b"] * 3, TextConfig(kind="char"))
    found = format.ModelProto.FromString(model_bytes(tokenizer))
    assert [one.piece for one in found.pieces if one.type == 5] == ["<unused U+2581>"]


def test_letters_of_korean_become_syllables_from_any_stage() -> None:
    table = replacements()
    for code, stages in (("가", 1), ("각", 2), ("힣", 2)):
        apart = unicodedata.normalize("NFD", code)
        assert table[apart] == code
        assert len(apart) == stages + 1
    assert table["가\u11a8"] == "각"
    assert "가" not in table
    assert " " not in table
    assert table["\u00a0"] == table["\t"] == table["\u3000"] == " "
    assert table["\u212b"] == table["A\u030a"] == "\u00c5"
