"""What a run started from, as its folder tells it, whatever became of the file."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.run.conftest import quick_settings, write_corpus

from jumok.run.start import CURVE, START, write_start
from jumok.run.start import read_start as read_model
from jumok.run.train import TrainedRun, train
from jumok.server.runs.catalog import Runs
from jumok.server.runs.schema import RunDetails
from jumok.server.runs.start import FILE, read_start


def test_the_start_of_a_real_run_has_its_curves(tmp_path: Path) -> None:
    corpus = write_corpus(tmp_path)
    parent: TrainedRun = train(
        out=tmp_path / "parent", overrides=quick_settings(corpus), device="cpu", quiet=True
    )
    model = read_model(str(parent.folder))
    run = tmp_path / "runs" / "child"
    run.mkdir(parents=True)
    (run / "metrics.jsonl").touch()
    write_start(run, model, parent.config, model.tokenizers)
    assert Path(START) / CURVE == FILE
    found = read_start(run)
    assert found is not None
    assert found["name"] == "parent"
    assert found["sha256"] == model.descent[0]["sha256"]
    assert found["metric"] == "bleu"
    assert found["series"]["valid.loss"]["step"] == [3, 6]
    assert found["series"]["valid.loss"]["value"] == [look["loss"] for look in model.curve]
    assert found["series"]["valid.loss"]["elapsed_s"] == [None, None]
    child = Runs(tmp_path / "runs").find("child")
    assert child is not None
    details = RunDetails.model_validate(child.details())
    assert details.start is not None
    assert details.start.name == "parent"


@pytest.mark.parametrize(
    "content",
    [None, b"", b"[]", b"{", b'{"name": 5, "looks": []}', b'{"name": "a", "looks": 3}', b"\xff"],
)
def test_a_file_that_tells_nothing_is_no_start(content: bytes | None, tmp_path: Path) -> None:
    (tmp_path / START).mkdir()
    if content is not None:
        (tmp_path / FILE).write_bytes(content)
    assert read_start(tmp_path) is None


def test_looks_that_make_no_sense_are_left_out(tmp_path: Path) -> None:
    (tmp_path / START).mkdir()
    looks: list[Any] = [5, {"step": "x"}, {"step": 3, "loss": "high", "bleu": 2.5, "own": 1.0}, {"loss": 1.0}]
    (tmp_path / FILE).write_text(json.dumps({"name": "a", "looks": looks}), encoding="utf-8")
    assert read_start(tmp_path) == {
        "name": "a",
        "sha256": None,
        "metric": None,
        "series": {"valid.bleu": {"step": [3], "elapsed_s": [None], "value": [2.5]}},
    }
