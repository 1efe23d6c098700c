from pathlib import Path

import pytest

from jumok.errors import TokenizerFileError
from jumok.importing.brought import BroughtFolder
from jumok.importing.ct2_vocabulary import Cuts, frame_of, read_tokens, vocabulary_of
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
