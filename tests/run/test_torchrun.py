"""Runs of several real processes: the losses of one, going on, losing a process, and what is refused."""

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import psutil
import pytest

from jumok.checkpoint.checkpoints import Checkpoints
from jumok.errors import RunError
from jumok.run.train import RunCallbacks, RunRequest, run
from jumok.training.state import LoopState
from tests.run.conftest import tiny_settings
from tests.run.processes import LIMIT, together
from tests.run.test_resume import last_weights, losses
from tests.run.test_train import events_of

# With dropout: its draws are keyed by the piece, so that it matters not who runs it.
pytestmark = pytest.mark.timeout(3 * LIMIT)


def settings(corpus: Path, arch: str = "transformer", **more: Any) -> dict[str, Any]:
    return {
        **tiny_settings(arch, corpus),
        "data.max_length": 16,
        "training.batches": "sorted",
        "training.max_steps": 6,
        "training.warmup": 1,
        "training.validate_every": 3,
        "training.save_every": 3,
        "training.metric": "loss",
        "training.threads": 1,
        **{name.replace("__", "."): value for name, value in more.items()},
    }


def go(given: dict[str, Any], out: str, stop_at: int | None = None, allow: bool = False) -> None:  # noqa: FBT001, FBT002
    """Runs in a process of its own; may be asked to stop after a step."""
    steps = [0]
    callbacks = RunCallbacks(
        on_event=lambda event: steps.append(event["step"]) if event["type"] == "train" else None,
        interrupted=lambda: steps[-1] == stop_at,
    )
    run(RunRequest(given=given, out=Path(out), device="cpu", allow_world_change=allow), callbacks)


def validations(out: Path) -> list[float]:
    return [event["loss"] for event in events_of(out, "valid")]


def numbers(out: Path) -> list[float]:
    return [float(one) for pair in losses(out).values() for one in pair]


# The same losses.


@pytest.mark.slow
@pytest.mark.parametrize("arch", ["transformer", "luong"])
@pytest.mark.parametrize("batches", ["sorted", "packed"])
def test_two_processes_have_the_losses_of_one_with_twice_the_parts(
    batches: str, arch: str, corpus: Path, tmp_path: Path
) -> None:
    given = settings(corpus, arch, training__batches=batches, training__ema=0.9)
    go(given | {"training.accumulate": 2}, str(tmp_path / "one"))
    assert together(2, go, given, str(tmp_path / "two")) == [0, 0]
    assert numbers(tmp_path / "two") == pytest.approx(numbers(tmp_path / "one"), rel=1e-6)
    assert validations(tmp_path / "two") == pytest.approx(validations(tmp_path / "one"), rel=1e-6)
    start, *_ = events_of(tmp_path / "two", "start")
    assert start["processes"] == 2
    newest = Checkpoints(tmp_path / "two").newest()
    assert newest is not None
    assert LoopState.from_dict(newest.state).world == 2


@pytest.mark.slow
def test_each_process_may_run_its_share_in_parts(corpus: Path, tmp_path: Path) -> None:
    """Four parts in all; with so few tokens some updates have fewer pairs than parts."""
    given = settings(corpus, "luong", training__batch_tokens=60, training__max_steps=5)
    go(given | {"training.accumulate": 4}, str(tmp_path / "one"))
    assert together(2, go, given | {"training.accumulate": 2}, str(tmp_path / "two")) == [0, 0]
    assert numbers(tmp_path / "two") == pytest.approx(numbers(tmp_path / "one"), rel=1e-5)


# Going on.


@pytest.mark.slow
@pytest.mark.parametrize("batches", ["sorted", "packed"])
def test_two_processes_that_stop_and_go_on_equal_two_that_never_stopped(
    batches: str, corpus: Path, tmp_path: Path
) -> None:
    given = settings(corpus, training__batches=batches)
    assert together(2, go, given, str(tmp_path / "whole")) == [0, 0]
    assert together(2, go, given, str(tmp_path / "broken"), 4) == [0, 0]
    assert events_of(tmp_path / "broken")[-1]["status"] == "stopped"
    assert list(losses(tmp_path / "broken")) == [1, 2, 3, 4]
    assert together(2, go, given, str(tmp_path / "broken")) == [0, 0]
    assert losses(tmp_path / "broken") == losses(tmp_path / "whole")
    assert last_weights(tmp_path / "broken") == last_weights(tmp_path / "whole")


