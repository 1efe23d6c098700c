"""Stopping anywhere and going on equals never having stopped, bit for bit."""

import json
import os
import random
import shutil
import signal
import time
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from jumok.checkpoint.manifest import checkpoint_folders
from jumok.config import ARCHS
from tests import processes
from tests.run.conftest import tiny_settings

KILLS = {"transformer": 4, "luong": 2, "rnn": 2}  # every restart takes seconds
STEPS = 20  # for each kill, about what a run gets on before it comes


def train_in_child(given: dict[str, Any], out: str, stop_at: int | None, wait_after: int | None) -> None:
    """Runs in a process of its own, so that it can be killed; may be asked to stop after a step.

    After `wait_after` steps of its life it waits to be killed, so that it cannot end before it is.
    """
    import torch

    from jumok.run.train import RunCallbacks, RunRequest, run

    torch.set_num_threads(1)
    steps = [0]
    callbacks = RunCallbacks(
        on_event=lambda event: steps.append(event["step"]) if event["type"] == "train" else None,
        interrupted=lambda: steps[-1] == stop_at or (len(steps) - 1 == wait_after and wait_to_be_killed()),
    )
    run(RunRequest(given=given, out=Path(out), device="cpu"), callbacks)


def wait_to_be_killed() -> bool:
    time.sleep(600)
    return True


def start(given: dict[str, Any], out: Path, stop_at: int | None = None, wait_after: int | None = None) -> Any:
    return processes.start(train_in_child, given, str(out), stop_at, wait_after)


def finish(given: dict[str, Any], out: Path, stop_at: int | None = None) -> None:
    child = start(given, out, stop_at)
    child.join(120)
    assert child.exitcode == 0


def losses(out: Path) -> dict[int, tuple[str, str]]:
    """Loss and gradient norm of each step in full digits; the newest entry of a step counts."""
    found = {}
    for line in (out / "metrics.jsonl").read_bytes().split(b"\n"):
        try:
            event = json.loads(line)
        except ValueError:
            continue  # cut short by a kill
        if event["type"] == "train":
            found[event["step"]] = (repr(event["loss"]), repr(event["grad_norm"]))
    return found


def last_weights(out: Path) -> dict[str, str]:
    """Hashes of the newest checkpoint's weights and optimiser."""
    folder = next(iter(checkpoint_folders(out).values()))
    return {
        name: sha256((folder / name).read_bytes()).hexdigest()
        for name in ("model.safetensors", "optimizer.safetensors")
    }


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("arch", ARCHS)
def test_a_run_killed_at_random_moments_ends_with_the_weights_of_an_unbroken_one(
    arch: str, corpus: Path, tmp_path: Path
) -> None:
    given = tiny_settings(arch, corpus) | {
        "training.max_steps": STEPS * (KILLS[arch] + 1),
        "training.patience": 0,
    }
    finish(given, tmp_path / "whole")

    draw, kills, began = random.Random(arch), 0, time.monotonic()
    while kills < KILLS[arch] and time.monotonic() - began < 300:
        child = start(given, tmp_path / "broken", wait_after=STEPS)
        seen = progress_of(tmp_path / "broken")
        while child.is_alive() and progress_of(tmp_path / "broken") <= seen:
            time.sleep(0.002)  # at least one event more than before, so that the run gets somewhere
        time.sleep(draw.uniform(0, 0.12))
        if child.is_alive():
            os.kill(child.pid, signal.SIGKILL)
            kills += 1
        child.join(60)
        if child.exitcode == 0:
            break
    assert kills == KILLS[arch], "the run ended before it was killed often enough: raise STEPS"
    finish(given, tmp_path / "broken")

    assert losses(tmp_path / "broken") == losses(tmp_path / "whole")
    assert last_weights(tmp_path / "broken") == last_weights(tmp_path / "whole")
    assert not [one.name for one in (tmp_path / "broken" / "checkpoints").iterdir() if "tmp" in one.name]


def progress_of(out: Path) -> int:
    metrics = out / "metrics.jsonl"
    return metrics.stat().st_size if metrics.exists() else 0


@pytest.mark.slow
@pytest.mark.parametrize(
    "change",
    [
        {"training.optimizer": "muon", "training.ema": 0.9, "training.accumulate": 3},
        {"training.optimizer": "sgd", "training.teacher_forcing": 0.5},
        {"training.batches": "packed", "training.rdrop": 1.0, "data.max_length": 30},
        {"training.threads": 2, "training.batch_tokens": 3000},
        {"training.precision": "bf16", "model.copy": True},
        {
            "model.positions": "relative",
            "model.rms_norm": True,
            "model.gated": True,
            "model.activation": "silu",
            "model.logits_bias": True,
            "training.precision": "bf16",
        },
        {"training.align": 0.5, "training.threads": 2, "training.batch_tokens": 3000},
        {
            "training.precision": "bf16",
            "training.rdrop": 1.0,
            "training.threads": 2,
            "training.batch_tokens": 3000,
        },
    ],
    ids=lambda change: "-".join(f"{key}={value}" for key, value in change.items()),
)
def test_every_kind_of_training_resumes_exactly(change: dict[str, Any], corpus: Path, tmp_path: Path) -> None:
    few = {"training.max_steps": 16, "training.validate_every": 6}
    given = tiny_settings("transformer", corpus) | few | change
    finish(given, tmp_path / "whole")
    finish(given, tmp_path / "broken", stop_at=9)
    finish(given, tmp_path / "broken")
    assert losses(tmp_path / "broken") == losses(tmp_path / "whole")
    assert last_weights(tmp_path / "broken") == last_weights(tmp_path / "whole")


@pytest.mark.slow
@pytest.mark.parametrize(
    "change",
    [
        {"training.lora": 4, "training.ema": 0.9, "start.extend_vocabulary": 5},
        {
            "training.anchor": 5.0,
            "training.freeze": "encoder",
            "training.batches": "packed",
            "data.max_length": 30,
        },
        {"training.lora": 2, "training.threads": 2, "training.batch_tokens": 3000, "training.rdrop": 1.0},
        {"training.optimizer": "muon", "training.anchor": 1.0, "training.ema": 0.9},
    ],
    ids=lambda change: "-".join(f"{key}={value}" for key, value in change.items()),
)
def test_a_run_from_a_model_is_killed_and_goes_on_exactly(
    change: dict[str, Any], corpus: Path, tmp_path: Path
) -> None:
    parent = tiny_settings("transformer", corpus) | {"training.max_steps": 10, "training.warmup": 2}
    finish(parent, tmp_path / "parent")
    keep = {"start.keep": parent["data.source"], "start.keep_target": parent["data.target"]}
    given = {key: value for key, value in parent.items() if not key.startswith(("model.", "text."))}
    given |= {"start.model": str(tmp_path / "parent"), "training.max_steps": 20, "training.patience": 0}
    given |= keep | change
    finish(given, tmp_path / "whole")
    child = start(given, tmp_path / "broken", wait_after=13)
    while child.is_alive() and max(losses_so_far(tmp_path / "broken"), default=0) < 13:
        time.sleep(0.01)
    os.kill(child.pid, signal.SIGKILL)
    child.join(60)
    shutil.rmtree(tmp_path / "parent")  # what it needs of its parent it has kept
    finish(given, tmp_path / "broken")
    assert losses(tmp_path / "broken") == losses(tmp_path / "whole")
    assert last_weights(tmp_path / "broken") == last_weights(tmp_path / "whole")


def losses_so_far(out: Path) -> dict[int, tuple[str, str]]:
    return losses(out) if (out / "metrics.jsonl").exists() else {}
