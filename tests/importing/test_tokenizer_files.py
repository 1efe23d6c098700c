import json
import os
from pathlib import Path

import pytest
from tests.importing.conftest import Make
from tests.importing.families import make_bart, make_t5, sentences

from jumok.errors import ModelError, TokenizerFileError
from jumok.importing.brought import BroughtFolder
from jumok.importing.model import import_model
from jumok.importing.tokenizer_files import (
    is_marker,
    listed_tokens,
    needs_library,
    read_byte_level,
    read_library,
    read_pair,
    read_settings,
    read_spm,
    template_of,
)
from jumok.text.foreign import ForeignTokenizer
from jumok.text.foreign_form import ForeignForm


def test_templates_of_each_kind_are_read() -> None:
    sequence, special = {"Sequence": {"id": "A"}}, {"SpecialToken": {"id": "</s>"}}
    template = {"type": "TemplateProcessing", "single": [sequence, special]}
    assert template_of(template) == ("…", "</s>")
    roberta = {"type": "RobertaProcessing", "sep": ["</s>", 2], "cls": ["<s>", 0]}
    assert template_of(roberta) == ("<s>", "…", "</s>")
    assert template_of({"type": "Sequence", "processors": [{"type": "ByteLevel"}, template]}) == ("…", "</s>")
    assert template_of(None) is None


def test_vocabulary_and_merges_cut_as_tokenizer_json_does(tmp_path: Path) -> None:
    make_bart(tmp_path)
    library, template = read_library(BroughtFolder(tmp_path))
    plain = read_byte_level(BroughtFolder(tmp_path))
    assert template == ("<s>", "…", "</s>")
    assert list(library.tokens) == list(plain.tokens)
    both = [
        ForeignTokenizer(ForeignForm(tuple(one.tokens[5:]), (), "bytes", one.cuts))
        for one in (library, plain)
    ]
    texts = sentences(30)
    assert both[0].encode_many(texts) == both[1].encode_many(texts)
    assert [both[1].decode(ids) for ids in both[1].encode_many(texts)] == texts


@pytest.mark.parametrize("family", ["bart", "t5"])
def test_folders_without_a_tokenizer_json_agree_too(family: str, lines: Path, tmp_path: Path) -> None:
    """BART with vocab.json and merges.txt; T5 with its SentencePiece model, which cuts a few lines otherwise
    than the library that transformers uses."""
    folder = tmp_path / "brought"
    folder.mkdir()
    {"bart": make_bart, "t5": make_t5}[family](folder, library=False)
    result = import_model(folder, tmp_path / "ours", source=lines, thresholds={"tokens": 0.8})
    assert result["largest_logit_difference"] < 1e-4


def test_what_a_tokenizer_json_may_not_have_is_refused(copied: Make) -> None:
    folder = copied("t5")
    path = folder / "tokenizer.json"
    said = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps(said | {"model": {"type": "WordPiece", "vocab": {}}}))
    with pytest.raises(
        TokenizerFileError, match="a model of type 'WordPiece', and Unigram and BPE are known"
    ):
        read_library(BroughtFolder(folder))
    pattern = {"type": "Split", "pattern": {"Regex": "(a+)+$"}, "behavior": "Isolated", "invert": False}
    path.write_text(json.dumps(said | {"pre_tokenizer": pattern}))
    with pytest.raises(TokenizerFileError, match=r"the pattern \{'Regex': '\(a\+\)\+\$'\}"):
        read_library(BroughtFolder(folder))


@pytest.mark.parametrize(("named", "found"), [("<pad>", "<pad>"), (None, "<unk>")])
def test_the_token_for_what_is_unknown_is_the_one_that_is_named(
    copied: Make, named: str | None, found: str
) -> None:
    """Where none is, the one with the usual name."""
    path = copied("bart") / "tokenizer.json"
    said = json.loads(path.read_text(encoding="utf-8"))
    said["model"]["unk_token"] = named
    path.write_text(json.dumps(said), encoding="utf-8")
    library, _ = read_library(BroughtFolder(path.parent))
    assert library.unknown == list(library.tokens).index(found)


def test_damaged_files_are_refused(tmp_path: Path) -> None:
    folder = BroughtFolder(tmp_path)
    (tmp_path / "a.spm").write_bytes(b"no model")
    with pytest.raises(TokenizerFileError, match="SentencePiece cannot read its model"):
        read_spm(folder, "a.spm")
    with pytest.raises(TokenizerFileError, match="v.json has numbers that are missing or doubled"):
        listed_tokens({"a": 0, "b": 2}, "v.json", folder)
    with pytest.raises(TokenizerFileError, match="v.json has a token without a number"):
        listed_tokens({"a": "0"}, "v.json", folder)
    with pytest.raises(ModelError, match="vocab.json and merges.txt are missing"):
        read_byte_level(folder)
    (tmp_path / "vocab.json").write_text('{"a": 0}')
    (tmp_path / "merges.txt").write_text("#version\na b c\n")
    with pytest.raises(TokenizerFileError, match="merges.txt has a line without two parts"):
        read_byte_level(folder)


