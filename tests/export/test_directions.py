"""Exports of a model with several languages: native keeps its tags, others say why they cannot."""

from dataclasses import replace
from pathlib import Path

import pytest
from tests.decoding.test_directed import several

from jumok.checkpoint.model import save_model
from jumok.decoding.translator import load
from jumok.errors import ConfigError
from jumok.export.directions import check_tags, compared_in, corpus_pairs, first_direction
from jumok.export.model import export_model
from jumok.native.library import available
from jumok.text.frame import PLAIN, Direction, Frame, tagged


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


def test_what_is_lost_and_what_to_do_instead() -> None:
    frame = several("nllb").tokenizers.frame
    with pytest.raises(ConfigError) as refused:
        check_tags("onnx", frame)
    assert str(refused.value) == (
        "this model cannot be exported to onnx: it reads a sentence as {source} … </s>, and answers begin "
        "with {target}, and onnx would not know which tokens these are\n"
        "  export it to native, which keeps them; jumok runs the folder as it is"
    )
    check_tags("native", frame)
    fixed = Frame(
        source=("<s>", "…", "</s>"), target=("<s>",)
    )  # no choice: its tokenizer and search are told
    check_tags("huggingface", fixed)
    with pytest.raises(
        ConfigError, match="it reads a sentence as <s> … </s>, and answers begin with <s>, and"
    ):
        check_tags("ctranslate2", fixed)


def test_the_first_corpus_that_says_a_direction_says_it() -> None:
    loaded = several("nllb")
    known = loaded.tokenizers.frame.directions
    assert first_direction(loaded) == known[0]
    data = replace(
        loaded.config.data, corpora=("a.tsv", "b.tsv:xx-yy", f"c.tsv:{known[1].source}-{known[1].target}")
    )
    named = replace(loaded, config=replace(loaded.config, data=data))
    assert first_direction(named) == known[1]
    facing = compared_in(named, ("", ""))
    assert facing.config.data.target_language == known[1].target
    assert facing.config.data.source_language == known[1].source
