"""A run ends with what its training had side by side, or with a word why not."""

import json
from pathlib import Path
from typing import Any

import pytest

from jumok.checkpoint.manifest import NOVELTY, verify
from jumok.errors import RunError
from jumok.run import novelty as module
from jumok.run.train import RunCallbacks, RunRequest, TrainedRun, run
from tests.run.conftest import quick_settings
from tests.run.test_calibrated import write_letters


def train(folder: Path, out: str, events: list[dict[str, Any]] | None = None, **more: Any) -> TrainedRun:
    """A run on lines of the letters a to h."""
    kept = [] if events is None else events
    callbacks = RunCallbacks(on_event=lambda event: kept.append(dict(event)))
    return run(RunRequest(given=quick_settings(folder, **more), out=folder / out, device="cpu"), callbacks)


def test_the_model_of_a_run_knows_what_stood_together(tmp_path: Path) -> None:
    write_letters(tmp_path)
    model = train(tmp_path, "run").model
    assert verify(model.folder) == {model.folder: []}
    encode = model.tokenizers.source.encode
    novelty = model.novelty
    assert novelty is not None
    known = (tmp_path / "train.src").read_text().splitlines()
    assert novelty.count(map(encode, known)).unseen == 0
    assert not novelty.count([encode("a b h g c d")]).strange
    assert novelty.count([encode("hgfedcba abba")]).strange


def test_a_run_from_a_model_does_not_know_what_that_one_saw(tmp_path: Path) -> None:
    write_letters(tmp_path)
    first = train(tmp_path, "first")
    second = train(tmp_path, "second", start__model=str(first.folder))
    assert first.model.novelty is not None
    assert second.model.novelty is None
    assert not (second.model.folder / NOVELTY).exists()


def test_a_fault_is_a_notice_and_the_run_is_complete(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> Path:
        raise RunError("the disk is full: cannot save novelty.json", code="disk_full")

    monkeypatch.setattr(module, "write_calibration", full)
    write_letters(tmp_path)
    events: list[dict[str, Any]] = []
    done = train(tmp_path, "run", events)
    [told] = [event for event in events if event.get("code") == "disk_full"]
    assert "training is not kept: the disk is full" in json.dumps(told)
    assert events[-1]["status"] == "completed"
    assert done.model.novelty is None
