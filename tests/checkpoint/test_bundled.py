"""The models that come with the package load, fit the promised size, and do what the page says they do."""

import json
from pathlib import Path

import pytest

from jumok.checkpoint.bundled import (
    EXAMPLES,
    RECORDS,
    SENTENCES,
    TRAINED,
    WAYS,
    aliases_of,
    bundled,
    bundled_names,
    examples_of,
    named_folder,
    translators,
)
from jumok.checkpoint.checkpoints import load_model
from jumok.checkpoint.manifest import model_folders, verify, verify_folder
from jumok.config import ARCHS
from jumok.decoding.translator import load
from jumok.errors import ModelError


def test_there_is_one_of_each_generation_and_nothing_in_them_has_changed() -> None:
    assert tuple(bundled()) == ARCHS
    for folder in bundled().values():
        assert list(verify_folder(folder)) == []


def test_together_they_are_small_enough_to_ship() -> None:
    files = [file for folder in bundled().values() for file in folder.iterdir()]
    assert sum(file.stat().st_size for file in files) < 2_300_000
    everything = [file for file in TRAINED.rglob("*") if file.is_file()]
    assert sum(file.stat().st_size for file in everything) < 8_000_000


def test_those_that_translate_are_whole_and_say_how_good_they_are() -> None:
    assert {name.rpartition("-")[0] for name in translators()} == set(WAYS)
    for name, folder in translators().items():
        assert verify(folder) == {folder: []}
        assert (folder / "native.safetensors").is_file()  # int8: they run without torch
        [report] = [json.loads(file.read_text("utf-8")) for file in (RECORDS / name / "eval").iterdir()]
        assert {"bleu", "chrf"} <= report["metrics"].keys()
        assert report["data"]["n"] == 1000


@pytest.mark.parametrize("way", WAYS)
def test_they_translate_their_examples(way: str) -> None:
    model = load(f"demo/{way}")
    answers = model.translate(list(SENTENCES[f"homeassistant-{way}"]))
    assert all(answer.text.isascii() and answer.finished for answer in answers)
    assert examples_of(model.folder) == SENTENCES[f"homeassistant-{way}"]
    assert examples_of(bundled()["rnn"]) == EXAMPLES
    assert examples_of(Path("runs/mine")) == ()


@pytest.mark.parametrize("arch", ["luong", "transformer"])
def test_with_attention_the_long_sentence_is_read_to_its_end(arch: str) -> None:
    model = load(bundled()[arch])
    assert model.translate(EXAMPLES[0]).text == "1998-03-24"
    assert model.translate(EXAMPLES[3]).text == "1998-03-24T20:35/1998-11-09T07:12"


def test_the_fixed_vector_reads_a_short_date_and_loses_the_long_one() -> None:
    model = load(bundled()["rnn"])
    assert model.translate("5. März 2024").text == "2024-03-05"
    assert model.translate(EXAMPLES[3]).text != "1998-03-24T20:35/1998-11-09T07:12"


def test_they_have_names_wherever_a_model_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert list(bundled_names())[:3] == ["demo/rnn", "demo/luong", "demo/transformer"]
    assert bundled_names()["demo/ko-en"] == translators()["ko-en-transformer"]
    assert model_folders(Path("demo/rnn")) == [bundled()["rnn"]]
    assert load_model("demo/luong").config.model.arch == "luong"
    assert named_folder(Path("rnn")) == Path("rnn")


def test_a_model_knows_its_names(tmp_path: Path) -> None:
    ways = ("demo/de-en-transformer", "demo/de-en", "de-en-transformer", "de-en")
    assert aliases_of(Path("demo/de-en")) == aliases_of(translators()["de-en-transformer"]) == ways
    assert aliases_of(bundled()["rnn"]) == ("demo/rnn", "rnn")
    assert aliases_of(tmp_path) == ()


def test_a_folder_of_that_name_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("demo/rnn").mkdir(parents=True)
    assert named_folder(Path("demo/rnn")) == Path("demo/rnn")
    with pytest.raises(ModelError, match="there is no model in demo/rnn"):
        load_model("demo/rnn")


def test_a_name_that_is_misspelt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ModelError, match="there is no model folder demo/transfomer") as found:
        load_model("demo/transfomer")
    assert "demo/transformer" in found.value.hint
