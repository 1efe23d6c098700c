"""The models that come with the package load, fit the promised size, and do what the page says they do."""

from pathlib import Path

import pytest

from jumok.checkpoint.bundled import EXAMPLES, bundled, bundled_names, named_folder
from jumok.checkpoint.checkpoints import load_model
from jumok.checkpoint.manifest import model_folders, verify_folder
from jumok.config import ARCHS
from jumok.decoding.translator import load
from jumok.errors import ModelError


def test_there_is_one_of_each_generation_and_nothing_in_them_has_changed() -> None:
    assert tuple(bundled()) == ARCHS
    for folder in bundled().values():
        assert list(verify_folder(folder)) == []


def test_together_they_are_small_enough_to_ship() -> None:
    files = [file for folder in bundled().values() for file in folder.iterdir()]
    assert sum(file.stat().st_size for file in files) < 2_100_000


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
    assert list(bundled_names()) == ["demo/rnn", "demo/luong", "demo/transformer"]
    assert model_folders(Path("demo/rnn")) == [bundled()["rnn"]]
    assert load_model("demo/luong").config.model.arch == "luong"
    assert named_folder(Path("rnn")) == Path("rnn")


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
