"""`jumok site` writes the folder and says what is in it."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from jumok.checkpoint.bundled import EXAMPLES
from jumok.cli.site import one_file, site
from jumok.errors import ConfigError, ModelError


def invoke(*args: object) -> Result:
    return CliRunner().invoke(site, [str(arg) for arg in args])


def test_the_bundled_models(tmp_path: Path) -> None:
    said = json.loads(invoke("-o", tmp_path / "site", "--json").stdout)
    assert said["models"] == ["transformer", "luong", "rnn"]
    assert 2_000_000 < said["bytes"] <= 3_000_000
    about = json.loads((tmp_path / "site" / "site.json").read_text("utf-8"))
    assert [model["run"] for model in about["models"]] == ["transformer", "luong", "rnn"]
    assert about["models"][0]["examples"] == list(EXAMPLES)


def test_models_by_name(tmp_path: Path) -> None:
    result = invoke("-m", "dates=demo/rnn", "-o", tmp_path / "site")
    assert result.exit_code == 0
    assert f"site       {tmp_path / 'site'}\n" in result.stdout
    assert "models     dates" in result.stderr
    about = json.loads((tmp_path / "site" / "site.json").read_text("utf-8"))
    assert about["answers"] is None  # no runs were asked for
    assert invoke("-m", "demo/rnn", "-o", tmp_path / "site", "-q").output == f"{tmp_path / 'site'}\n"


def test_what_is_not_there(tmp_path: Path) -> None:
    runs = invoke("-o", tmp_path / "site", "--runs", tmp_path / "none").exception
    assert isinstance(runs, ConfigError)
    assert "there is no such folder" in str(runs)
    model = invoke("-m", tmp_path / "none", "-o", tmp_path / "site").exception
    assert isinstance(model, ModelError)
    assert "there is no model folder" in str(model)
    assert not (tmp_path / "site").exists()


def test_a_folder_is_needed() -> None:
    assert "Missing option '-o'" in invoke().output


@pytest.mark.parametrize("word", ["WebAssembly", "whoever can open the page can copy them"])
def test_help(word: str) -> None:
    assert word in " ".join(invoke("--help").output.split())


def test_one_file_is_written_and_told_in_three_forms(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    titles: list[str] = []

    def page(models: Any, *, title: str) -> str:
        titles.append(title)
        return "é" * 600_000  # two bytes each

    monkeypatch.setattr("jumok.site.one_file.one_page", page)
    models: Any = {"small": None, "large": None}
    file = tmp_path / "a.html"
    one_file(models, file, as_json=False, quiet=False)
    assert len(file.read_bytes()) == 1_200_000
    assert titles == ["small · large · jumok"]
    said = capsys.readouterr()
    assert said.out == f"page       {file}\n"
    assert said.err == "models     small · large     1.2 MB; open it in a browser\n"
    one_file(models, file, as_json=False, quiet=True)
    assert tuple(capsys.readouterr()) == (f"{file}\n", "")
    one_file(models, file, as_json=True, quiet=True)
    told = json.loads(capsys.readouterr().out)
    assert told == {"file": str(file), "models": ["small", "large"], "bytes": 1_200_000}
    with pytest.raises(ConfigError, match=r"cannot write .*a\.html: No such file"):
        one_file(models, tmp_path / "none" / "a.html", as_json=False, quiet=True)
    assert len(titles) == 3  # refused before the work
