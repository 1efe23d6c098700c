"""Exports of a model with several languages: native keeps its tags, others say why they cannot."""

from pathlib import Path

import pytest
from tests.decoding.test_directed import several

from jumok.checkpoint.model import save_model
from jumok.decoding.translator import load
from jumok.errors import ConfigError
from jumok.export.directions import check_tags, compared_in, corpus_pairs
from jumok.export.model import export_model
from jumok.native.library import available
from jumok.text.frame import PLAIN, Direction, tagged


@pytest.mark.parametrize("name", ["ctranslate2", "huggingface", "onnx", "argos"])
def test_formats_that_would_lose_the_tags_refuse(name: str) -> None:
    with pytest.raises(ConfigError, match=rf"exported to {name}: it reads a sentence as \{{target\}} … </s>"):
        check_tags(name, several("jumok").tokenizers.frame)
    with pytest.raises(ConfigError, match=r"and answers begin with \{target\}"):
        check_tags(name, several("nllb").tokenizers.frame)
    check_tags(name, PLAIN)
    check_tags(name, tagged([Direction("de", "en"), Direction("fr", "en")]))  # nothing stands around


@pytest.mark.skipif(not available(), reason="the C library was not built")
@pytest.mark.parametrize("frame", ["jumok", "nllb", "mbart"])
def test_native_keeps_them(frame: str, tmp_path: Path) -> None:
    loaded = several(frame)
    save_model(tmp_path / "m", loaded.model.state_dict(), loaded.config, loaded.tokenizers, {})
    (tmp_path / "s.txt").write_text("the dog\na man rides a horse.\none two three four\n")
    told = export_model(
        tmp_path / "m",
        "native",
        tmp_path / "n",
        type="float32",
        source=tmp_path / "s.txt",
        languages=("en", "fr"),
        thresholds={"equal": "none", "agreement": "none"},
    )
    assert told["greedy"]["equal"] == 3
    ours, theirs = load(tmp_path / "m", "cpu", engine="torch"), load(tmp_path / "n", engine="native")
    asked = {"to": "fr", "from_language": "en"}
    assert theirs.translate("the dog", **asked).text == ours.translate("the dog", **asked).text


def test_compared_in_the_direction_that_is_named() -> None:
    loaded = several("nllb")
    assert compared_in(loaded, ("en=English", "fr")).tokenizers.direction == Direction("en", "fr")
    assert compared_in(loaded, ("", "")).config.data.source_language == "de", "else the first"


def test_sentences_of_the_corpus_that_goes_there(tmp_path: Path) -> None:
    for name in ("de", "fr"):
        (tmp_path / f"{name}.tsv").write_text(f"{name}\tx\n" * 3)
    lines = (f"{tmp_path}/gone.tsv:en-fr", f"{tmp_path}/de.tsv:en-de", f"{tmp_path}/fr.tsv:en-fr:2")
    assert corpus_pairs(lines, Direction("en", "fr"), 2) == ("fr.tsv", [("fr", "x")] * 2)
    assert corpus_pairs(lines, Direction("en", "ko"), 2) is None
