import json
from pathlib import Path

import pytest

from jumok.errors import ModelError, TokenizerFileError
from jumok.importing.brought import BroughtFolder
from jumok.importing.ct2_vocabulary import Cuts, frame_of, places_of, read_tokens, vocabulary_of
from jumok.importing.vocabulary import SpecialPlaces
from jumok.text.frame import Frame

CUTS = Cuts((), "spaces", frozenset())


def test_vocabularies_are_lists_or_lines(tmp_path: Path) -> None:
    (tmp_path / "shared_vocabulary.txt").write_text("</s>\n<unk>\n▁a\n", encoding="utf-8")
    folder = BroughtFolder(tmp_path)
    assert read_tokens(folder, "source") == ["</s>", "<unk>", "▁a"]
    (tmp_path / "target_vocabulary.json").write_text('["b"]')
    assert read_tokens(folder, "target") == ["b"]
    (tmp_path / "target_vocabulary.json").write_text("{}")
    with pytest.raises(TokenizerFileError, match="target_vocabulary.json is no list of tokens"):
        read_tokens(folder, "target")
    (tmp_path / "shared_vocabulary.txt").unlink()
    with pytest.raises(TokenizerFileError, match="the folder has no source_vocabulary or shared_vocabulary"):
        read_tokens(folder, "source")


def test_frames_follow_from_the_tokens() -> None:
    assert frame_of({"decoder_start_token": "<s>"}, ["a"], CUTS) == Frame(source=("…",))
    assert frame_of({"decoder_start_token": "<s>", "add_source_eos": True}, ["a"], CUTS) == Frame()
    assert frame_of({"decoder_start_token": "</s>"}, ["a"], CUTS) == Frame()
    languages = frame_of({}, ["__en__", "__de__", "a"], CUTS)
    assert languages.target == ("{target}",)
    assert languages.languages == (("en", "__en__"), ("de", "__de__"))
    assert frame_of({}, [">>fra<<"], CUTS).source == ("{target}", "…", "</s>")
    assert frame_of({}, ["<s>"], Cuts((), "bytes", frozenset())).source == ("<s>", "…", "</s>")


def test_rows_that_only_fill_up_the_table_have_no_name() -> None:
    found = vocabulary_of(["</s>", "a", "x", "x"], CUTS, ())
    assert found.tokens == ["</s>", "a", "x", ""]
    assert found.controls == {0}


def test_lines_in_another_encoding_are_refused(tmp_path: Path) -> None:
    (tmp_path / "source_vocabulary.txt").write_bytes(b"</s>\ncaf\xe9\n")
    with pytest.raises(ModelError, match="source_vocabulary.txt is no text in UTF-8"):
        read_tokens(BroughtFolder(tmp_path), "source")


def test_a_vocabulary_of_its_own_goes_before_the_shared_one_and_json_before_lines(tmp_path: Path) -> None:
    names = [
        "source_vocabulary.json",
        "source_vocabulary.txt",
        "shared_vocabulary.json",
        "shared_vocabulary.txt",
    ]
    for name in names:
        (tmp_path / name).write_text(json.dumps([name]) if name.endswith("json") else f"{name}\n\n")
    folder = BroughtFolder(tmp_path)
    for name in names:
        assert read_tokens(folder, "source") == [name, ""][: 1 + name.endswith("txt")]
        (tmp_path / name).unlink()
    (tmp_path / "source_vocabulary.json").write_text('["a", 1]')
    with pytest.raises(TokenizerFileError, match="source_vocabulary.json is no list of tokens"):
        read_tokens(folder, "source")


def test_special_tokens_by_their_names_in_the_settings(tmp_path: Path) -> None:
    folder = BroughtFolder(tmp_path)
    theirs = vocabulary_of(["<unk>", "<s>", "</s>", "<pad>", "<e>", "<go>", "<?>"], CUTS, ())

    def places(*, zero_start: bool = False, **settings: object) -> SpecialPlaces:
        return places_of(settings, theirs, folder, zero_start=zero_start)

    assert places() == SpecialPlaces(1, 3, 2, 0)
    assert places(zero_start=True) == SpecialPlaces(None, 3, 2, 0)
    assert places(bos_token="<go>", eos_token="<e>", unk_token="<?>") == SpecialPlaces(5, 3, 4, 6)
    assert places(bos_token="<go>", decoder_start_token="</s>") == SpecialPlaces(2, 3, 2, 0)
    with pytest.raises(TokenizerFileError, match="the vocabulary has no token '</s>'"):
        places(eos_token="gone")
    with pytest.raises(TokenizerFileError, match="the vocabulary has no token 'gone'"):
        places(decoder_start_token="gone")
    assert places(decoder_start_token="gone", zero_start=True).start is None
