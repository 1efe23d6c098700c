"""jumok.export_model and jumok.verify: the commands, from Python."""

import json
from pathlib import Path

import pytest

import jumok
from jumok.errors import ThresholdError


@pytest.fixture
def sample(tmp_path: Path) -> dict[str, Path]:
    (tmp_path / "s").write_text("5. März 2024\nMay 3, 2021\n")
    (tmp_path / "t").write_text("2024-03-05\n2021-05-03\n")
    return {"source": tmp_path / "s", "target": tmp_path / "t"}


def test_a_model_is_written_and_certified(tmp_path: Path, sample: dict[str, Path]) -> None:
    told: list[str] = []
    found = jumok.export_model("demo/luong", "native", tmp_path / "out", **sample, told=told.append)
    assert (found["format"], found["type"], found["sentences"]) == ("native", "int8", 2)
    assert json.loads((tmp_path / "out" / "certificate.json").read_bytes()) == found
    assert told[0].startswith("comparing on 2 sentences of ")
    assert jumok.load(tmp_path / "out").translate("5. März 2024").text == "2024-03-05"
    assert jumok.verify(tmp_path / "out") == {tmp_path / "out": []}
    (tmp_path / "out" / "README.md").write_text("changed")
    [(_, [fault])] = jumok.verify(tmp_path / "out").items()
    assert "README.md" in fault


def test_thresholds_and_refusals_are_those_of_the_command(tmp_path: Path, sample: dict[str, Path]) -> None:
    with pytest.raises(ThresholdError, match="does not agree"):
        jumok.export_model("demo/luong", "native", tmp_path / "out", **sample, thresholds={"score": 1e-15})
    with pytest.raises(jumok.ConfigError, match="this model cannot be exported to ctranslate2"):
        jumok.export_model("demo/luong", "ctranslate2", tmp_path / "ct2", **sample)
    with pytest.raises(jumok.ConfigError, match="there is no format 'cran'"):
        jumok.export_model("demo/luong", "cran", tmp_path / "x")
