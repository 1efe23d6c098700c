"""A run ends with a calibration of its best model, or with a word why not."""

import json
import random
from pathlib import Path
from typing import Any

import pytest

from jumok.errors import RunError
from jumok.evaluation import calibrate
from jumok.run.train import RunCallbacks, RunRequest, TrainedRun, run
from tests.run.conftest import quick_settings

SIDES = {"source": "src", "target": "tgt"}


def write_letters(folder: Path) -> None:
    """Lines of twelve letters, and the same letters."""
    draw = random.Random(3)
    for name, count in (("train", 200), ("valid", 60)):
        lines = [" ".join(draw.choices("abcdefgh", k=12)) for _ in range(count)]
        for side in SIDES.values():
            (folder / f"{name}.{side}").write_text("".join(f"{line}\n" for line in lines))


def train_on(folder: Path, events: list[dict[str, Any]]) -> TrainedRun:
    settings = quick_settings(folder, decoding__max_len=40, decoding__min_len=30)
    settings |= {
        "data.valid_source": str(folder / "valid.src"),
        "data.valid_target": str(folder / "valid.tgt"),
    }
    del settings["data.hold_out"]
    callbacks = RunCallbacks(on_event=lambda event: events.append(dict(event)))
    return run(RunRequest(given=settings, out=folder / "run", device="cpu"), callbacks)


def test_the_model_of_a_run_is_calibrated(tmp_path: Path) -> None:
    write_letters(tmp_path)
    done = train_on(tmp_path, [])
    model = done.model
    assert model.is_calibrated
    assert model.calibration.fitted["sentences"] == 60
    answer = model.translate("a b c", confidence=True)
    assert answer.confidence is not None


def test_a_fault_is_a_notice_and_the_run_is_complete(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> Path:
        raise RunError("the disk is full: cannot save confidence.json", code="disk_full")

    monkeypatch.setattr(calibrate, "write_calibration", full)
    write_letters(tmp_path)
    events: list[dict[str, Any]] = []
    done = train_on(tmp_path, events)
    [told] = [event for event in events if event.get("code") == "disk_full"]
    assert "confidence is not calibrated: the disk is full" in json.dumps(told)
    assert events[-1]["status"] == "completed"
    assert not done.model.is_calibrated


def test_a_validation_set_that_is_too_small_is_left_alone(trained: TrainedRun) -> None:
    assert not trained.model.is_calibrated
    log = (trained.folder / "metrics.jsonl").read_text()
    assert "calibrated" not in log
