"""Where a run's events go: files that outlive a full disk."""

import json
import logging
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest
import torch

from jumok import __version__
from jumok.run import events
from jumok.run.events import Notices, forgiving, logs, samples_log, start_event
from jumok.settings import parse_config
from jumok.training.log import JsonLines
from jumok.training.state import LoopState


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


def test_the_start_of_a_sitting_is_told_whole() -> None:
    class Pairs(list[int]):
        left_out: ClassVar = {"too_long": 2}
        cut = 1

    config = parse_config({"seed": 7})
    prepared = SimpleNamespace(train=Pairs([1, 2, 3]), valid=[1])
    run = SimpleNamespace(run=Path("runs/one"))
    work: Any = SimpleNamespace(
        prepared=prepared, config=config, checkpoints=run, autocast=None, world=SimpleNamespace(size=2)
    )
    machine: Any = SimpleNamespace(device="cpu")
    event = dict(start_event(work, machine, 12_345, LoopState()))
    versions = event.pop("versions")
    assert list(versions) == ["jumok", "torch", "python"]
    assert versions["jumok"] == __version__
    assert len(event.pop("config_sha256")) == 64
    assert event == {
        **{"type": "start", "run": "one", "params": 12_345, "device": "cpu", "dtype": "float32", "seed": 7},
        "data": {"train": 3, "valid": 1, "left_out": {"too_long": 2}, "cut": 1},
        **{"processes": 2, "resumed_from": None},
    }
    work.autocast = torch.bfloat16
    event = dict(start_event(work, machine, 1, LoopState(step=40)))
    assert (event["dtype"], event["resumed_from"]) == ("bfloat16", 40)


def test_notices_know_the_step_that_the_run_has_come_to() -> None:
    seen: list[Any] = []
    notices = Notices([seen.append])
    for step in (5, None, 8):
        notices.follow({"type": "train", "step": step} if step else {"type": "end"})
        notices.emit(logging.makeLogRecord({"msg": "%s kernels", "args": (3,)}))
    assert [(one["step"], one["message"]) for one in seen] == [
        (5, "3 kernels"),
        (5, "3 kernels"),
        (8, "3 kernels"),
    ]
    assert notices.level == logging.WARNING
