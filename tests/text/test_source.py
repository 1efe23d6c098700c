"""Both readers of sources, and the pair of tokenizers around them."""

from pathlib import Path

import pytest

from jumok.config import TextConfig
from jumok.errors import ConfigError, TokenizerFileError
from jumok.images.patches import PatchReader
from jumok.text.source import SourceTokenizer
from jumok.text.tokenizer import Tokenizers, load_tokenizers, train_tokenizer

TOKENIZER = train_tokenizer(["a red cat", "a blue dog"] * 3, TextConfig(vocabulary=300))


@pytest.mark.parametrize("source", [TOKENIZER, PatchReader(8, 4)])
def test_both_kinds_of_source_survive_their_folder(source: SourceTokenizer, tmp_path: Path) -> None:
    both = Tokenizers(source, TOKENIZER)
    for name, data in both.files().items():
        (tmp_path / name).write_bytes(data)
    again = load_tokenizers(tmp_path)
    assert again.fingerprint == both.fingerprint
    assert (again.pictures is None) == (both.pictures is None)
    assert type(again.source) is type(source)


def test_a_folder_of_a_model_that_reads_pictures() -> None:
    both = Tokenizers(PatchReader(8, 4), TOKENIZER)
    assert sorted(both.files()) == ["source_images.json", "target_tokenizer.json"]
    assert not both.shared
    assert both.fingerprint != Tokenizers(PatchReader(8, 2), TOKENIZER).fingerprint
    with pytest.raises(ConfigError, match="this one reads pictures"):
        _ = both.text_source


def test_the_name_of_a_picture_keeps_its_spelling() -> None:
    name = "a  b\u0301.png"
    assert Tokenizers(PatchReader(8, 4), TOKENIZER).tidy_source(f" {name}\n") == name
    assert Tokenizers(TOKENIZER, TOKENIZER).tidy_source(f" {name}") != name


def test_a_damaged_reader_is_refused(tmp_path: Path) -> None:
    for name, data in Tokenizers(PatchReader(8, 4), TOKENIZER).files().items():
        (tmp_path / name).write_bytes(data)
    (tmp_path / "source_images.json").write_bytes(b"{}")
    with pytest.raises(TokenizerFileError, match="not a patch reader of jumok"):
        load_tokenizers(tmp_path)


def test_a_model_that_has_seen_contexts_reads_them() -> None:
    taught = train_tokenizer(["␞ who rides ␟ a man rides"] * 20, TextConfig(vocabulary=330))
    assert Tokenizers(taught, TOKENIZER).reads_context
    assert not Tokenizers(TOKENIZER, TOKENIZER).reads_context
    assert not Tokenizers(PatchReader(8, 4), TOKENIZER).reads_context


def test_the_simplest_source_can_be_read() -> None:
    assert Tokenizers(TOKENIZER, TOKENIZER).blank_source == "1"
    pictures = Tokenizers(PatchReader(8, 4), TOKENIZER)
    assert set(pictures.source.encode(pictures.blank_source)) == {b"\xff" * 48}