@pytest.mark.slow
def test_another_number_of_processes_is_refused_unless_allowed(corpus: Path, tmp_path: Path) -> None:
    given = settings(corpus)
    more = given | {"training.max_steps": 9}
    assert together(2, go, given, str(tmp_path / "two")) == [0, 0]
    with pytest.raises(RunError) as caught:
        go(more, str(tmp_path / "two"))
    assert caught.value.code == "world_changed"
    assert str(caught.value) == (
        "the run was trained by 2 processes up to step 6, and is now given to 1 process\n"
        "  go on with `torchrun --nproc-per-node 2 -m jumok train …` for the same numbers, or pass "
        "--allow-world-change: the same sentences, rounded otherwise"
    )
    shutil.copytree(tmp_path / "two", tmp_path / "one")
    assert together(2, go, more, str(tmp_path / "two")) == [0, 0]
    go(more, str(tmp_path / "one"), allow=True)
    assert list(losses(tmp_path / "one")) == list(range(1, 10))
    assert numbers(tmp_path / "one") == pytest.approx(numbers(tmp_path / "two"), rel=1e-5)


# Trouble in one process.


def command(words: list[str], folder: str) -> None:
    """`jumok …` on a machine of its own, if there are folders for them; what it says goes to a file."""
    from jumok.cli.main import main

    rank = os.environ["RANK"]
    machine = Path(folder, f"machine-{rank}")
    os.chdir(machine if machine.exists() else folder)
    stderr = os.open(Path(folder, f"stderr-{rank}"), os.O_WRONLY | os.O_CREAT)
    os.dup2(stderr, 2)
    main(words)


def as_words(given: dict[str, Any]) -> list[str]:
    return [part for key, value in given.items() for part in ("--set", f"{key}={value}")]


@pytest.mark.slow
def test_data_that_one_process_does_not_see_ends_all_with_one_error(corpus: Path, tmp_path: Path) -> None:
    for rank in range(2):
        (tmp_path / f"machine-{rank}").mkdir()
    words = ["train", "--device", "cpu", "--out", "run", *as_words(settings(corpus))]
    assert together(2, command, words, str(tmp_path)) == [1, 1]
    said = (tmp_path / "stderr-0").read_text()
    assert "error: process 1 of 2, on " in said
    assert ": No such file or directory\n  run/data/valid.tsv\n" in said
    assert "every process must see the run folder and its data: machines must share them" in said
    assert (tmp_path / "stderr-1").read_text() == ""  # once is enough
    assert not (tmp_path / "machine-1" / "run").exists()


@pytest.mark.slow
def test_a_store_that_one_process_cannot_read_is_named(corpus: Path, tmp_path: Path) -> None:
    given = settings(corpus)
    words = ["train", "--device", "cpu", "--out", "run", *as_words(given)]
    for rank in range(2):
        (tmp_path / f"machine-{rank}").mkdir()
    go(given, str(tmp_path / "machine-0" / "run"))
    shutil.copytree(tmp_path / "machine-0" / "run", tmp_path / "machine-1" / "run")
    (tmp_path / "machine-1" / "run" / "data" / "train" / "source.ids").write_bytes(b"cut")
    words += ["--allow-world-change", "--max-steps", "9"]
    assert together(2, command, words, str(tmp_path)) == [3, 3]
    said = (tmp_path / "stderr-0").read_text()
    assert "process 1 of 2, on " in said
    assert "the prepared data cannot be read: source.ids has 3 bytes" in said


@pytest.mark.slow
def test_a_mistake_is_told_once_and_ends_all(corpus: Path, tmp_path: Path) -> None:
    given = settings(corpus) | {"data.target": "nowhere.de"}
    words = ["train", "--device", "cpu", "--out", "run", *as_words(given)]
    assert together(2, command, words, str(tmp_path)) == [3, 3]
    assert (tmp_path / "stderr-0").read_text().startswith("error: no such file\n  nowhere.de\n")
    assert (tmp_path / "stderr-1").read_text() == ""
    assert not (tmp_path / "run").exists()


