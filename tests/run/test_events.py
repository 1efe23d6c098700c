"""Where a run's events go: files that outlive a full disk."""

import json
import logging
from pathlib import Path
from typing import Any

import pytest

from jumok.run import events
from jumok.run.events import forgiving, logs, samples_log
from jumok.training.log import JsonLines


def test_samples_go_to_a_file_of_their_own(tmp_path: Path) -> None:
    lines = JsonLines(tmp_path / "samples.jsonl")
    log = samples_log(lines)
    log({"type": "train", "step": 1})
    log({"type": "valid", "step": 2, "loss": 1.0})
    log({"type": "valid", "step": 3, "samples": [{"src": "a", "hyp": "b"}]})
    lines.close()
    (only,) = map(json.loads, (tmp_path / "samples.jsonl").read_text().splitlines())
    assert (only["type"], only["step"]) == ("samples", 3)
    assert only["samples"] == [{"src": "a", "hyp": "b"}]


def test_an_event_goes_to_the_file_and_to_who_looks_on(tmp_path: Path) -> None:
    seen: list[Any] = []
    with logs(tmp_path, seen.append) as log_to:
        for log in log_to:
            log({"type": "train", "step": 4, "loss": 0.5})
    assert seen == [{"type": "train", "step": 4, "loss": 0.5}]
    (line,) = (tmp_path / "metrics.jsonl").read_text().splitlines()
    assert json.loads(line)["loss"] == 0.5


@pytest.mark.parametrize("there", [False, True])
def test_curves_are_drawn_where_tensorboard_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, there: bool
) -> None:
    drawn: list[Any] = []

    class Board:
        def __init__(self, folder: Path) -> None:
            drawn.append(folder)

        def __call__(self, event: Any) -> None:
            drawn.append(event["step"])

        def close(self) -> None:
            drawn.append("closed")

    monkeypatch.setattr(events, "has_tensorboard", lambda: there)
    monkeypatch.setattr(events, "TensorBoard", Board)
    with logs(tmp_path, lambda _: None) as log_to:
        for log in log_to:
            log({"type": "train", "step": 4, "loss": 0.5})
    assert drawn == ([tmp_path / "tensorboard", 4, "closed"] if there else [])


def test_a_full_disk_is_forgiven_and_nothing_else() -> None:
    def fail(error: Exception) -> None:
        raise error

    forgiving(fail)(OSError(28, "No space left on device"))
    with pytest.raises(ValueError, match="something else"):
        forgiving(fail)(ValueError("something else"))


def test_a_warning_of_the_library_is_a_notice_of_the_run(tmp_path: Path) -> None:
    """Such as a kernel that does not run here; before and after the run nobody takes it down."""
    seen: list[Any] = []
    with logs(tmp_path, seen.append) as log_to:
        for log in log_to:
            log({"type": "train", "step": 7, "loss": 0.5})
        logging.getLogger("jumok").warning("the kernel %s does not run here", "attention")
    logging.getLogger("jumok").warning("later")
    wanted = {"type": "notice", "step": 7, "level": "warning", "code": "library"}
    assert seen[1:] == [wanted | {"message": "the kernel attention does not run here"}]
    last = json.loads((tmp_path / "metrics.jsonl").read_text().splitlines()[-1])
    assert last["message"] == "the kernel attention does not run here"
