"""One run at a time, with a process in place of jumok train that does as it is told."""

import asyncio
import os
import signal
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from jumok.errors import ModelError
from jumok.server.gates.problems import Problem
from jumok.server.trainer import trainer as module
from jumok.server.trainer.order import TrainingOrder
from jumok.server.trainer.schema import TrainingRequest
from jumok.server.trainer.trainer import PageRun, Trainer, free_name

PROCESS = """
import os, pathlib, signal, sys, time
run = pathlib.Path(sys.argv[1])
run.mkdir(exist_ok=True)
signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
with (run / "metrics.jsonl").open("a") as file:
    file.write(f"{os.getpid()}\\n")
while not (run / "end").exists():
    time.sleep(0.01)
print((run / "end").read_text(), file=sys.stderr)
sys.exit(len((run / "end").read_text()) > 0)
"""
REQUEST = TrainingRequest(pairs="a\tb", arch="luong", seconds=60)


@pytest.fixture(autouse=True)
def obedient(monkeypatch: pytest.MonkeyPatch) -> None:
    command = property(lambda order: [sys.executable, "-c", PROCESS, str(order.run)])
    monkeypatch.setattr(TrainingOrder, "command", command)


async def until(run: PageRun, status: str) -> None:
    for _ in range(12_000):
        if run.status == status:
            return
        await asyncio.sleep(0.01)
    raise AssertionError(f"{run.status}, not {status}: {run.problem}")


async def bring(name: str, folder: Path) -> None:
    if not (folder / "metrics.jsonl").exists():
        raise ModelError("there is no checkpoint", where=str(folder))


def training(folder: Path, act: Callable[[Trainer, PageRun], Awaitable[None]]) -> PageRun:
    """A run that has begun, what is done with it, and the end of the server."""

    async def main() -> PageRun:
        trainer = Trainer(folder / "runs", bring)
        run = await trainer.begin(REQUEST, {"tsv": "a\tb"}, 1, ())
        await until(run, "running")
        await act(trainer, run)
        await trainer.close()
        return run

    return asyncio.run(main())


def process_of(run: PageRun) -> int:
    return int(run.order.events.read_text().split()[-1])


def test_a_run_that_ends_is_served(tmp_path: Path) -> None:
    async def act(trainer: Trainer, run: PageRun) -> None:
        (run.order.run / "end").write_text("")
        await until(run, "done")

    run = training(tmp_path, act)
    assert (run.model, run.problem) == ("page-luong", None)
    assert (tmp_path / "runs" / "page-luong.tsv").read_text() == "a\tb\n"


def test_to_pause_ends_the_process_and_to_go_on_starts_another(tmp_path: Path) -> None:
    seen = []

    async def act(trainer: Trainer, run: PageRun) -> None:
        seen.append(process_of(run))
        await run.act("pause")
        assert run.status == "pausing"
        await until(run, "paused")
        with pytest.raises(ProcessLookupError):
            os.kill(seen[0], 0)
        await run.act("resume")
        await until(run, "running")
        seen.append(process_of(run))
        await run.act("stop")
        await until(run, "done")

    assert training(tmp_path, act).model == "page-luong"
    assert seen[0] != seen[1]


def test_a_paused_run_can_be_stopped(tmp_path: Path) -> None:
    async def act(trainer: Trainer, run: PageRun) -> None:
        await run.act("pause")
        await run.act("stop")  # before it has ended
        await until(run, "done")

    assert training(tmp_path, act).model == "page-luong"


def test_a_second_run_is_refused_also_while_the_first_is_paused(tmp_path: Path) -> None:
    async def act(trainer: Trainer, run: PageRun) -> None:
        for status in ("running", "paused"):
            await until(run, status)
            with pytest.raises(Problem) as refused:
                await trainer.begin(REQUEST, {"tsv": "a\tb"}, 1, ())
            assert (refused.value.status_code, refused.value.sentence) == (
                409,
                "a model is being trained here already: stop that run first",
            )
            if status == "running":
                await run.act("pause")

    training(tmp_path, act)


def test_a_process_that_is_killed_is_told_and_can_go_on(tmp_path: Path) -> None:
    async def act(trainer: Trainer, run: PageRun) -> None:
        os.kill(process_of(run), signal.SIGKILL)
        await until(run, "failed")
        assert run.problem == "the training process was ended from outside, by signal 9"
        with pytest.raises(Problem, match="409") as refused:
            await run.act("pause")
        assert refused.value.sentence == "a run that is failed cannot pause"
        await run.act("resume")
        await until(run, "running")
        assert run.problem is None

    training(tmp_path, act)


def test_what_the_process_complains_of_is_passed_on(tmp_path: Path) -> None:
    async def act(trainer: Trainer, run: PageRun) -> None:
        (run.order.run / "end").write_text(f"error: the disk is full\n  {run.order.run}")
        await until(run, "failed")

    assert training(tmp_path, act).problem == "the disk is full\nruns/page-luong"


def test_a_server_that_stops_pauses_its_run(tmp_path: Path) -> None:
    async def nothing(trainer: Trainer, run: PageRun) -> None:
        pass

    run = training(tmp_path, nothing)
    assert run.status == "paused"
    with pytest.raises(ProcessLookupError):
        os.kill(process_of(run), 0)


def test_a_folder_that_cannot_be_written_to_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    async def main() -> None:
        await Trainer(tmp_path / "file", bring).begin(REQUEST, {"tsv": "a\tb"}, 1, ())

    with pytest.raises(Problem) as refused:
        asyncio.run(main())
    assert (refused.value.status_code, refused.value.code, refused.value.sentence) == (
        507,
        "unwritable",
        "the folder for training runs cannot be written to: File exists",
    )


def test_a_disk_with_hardly_any_room_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "ROOM", 1 << 60)

    async def main() -> None:
        await Trainer(tmp_path, bring).begin(REQUEST, {"tsv": "a\tb"}, 1, ())

    with pytest.raises(Problem) as refused:
        asyncio.run(main())
    assert refused.value.code == "disk_full"
    assert "MiB left, and 1099511627776 are the least for a run" in refused.value.sentence


def test_a_name_that_is_taken_gets_a_number() -> None:
    assert free_name("a", set()) == "a"
    assert free_name("a", {"a", "a-2", "b"}) == "a-3"


def test_a_run_without_a_model_says_so(tmp_path: Path) -> None:
    async def act(trainer: Trainer, run: PageRun) -> None:
        await run.act("pause")
        await until(run, "paused")
        run.order.events.unlink()
        await run.act("stop")
        await until(run, "failed")

    assert training(tmp_path, act).problem == "there is no model to show yet: there is no checkpoint"


def test_names_are_those_of_runs_and_of_what_lies_beside_them(tmp_path: Path) -> None:
    trainer = Trainer(tmp_path / "runs", bring)
    assert trainer.names() == set()  # there is no folder yet
    (tmp_path / "runs" / "dates").mkdir(parents=True)
    (tmp_path / "runs" / "words.train.tsv").touch()
    assert trainer.names() == {"dates", "words"}