def test_a_vocabulary_beyond_64_mib_is_not_read(tmp_path: Path) -> None:
    for name in ("vocab.json", "merges.txt"):
        (tmp_path / name).write_text("{}")
    os.truncate(tmp_path / "vocab.json", (64 << 20) + 1)
    with pytest.raises(ModelError, match="vocab.json has 67,108,865 bytes, and 67,108,864 may be"):
        read_byte_level(BroughtFolder(tmp_path))


def small_library(**changed: object) -> dict[str, object]:
    """A tokenizer.json of four pieces; the one that is added behind them is no text."""
    model = {"type": "BPE", "vocab": {"<unk>": 0, "a": 1, "b": 2, "</s>": 3}, "merges": []}
    added = [
        {"id": 3, "content": "</s>", "special": True},
        {"id": 5, "content": ">>de<<"},
        {"id": 2, "content": "b"},
    ]
    return {"normalizer": None, "pre_tokenizer": None, "model": model, "added_tokens": added} | changed


def test_added_tokens_have_their_numbers_and_those_of_no_text_are_told(tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(small_library()))
    found, template = read_library(BroughtFolder(tmp_path))
    assert found.tokens == ["<unk>", "a", "b", "</s>", "", ">>de<<"]
    assert found.controls == {3, 5}  # what is special, and what the pieces do not have
    assert (found.unknown, found.spelling, found.name, template) == (0, "spaces", "tokenizer.json", None)
    assert len(found.cuts) == 1
    unigram = {"type": "Unigram", "vocab": [["x", 0.0], ["y", -1.0]], "unk_id": 1}
    path.write_text(json.dumps(small_library(model=unigram, added_tokens=None)))
    found, _ = read_library(BroughtFolder(tmp_path))
    assert (found.tokens, found.controls, found.unknown) == (["x", "y"], frozenset(), 1)
    path.write_text(json.dumps(small_library(model=unigram | {"unk_id": None}, added_tokens=None)))
    assert read_library(BroughtFolder(tmp_path))[0].unknown is None
    path.write_text(json.dumps(small_library(added_tokens=[{"content": "no number"}])))
    with pytest.raises(TokenizerFileError, match="tokenizer.json has something that is not read here: 'id'"):
        read_library(BroughtFolder(tmp_path))


def test_markers_are_tokens_that_no_text_has() -> None:
    for token in ("<pad>", "</s>", "<s>", "<unk>", ">>deu<<", ">><<"):
        assert is_marker(token), token
    for token in ("", "pad", ">>deu", "deu<<", "<<deu>>", "▁<s>", "<mask>"):
        assert not is_marker(token), token


def test_what_lies_in_a_folder_and_what_is_missing(tmp_path: Path) -> None:
    folder = BroughtFolder(tmp_path)
    assert read_settings(folder) == {}
    (tmp_path / "tokenizer_config.json").write_text('{"a": 1}')
    assert read_settings(folder) == {"a": 1}
    assert listed_tokens({"b": 1, "c": 2, "a": 0}, "v.json", folder) == ["a", "b", "c"]
    for numbers in ({"a": 1}, {"a": 0, "b": 0}, {"a": -1, "b": 0}):
        with pytest.raises(TokenizerFileError, match="v.json has numbers that are missing or doubled"):
            listed_tokens(numbers, "v.json", folder)
    with pytest.raises(TokenizerFileError, match="v.json has a token without a number"):
        listed_tokens({"a": True}, "v.json", folder)
    (tmp_path / "source.spm").write_bytes(b"")
    with pytest.raises(
        ModelError, match="the folder has no tokenizer: target.spm and vocab.json are missing"
    ):
        read_pair(folder, {"source": "vocab.json"})
    with pytest.raises(
        ModelError, match="a folder of NLLB needs tokenizer.json, which says the number of each"
    ):
        raise needs_library(folder, "NLLB")


def test_byte_level_pieces_are_joined_in_the_order_of_their_merges(tmp_path: Path) -> None:
    tokens = ["<s>", "<pad>", "</s>", "<unk>", "<mask>", "a", "b", "ab", "c"]
    (tmp_path / "vocab.json").write_text(json.dumps({token: n for n, token in enumerate(tokens)}))
    (tmp_path / "merges.txt").write_text("#version: 0.2\na b\n\n")
    found = read_byte_level(BroughtFolder(tmp_path))
    assert found.tokens == tokens
    assert found.controls == {0, 1, 2, 3, 4}
    assert found.unknown == 3
    assert (found.spelling, found.name) == ("bytes", "vocab.json")
    tokenizer = ForeignTokenizer(ForeignForm(tuple(tokens[5:]), (), "bytes", found.cuts))
    assert tokenizer.pieces(tokenizer.encode("abcb")) == ["ab", "c", "b"]
