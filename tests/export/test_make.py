"""An export is there whole and proven, or not at all."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.decoding.conftest import TINY, untrained

from jumok.checkpoint.bundled import bundled
from jumok.checkpoint.checkpoints import load_model
from jumok.checkpoint.manifest import verify_folder
from jumok.checkpoint.model import LoadedModel
from jumok.config import RunConfig
from jumok.errors import ConfigError, RunError, ThresholdError
from jumok.export import ctranslate2, make
from jumok.export.make import ExportOrder, check_order, export_model
from jumok.export.parity import USUAL, Sample, Thresholds

SAMPLE = Sample("two dates", "ab", ["5. März 2024", "May 3, 2021"], [("2024-03-05",), ("2021-05-03",)])


@pytest.fixture(scope="module")
def dates() -> LoadedModel:
    return load_model(bundled()["transformer"])


def order(out: Path, **change: Any) -> ExportOrder:
    return replace(ExportOrder("ctranslate2", out, thresholds=USUAL["float32"]), **change)


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_a_good_export_stands_in_its_place_with_its_certificate(dates: LoadedModel, tmp_path: Path) -> None:
    result = export_model(dates, order(tmp_path / "out"), SAMPLE)
    assert names(tmp_path) == {"out"}
    assert json.loads((tmp_path / "out" / "certificate.json").read_bytes()) == result
    assert result["passed"]
    assert (result["format"], result["type"]) == ("ctranslate2", "float32")
    assert set(result["made_with"]) == {"jumok", "torch", "numpy", "ctranslate2"}
    assert verify_folder(tmp_path / "out") == []  # `jumok verify` knows it
    assert ctranslate2.open(tmp_path / "out").answer([[300]], [9], beam=1, length_penalty=1.0)


def test_a_bad_one_is_kept_aside_and_said_aloud(dates: LoadedModel, tmp_path: Path) -> None:
    strict = order(tmp_path / "out", thresholds=Thresholds(score=1e-15))
    for _ in range(2):  # an earlier failure is replaced
        with pytest.raises(
            ThresholdError, match="does not agree with the original: scores differ by up to"
        ) as error:
            export_model(dates, strict, SAMPLE)
        assert names(tmp_path) == {"out.failed"}
    assert f"kept as {tmp_path / 'out.failed'}, with its certificate" in str(error.value)
    assert json.loads((tmp_path / "out.failed" / "certificate.json").read_bytes())["passed"] is False
    assert error.value.exit_code == 4


def test_a_failure_leaves_an_earlier_export_alone(dates: LoadedModel, tmp_path: Path) -> None:
    export_model(dates, order(tmp_path / "out"), SAMPLE)
    before = (tmp_path / "out" / "certificate.json").read_bytes()
    with pytest.raises(ThresholdError, match="does not agree with the original"):
        export_model(dates, order(tmp_path / "out", overwrite=True, thresholds=Thresholds(score=0.0)), SAMPLE)
    assert (tmp_path / "out" / "certificate.json").read_bytes() == before


def test_an_earlier_export_is_replaced_only_when_asked(dates: LoadedModel, tmp_path: Path) -> None:
    export_model(dates, order(tmp_path / "out"), SAMPLE)
    with pytest.raises(ConfigError, match=f"{tmp_path / 'out'} exists\n  add --overwrite"):
        export_model(dates, order(tmp_path / "out"), SAMPLE)
    again = export_model(dates, order(tmp_path / "out", overwrite=True, type="int8"), SAMPLE)
    assert json.loads((tmp_path / "out" / "certificate.json").read_bytes()) == again
    assert again["type"] == "int8"
    assert names(tmp_path) == {"out"}


def test_nothing_of_others_is_overwritten(dates: LoadedModel, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "thesis.txt").write_text("years of work")
    (tmp_path / "file").write_text("also mine")
    for out in (tmp_path / "out", tmp_path / "file"):
        with pytest.raises(ConfigError, match="exists and is not an export"):
            export_model(dates, order(out, overwrite=True), SAMPLE)
    assert (tmp_path / "out" / "thesis.txt").read_text() == "years of work"
    with pytest.raises(ConfigError, match="there is no folder"):
        export_model(dates, order(tmp_path / "no" / "where"), SAMPLE)


def test_a_disk_that_fails_leaves_nothing(
    dates: LoadedModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(ctranslate2, "write_model", full)
    with pytest.raises(RunError, match="cannot write .*out: No space left on device"):
        export_model(dates, order(tmp_path / "out"), SAMPLE)
    assert names(tmp_path) == set()


def test_what_cannot_be_is_refused_before_anything_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded = untrained(TINY["rnn"])
    with pytest.raises(ConfigError, match="cannot be exported to ctranslate2: it has no rnn models"):
        export_model(loaded, order(tmp_path / "out"), SAMPLE)
    with pytest.raises(ConfigError, match="onnx cannot be written as int8\n  choose --type float32"):
        export_model(loaded, order(tmp_path / "out", format="onnx", type="int8"), SAMPLE)
    with pytest.raises(
        ConfigError, match="this model has int8 weights already\\b.*\n  export the model that"
    ):
        export_model(replace(loaded, info={"weights": "int8"}), order(tmp_path / "out"), SAMPLE)
    config = RunConfig()
    for data in (replace(config.data, images="photos"), replace(config.data, name="emoji-captions")):
        with pytest.raises(ConfigError, match="it reads pictures"):
            check_order(order(tmp_path / "out"), replace(config, data=data))
    monkeypatch.setattr(make, "is_installed", lambda name: False)
    with pytest.raises(ConfigError, match="needs ctranslate2\n  pip install 'jumok\\[ct2\\]'"):
        check_order(order(tmp_path / "out"), config)
    assert names(tmp_path) == set()
