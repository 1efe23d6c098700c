"""Runs that meet trouble: numbers not finite, little memory, a full disk, other data, other trainers."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

import jumok
from jumok.checkpoint.checkpoints import Checkpoints
from jumok.checkpoint.folder import run_lock
from jumok.checkpoint.manifest import checkpoint_folders, verify_folder
from jumok.errors import ConfigError, DataError, RunError
from jumok.run.folder import RunFolder
from jumok.run.train import TrainedRun
from jumok.training.step import batch_loss
from tests.run.conftest import quick_settings
from tests.run.test_train import events_of, go


def poisoned(when: Callable[[int], bool]) -> Callable[..., Any]:
    calls = [0]

    def loss(*args: Any) -> Any:
        calls[0] += 1
        total, nll = batch_loss(*args)
        return (total * float("nan"), nll) if when(calls[0]) else (total, nll)

    return loss


def test_a_step_that_is_not_finite_is_skipped(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("jumok.training.step.batch_loss", poisoned(lambda call: call == 3))
    done = go(quick_settings(corpus), tmp_path / "run")
    (notice,) = events_of(done.folder, "notice")
    assert (notice["code"], notice["step"], notice["level"]) == ("nan_skipped", 3, "warning")
    assert "no weight was changed" in notice["message"]
    assert [event["skipped_steps"] for event in events_of(done.folder, "train")] == [0, 0, 1, 0, 0, 0]
    assert done.model.translate("12").text is not None
    for folder in checkpoint_folders(done.folder).values():
        assert verify_folder(folder) == []


def test_too_many_such_steps_end_the_run_and_keep_the_checkpoint(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("jumok.training.step.batch_loss", poisoned(lambda call: call > 3))
    with pytest.raises(RunError, match="the numbers stopped being finite: 3 steps skipped up to step 6"):
        go(quick_settings(corpus), tmp_path / "run")
    newest = Checkpoints(tmp_path / "run").newest()
    assert newest is not None
    assert newest.step == 3


def test_out_of_memory_is_a_notice_and_the_run_goes_on(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from jumok.training.step import train_step

    def small_memory(model: Any, optimizers: Any, batches: Any, *rest: Any, **options: Any) -> Any:
        if len(batches) < 2:
            raise torch.OutOfMemoryError("no room")
        return train_step(model, optimizers, batches, *rest, **options)

    monkeypatch.setattr("jumok.training.updates.train_step", small_memory)
    done = go(quick_settings(corpus), tmp_path / "run")
    (notice,) = events_of(done.folder, "notice")
    assert notice["message"] == "out of memory: each update now runs in 2 parts"
    assert done.steps == 6


def test_a_full_disk_does_not_end_a_run_over_a_log_line(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from jumok.training.log import JsonLines

    def full(self: JsonLines, event: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(JsonLines, "__call__", full)
    assert go(quick_settings(corpus), tmp_path / "run").steps == 6


def test_what_a_killed_save_left_is_cleared_away(trained: TrainedRun, tmp_path: Path) -> None:
    shutil.copytree(trained.folder, tmp_path / "run")
    leftovers = [
        tmp_path / "run" / "checkpoints" / f"{name}-0a1b2c3d" for name in ("step-00000009.tmp", "trash-x")
    ]
    for folder in leftovers:
        folder.mkdir()
        (folder / "model.safetensors").write_bytes(b"half")
    go(quick_settings(trained.folder.parent), tmp_path / "run")
    assert not any(folder.exists() for folder in leftovers)


# Averages, other data, fresh starts, two trainers.


@pytest.mark.parametrize("better", [True, False])
def test_averaged_checkpoints_become_the_model_if_they_are_better(
    better: bool,  # noqa: FBT001
    corpus: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    losses = iter([5.0, 4.0, 3.0, 2.0 if better else 9.0])
    monkeypatch.setattr("jumok.training.work.RunWork.valid_loss", lambda self, *_: next(losses))
    given = quick_settings(
        corpus,
        training__max_steps=6,
        training__validate_every=2,
        training__save_every=2,
        training__metric="loss",
        training__average=3,
    )
    done = go(given, tmp_path / "run")
    last = events_of(done.folder, "valid")[-1]
    assert last["averaged"] == 3
    assert (done.folder / "averaged").exists() is better
    assert done.score == (-2.0 if better else -3.0)
    if better:
        model = jumok.load(done.folder / "averaged")
        assert model.info["averaged_checkpoints"] == 3
        mean = torch.stack(
            [
                dict(jumok.load(folder).model.named_parameters())["target_embedding.weight"]
                for folder in checkpoint_folders(done.folder).values()
            ]
        ).mean(0)
        found = dict(model.model.named_parameters())["target_embedding.weight"]
        assert torch.allclose(found, mean, atol=1e-6)


def test_an_average_that_is_no_number_is_not_better(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    losses = iter([5.0, 4.0, float("nan")])
    monkeypatch.setattr("jumok.training.work.RunWork.valid_loss", lambda self, *_: next(losses))
    done = go(quick_settings(corpus, training__metric="loss", training__average=2), tmp_path / "run")
    assert not (done.folder / "averaged").exists()
    assert done.score == -4.0


def test_a_failure_with_the_average_is_the_last_event_too(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    losses = iter([5.0, 4.0])
    monkeypatch.setattr("jumok.training.work.RunWork.valid_loss", lambda self, *_: next(losses))
    with pytest.raises(StopIteration):
        go(quick_settings(corpus, training__metric="loss", training__average=2), tmp_path / "run")
    assert events_of(tmp_path / "run")[-1]["status"] == "failed"


def test_averages_leave_the_last_checkpoint_to_go_on_from(corpus: Path, tmp_path: Path) -> None:
    given = quick_settings(corpus, training__average=2)
    plain = go(quick_settings(corpus), tmp_path / "plain")
    go(given, tmp_path / "averaged")
    more = {"training.max_steps": 8}
    go(quick_settings(corpus) | more, tmp_path / "plain")
    go(given | more, tmp_path / "averaged")
    losses = [
        [event["loss"] for event in events_of(tmp_path / name, "train")] for name in ("plain", "averaged")
    ]
    assert losses[0] == losses[1]
    assert plain.steps == 6


def test_changed_data_is_refused_unless_allowed(trained: TrainedRun, tmp_path: Path) -> None:
    shutil.copytree(trained.folder, tmp_path / "run")
    for side in ("train.src", "train.tgt"):
        text = (trained.folder.parent / side).read_text()
        (tmp_path / side).write_text(text + "a word\n" * 20)  # a tokenizer of its own would differ
    given = quick_settings(tmp_path)
    with pytest.raises(DataError) as caught:
        go(given, tmp_path / "run")
    then, now = (line.split()[-1] for line in str(caught.value).split("\n")[1:3])
    assert len(then) == len(now) == 64
    assert then != now
    done = go(given | {"training.max_steps": 7}, tmp_path / "run", allow_data_change=True)
    assert done.steps == 7
    assert events_of(tmp_path / "run", "start")[-1]["data"]["train"] == 300
    assert done.model.tokenizers.fingerprint == trained.model.tokenizers.fingerprint


def test_fresh_keeps_the_earlier_run(
    trained: TrainedRun, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    shutil.copytree(trained.folder, tmp_path / "run")
    given = quick_settings(trained.folder.parent, training__max_steps=2, model__width=8)
    with pytest.raises(ConfigError, match="was started with model.width=16, not 8"):
        go(given, tmp_path / "run")
    done = go(given, tmp_path / "run", fresh=True)
    assert (done.steps, done.config.model.width) == (2, 8)
    assert "the earlier run is now in" in caplog.text
    earlier = tmp_path / "run.before-1"
    assert jumok.load(earlier).info["fingerprint"] == trained.model.info["fingerprint"]


def test_fresh_with_a_mistake_moves_nothing(trained: TrainedRun, tmp_path: Path) -> None:
    shutil.copytree(trained.folder, tmp_path / "run")
    with pytest.raises(DataError, match="no such file"):
        go(quick_settings(tmp_path / "nowhere"), tmp_path / "run", fresh=True)
    assert RunFolder(tmp_path / "run").exists
    assert not (tmp_path / "run.before-1").exists()


@pytest.mark.parametrize("fresh", [False, True])
def test_a_second_trainer_is_refused(
    fresh: bool,  # noqa: FBT001
    trained: TrainedRun,
    tmp_path: Path,
) -> None:
    shutil.copytree(trained.folder, tmp_path / "run")
    with run_lock(tmp_path / "run"), pytest.raises(RunError, match="another process is training") as caught:
        go(quick_settings(trained.folder.parent), tmp_path / "run", fresh=fresh)
    assert caught.value.code == "locked"
    assert events_of(tmp_path / "run") == events_of(trained.folder)


def test_a_device_that_is_not_there_leaves_no_folder_behind(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="device 'abacus' is not available"):
        jumok.train(data="dates", device="abacus", out=tmp_path / "run")
    assert not (tmp_path / "run").exists()
