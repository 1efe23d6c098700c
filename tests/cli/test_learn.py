"""`jumok learn`: notebooks in a folder, in the reader's language, and nothing of theirs overwritten."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from jumok.cli.learn import learn, spoken
from jumok.errors import DataError


def run(*words: str | Path) -> str:
    return CliRunner().invoke(learn, [*map(str, words)], catch_exceptions=False, standalone_mode=False).output


def test_five_notebooks_in_the_language_asked_for(tmp_path: Path) -> None:
    said = run("-o", tmp_path / "notes", "--language", "ko")
    assert "5 notebooks in" in said
    assert "jupyter lab" in said
    assert "PyTorch" not in said  # it is here
    books = sorted((tmp_path / "notes").glob("*.ipynb"))
    assert len(books) == 5
    first = json.loads(books[0].read_text(encoding="utf-8"))["cells"][0]
    assert first["source"][0] == "# 인덱스에서 손실까지\n"


def test_work_that_is_there_stays(tmp_path: Path) -> None:
    run("-o", tmp_path, "-q")
    mine = tmp_path / "000-from-ids-to-the-loss.ipynb"
    mine.write_text("mine")
    with pytest.raises(DataError, match="is already there, and may hold your own work"):
        run("-o", tmp_path)
    assert mine.read_text() == "mine"
    assert len(json.loads(run("-o", tmp_path, "--overwrite", "--json"))["files"]) == 5
    assert mine.read_text() != "mine"


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(DataError, match="cannot write to .*file"):
        run("-o", tmp_path / "file" / "notes")


@pytest.mark.parametrize(
    ("variable", "value", "language"),
    [("LANG", "ko_KR.UTF-8", "ko"), ("LC_ALL", "en_GB.UTF-8", "en"), ("LANG", "de_DE.UTF-8", "en")],
)
def test_the_language_is_that_of_the_machine(
    variable: str, value: str, language: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("LC_ALL", "LC_MESSAGES", "LANG"):
        monkeypatch.delenv(name, raising=False)
    assert spoken() == "en"
    monkeypatch.setenv(variable, value)
    assert spoken() == language