@pytest.mark.slow
def test_a_killed_process_starts_again_and_ends_with_the_losses_of_an_unbroken_run(
    corpus: Path, tmp_path: Path
) -> None:
    """First one process is killed, then the other."""
    more = {"training.max_steps": 120, "training.validate_every": 1000, "training.save_every": 10}
    given = settings(corpus) | more
    assert together(2, go, given, str(tmp_path / "whole")) == [0, 0]
    launcher = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    out = str(tmp_path / "broken")
    words = ["-m", "jumok", "train", "--quiet", "--fresh", "--device", "cpu", "--out", out]
    with subprocess.Popen(
        [*launcher, "--max-restarts", "2", *words, *as_words(given)],
        env=os.environ | {"OMP_NUM_THREADS": "1"},
        stderr=subprocess.DEVNULL,
    ) as process:
        try:
            for killed, step in enumerate((15, 35)):
                wait_for_step(tmp_path / "broken", step)
                rank_of(process.pid, killed).kill()
            assert process.wait(LIMIT) == 0
        finally:
            process.kill()
    starts = [event["resumed_from"] for event in events_of(tmp_path / "broken", "start")]
    assert len(starts) == 3, "the run ended before it could be killed: raise training.max_steps"
    assert starts[0] is None
    assert starts[1] >= 10
    assert starts[2] >= 30
    assert losses(tmp_path / "broken") == losses(tmp_path / "whole")
    assert last_weights(tmp_path / "broken") == last_weights(tmp_path / "whole")
    assert not (tmp_path / "broken.before-1").exists()  # going on is not starting over, --fresh or not


def wait_for_step(out: Path, step: int) -> None:
    """Until the run has told of this step."""
    began, metrics = time.monotonic(), out / "metrics.jsonl"
    while time.monotonic() - began < LIMIT:
        if metrics.exists() and f'"step": {step},' in metrics.read_text():
            return
        time.sleep(0.005)
    raise AssertionError(f"no step {step} in {LIMIT} s")


def rank_of(launcher: int, rank: int) -> psutil.Process:
    """The process that torchrun has given this rank."""
    children = psutil.Process(launcher).children(recursive=True)
    (found,) = [child for child in children if child.environ().get("RANK") == str(rank)]
    return found


# Weights shared out.


@pytest.mark.slow
@pytest.mark.parametrize("optimizer", ["adamw", "muon"])
def test_shared_out_weights_learn_the_same_and_are_saved_whole(
    optimizer: str, corpus: Path, tmp_path: Path
) -> None:
    given = settings(corpus, training__optimizer=optimizer, training__ema=0.9, training__average=2)
    given["model.dropout"] = 0.0  # one process draws its masks in another way
    given["training.precision"] = "fp32"  # some CPUs have bf16, in which sums of another order differ more
    go(given | {"training.accumulate": 2}, str(tmp_path / "one"))
    sharded = given | {"training.shard": True}
    assert together(2, go, sharded, str(tmp_path / "two"), 3) == [0, 0]
    assert together(2, go, sharded, str(tmp_path / "two")) == [0, 0]
    assert numbers(tmp_path / "two") == pytest.approx(numbers(tmp_path / "one"), rel=1e-5)
    assert validations(tmp_path / "two") == pytest.approx(validations(tmp_path / "one"), rel=1e-5)
    one, two = (Checkpoints(tmp_path / name).newest() for name in ("one", "two"))
    assert one is not None
    assert two is not None
    for file in ("model", "optimizer"):
        shapes = [{name: t.shape for name, t in found.tensors(file).items()} for found in (one, two)]
        assert shapes[0] == shapes[1]
    alone = given | {"training.max_steps": 8, "training.shard": False}  # it is a checkpoint like any other
    go(alone, str(tmp_path / "two"), allow=True)
    assert list(losses(tmp_path / "two"))[-1] == 8


@pytest.mark.slow
@pytest.mark.parametrize(
    "change",
    [
        {"training.lora": 4, "training.freeze": "encoder"},
        {"training.shard": True, "training.anchor": 3.0, "training.freeze": "embeddings"},
    ],
    ids=str,
)
def test_two_processes_teach_a_model_as_one_does(
    change: dict[str, Any], corpus: Path, tmp_path: Path
) -> None:
    parent = settings(corpus)
    go(parent, str(tmp_path / "parent"))
    given = {key: value for key, value in parent.items() if not key.startswith(("model.", "text."))}
    given |= {"start.model": str(tmp_path / "parent"), "model.dropout": 0.0, "training.optimizer": "adamw"}
    alone = {key: value for key, value in change.items() if key != "training.shard"}
    go(given | alone | {"training.accumulate": 2}, str(tmp_path / "one"))
    assert together(2, go, given | change, str(tmp_path / "two")) == [0, 0]
    assert validations(tmp_path / "two") == pytest.approx(validations(tmp_path / "one"), rel=1e-4)
    assert numbers(tmp_path / "two") == pytest.approx(numbers(tmp_path / "one"), rel=1e-3)
