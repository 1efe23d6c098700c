from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.importing.families import make_bart, make_marian, sentences

from jumok.errors import TokenizerFileError
from jumok.importing.brought import BroughtFolder
from jumok.importing.transformers_folder import read_transformers
from jumok.text.foreign import ForeignTokenizer
from jumok.text.foreign_form import is_foreign
from jumok.text.normalize import tidy
from jumok.text.spans import source_spans, token_spans
from jumok.text.specials import FIRST, UNK
from jumok.text.tokenizer import Tokenizers, load_tokenizers, parse_tokenizer
from jumok.text.word_groups import text_of, word_groups


@pytest.fixture(scope="module")
def bytewise(tmp_path_factory: pytest.TempPathFactory) -> ForeignTokenizer:
    """BART's: every text has tokens, and one may be a part of a character."""
    folder = make_bart(tmp_path_factory.mktemp("bart"))
    found = read_transformers(BroughtFolder(folder), ("", "")).tokenizers.target
    assert isinstance(found, ForeignTokenizer)
    return found


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Tokenizers:
    """Marian's: two ways to cut, one vocabulary."""
    folder = make_marian(tmp_path_factory.mktemp("marian"))
    return read_transformers(BroughtFolder(folder), ("", "")).tokenizers


@given(
    st.text(st.characters(exclude_categories=["Cs", "Cc", "Zs", "Zl", "Zp"]), min_size=1)
    .map(tidy)
    .filter(bool)
)
def test_any_text_survives_byte_level_tokens(bytewise: ForeignTokenizer, text: str) -> None:
    ids = bytewise.encode(text)
    assert bytewise.decode(ids) == text
    assert b"".join(bytewise.spellings()[i] for i in ids).decode() == text
    pieces = bytewise.pieces(ids)
    spans = token_spans(bytewise, ids)
    assert len(spans) == len(ids)
    assert all(begin <= end <= len(text) for begin, end in spans)
    assert sorted(i for group in word_groups(pieces) for i in group) == list(range(len(ids)))
    assert text_of(pieces) == text.strip()


def test_characters_in_several_tokens_are_shown_by_their_bytes(bytewise: ForeignTokenizer) -> None:
    ids = bytewise.encode("🦊")
    assert len(ids) > 1
    assert all(piece.startswith("<0x") for piece in bytewise.pieces(ids))
    assert bytewise.decode(ids[:-1]).endswith("\ufffd")
    assert [text for text in {bytewise.decode(ids)}] == ["🦊"]


def test_a_space_that_is_a_token_of_its_own_stands_for_itself(bytewise: ForeignTokenizer) -> None:
    first, *_ = pieces = bytewise.pieces(bytewise.encode("a 🦊"))
    assert (first, pieces[1]) == ("a", " ")
    spans = bytewise.offsets("a 🦊")
    assert spans[:2] == [(0, 1), (1, 2)]


def test_both_sides_have_one_vocabulary_and_their_own_cuts(pair: Tokenizers, tmp_path: Path) -> None:
    assert pair.shared
    assert list(pair.files()) == ["tokenizer.json"]
    source, target = pair.text_source, pair.target
    assert source.pieces(range(source.size)) == target.pieces(range(target.size))
    texts = sentences(60)
    assert source.encode_many(texts) != target.encode_many(texts)
    for name, data in pair.files().items():
        assert is_foreign(data)
        (tmp_path / name).write_bytes(data)
    again = load_tokenizers(tmp_path)
    assert again.fingerprint == pair.fingerprint
    assert again.text_source.encode_many(texts) == source.encode_many(texts)
    assert again.target.encode_many(texts) == target.encode_many(texts)


def test_what_is_unknown_stays_unknown_and_spans_speak_of_the_given_text(pair: Tokenizers) -> None:
    text = "  a ﬁne  🦊 term"
    ids = pair.text_source.encode(tidy(text))
    assert UNK in ids
    spans = source_spans(pair.text_source, text)
    assert len(spans) == len(ids)
    assert text[slice(*spans[ids.index(UNK)])] == "🦊"
    assert pair.text_source.decode(ids).split() == ["a", "fine", "term"]


def test_names_tags_and_spellings(pair: Tokenizers, bytewise: ForeignTokenizer) -> None:
    tag = bytewise.token_id("<mask>")
    assert tag in bytewise.tags
    assert bytewise.spellings()[tag or 0] == b""
    assert bytewise.decode([tag or 0, *bytewise.encode("a")]) == "a"
    start = bytewise.token_id("<s>")
    assert start in bytewise.tags  # BART's own; ours is what the decoder starts from
    assert not bytewise.has_marks
    more = bytewise.with_tags(["<2de>"])
    assert more.size == bytewise.size + 1
    assert more.token_id("<2de>") == bytewise.size
    assert pair.target.split("a b") == ["a b"]
    assert pair.target.spell("ﬁne") == "fine"
    assert pair.target.spell("🦊") == "🦊"
    assert len(pair.target.spellings()) == pair.target.size > FIRST


def test_a_damaged_file_is_refused() -> None:
    with pytest.raises(TokenizerFileError, match="not a tokenizer of jumok"):
        parse_tokenizer(b'{"format":"jumok-pieces/1"}', "tokenizer.json")
