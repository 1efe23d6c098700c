"""`jumok site` writes the folder and says what is in it."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from jumok.checkpoint.bundled import EXAMPLES
from jumok.cli.site import site
from jumok.errors import ConfigError, ModelError


def invoke(*args: object) -> Result:
    return CliRunner().invoke(site, [str(arg) for arg in args])


def test_the_bundled_models(tmp_path: Path) -> None:
    said = json.loads(invoke("-o", tmp_path / "site", "--json").stdout)
    assert said["models"] == ["transformer", "luong", "rnn"]
    assert 2_000_000 < said["bytes"] <= 3_500_000
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
