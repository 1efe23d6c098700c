"""Processes that train as one: what they tell each other, how they fail together, and one process alone."""

import json
import os
import platform
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tests.run.processes import together

from jumok.errors import ConfigError, DataError, Error, RunError, TokenizerFileError
from jumok.training import distributed
from jumok.training.distributed import (
    World,
    buckets,
    fresh_store,
    is_first_here,
    is_told,
    join,
    losing_nobody,
    own_device,
    read_error,
    shared_clock,
    write_error,
)

TORCHRUN = {
    "RANK": "1",
    "WORLD_SIZE": "2",
    "LOCAL_RANK": "1",
    "MASTER_ADDR": "localhost",
    "MASTER_PORT": "29500",
}


# One process alone.


def test_alone_everything_stays_as_it_is() -> None:
    world, tensor = World(), torch.ones(3)
    world.reduce([tensor])
    assert tensor.tolist() == [1, 1, 1]
    assert world.agree({"a": (1, 2)}) == {"a": (1, 2)}
    assert (world.sum(7), world.sums([1, 2]), world.gather("x")) == (7, [1, 2], ["x"])
    assert world.first(lambda: "done") == world.every(lambda: "done") == "done"
    assert world.is_first


@pytest.mark.parametrize("method", ["first", "every"])
def test_alone_an_error_passes_through(method: str) -> None:
    def fail() -> None:
        raise KeyError("a")

    with pytest.raises(KeyError) as caught:
        getattr(World(), method)(fail)
    assert not is_told(caught.value)


@pytest.mark.parametrize("environment", [{}, {"RANK": "3"}, TORCHRUN | {"WORLD_SIZE": "1"}])
def test_without_torchrun_or_with_one_process_the_world_has_one(environment: dict[str, str]) -> None:
    with join("cpu", environment) as world:
        assert world == World(device="cpu")
    assert is_first_here(environment)


def test_one_process_knows_too_that_it_was_started_again() -> None:
    with join(
        "cpu", {**TORCHRUN, "RANK": "0", "WORLD_SIZE": "1", "TORCHELASTIC_RESTART_COUNT": "2"}
    ) as world:
        assert (world.size, world.restarts) == (1, 2)


def test_processes_that_start_again_do_not_read_what_the_dead_have_left(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """torchrun keeps one store over all its restarts."""
    kept = torch.distributed.TCPStore("127.0.0.1", 0, 1, is_master=True)
    here = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(kept.port), "TORCHELASTIC_USE_AGENT_STORE": "True"}
    for name, value in (TORCHRUN | here).items():
        monkeypatch.setenv(name, value)
    fresh_store(0).set("address", "of the dead")
    assert fresh_store(0).check(["address"])
    assert not fresh_store(1).check(["address"])


def test_a_process_takes_its_own_gpu_before_it_meets_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a machine that has two, and nobody to meet."""
    calls = list[tuple[object, ...]]()
    note = lambda name: lambda *given, **_: calls.append((name, *map(str, given)))  # noqa: E731
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(torch.cuda, "set_device", note("set_device"))
    for name in ("init_process_group", "new_group", "destroy_process_group"):
        monkeypatch.setattr(torch.distributed, name, note(name))
    with join(None, TORCHRUN) as world:
        assert (world.device, world.rank, world.size) == ("cuda:1", 1, 2)
    assert calls == [
        ("set_device", "cuda:1"),
        ("init_process_group", "nccl"),
        ("new_group",),
        ("destroy_process_group",),
    ]


def test_memory_that_runs_out_in_an_exchange_is_nobodys_end() -> None:
    with pytest.raises(torch.OutOfMemoryError, match="no room"), losing_nobody():
        raise torch.OutOfMemoryError("no room")
    with (
        pytest.raises(
            RunError, match="^another process of this run has ended or falls silent\n  Broken pipe"
        ),
        losing_nobody(),
    ):
        raise RuntimeError("[/a/b.cc:12] Broken pipe. More")


def test_the_first_process_knows_itself_before_the_processes_meet() -> None:
    assert is_first_here(TORCHRUN | {"RANK": "0"})
    assert not is_first_here(TORCHRUN)


def test_alone_the_clock_is_the_own_one() -> None:
    stops: list[int] = []
    clock, interrupted = shared_clock(World(), lambda: 3.0, lambda: bool(stops))
    assert (clock(), interrupted()) == (3.0, False)
    stops.append(15)
    assert interrupted()


# Devices.


def gpus(monkeypatch: pytest.MonkeyPatch, count: int) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: count > 0)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: count)


def test_each_process_has_a_gpu_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    gpus(monkeypatch, 4)
    assert [own_device(None, rank, 4) for rank in range(4)] == ["cuda:0", "cuda:1", "cuda:2", "cuda:3"]
    assert own_device("cuda", 1, 2) == "cuda:1"
    assert own_device("cpu", 1, 8) == "cpu"


def test_without_a_gpu_processes_train_on_the_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    gpus(monkeypatch, 0)
    assert own_device(None, 3, 4) == "cpu"


@pytest.mark.parametrize(
    ("wanted", "count", "text"),
    [
        (
            "cuda:1",
            4,
            "--device cuda:1 is one device for all processes\n  "
            "give --device cuda, and each process takes a GPU of its own; or --device cpu",
        ),
        (
            None,
            2,
            "torchrun started 3 processes here, and GPUs there are 2: each needs its own\n  "
            "start it with --nproc-per-node 2",
        ),
        (
            "cuda",
            0,
            "torchrun started 3 processes here, and GPUs there are 0: each needs its own\n  "
            "train on the CPU with --device cpu",
        ),
    ],
)
def test_a_device_that_cannot_be_shared_is_refused(
    wanted: str | None, count: int, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    gpus(monkeypatch, count)
    with pytest.raises(ConfigError) as caught:
        own_device(wanted, 0, 3)
    assert str(caught.value) == text


# Buckets and errors.


@given(st.lists(st.tuples(st.integers(0, 9), st.sampled_from([torch.float32, torch.bfloat16])), max_size=12))
def test_buckets_hold_every_tensor_once_by_type_and_within_their_size(
    sizes: Sequence[tuple[int, torch.dtype]],
) -> None:
    tensors = [torch.zeros(size, dtype=dtype) for size, dtype in sizes]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(distributed, "BUCKET", 10)
        found = list(buckets(tensors))
    assert sorted(map(id, tensors)) == sorted(id(tensor) for bucket in found for tensor in bucket)
    for bucket in found:
        assert len({tensor.dtype for tensor in bucket}) == 1
        assert len(bucket) == 1 or sum(tensor.numel() for tensor in bucket) <= 10


def test_small_gradients_travel_together_and_large_ones_as_far_as_they_fit() -> None:
    """One call has up to 64 MiB of fp32; these tensors have a size and no numbers."""
    small, large, rest = (torch.empty(size, device="meta") for size in (1000, 9 * 2**20, 7 * 2**20 - 1000))
    for tensors, counts in (([small] * 50, [50]), ([large] * 3, [1, 1, 1]), ([large, small, rest], [3])):
        assert [len(each) for each in buckets(tensors)] == counts


@pytest.mark.parametrize(
    "error",
    [
        DataError("no such file", where="train.de", hint="check the path", code="missing"),
        RunError("the disk is full"),
        TokenizerFileError("damaged"),
    ],
)
def test_an_error_is_the_same_in_another_process(error: Error) -> None:
    other = read_error(json.loads(json.dumps(write_error(error))))
    assert type(other) is type(error)
    assert (str(other), other.code) == (str(error), error.code)
    assert is_told(other)


def test_errors_of_the_system_and_of_the_program_are_told_too(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as missing:
        (tmp_path / "gone").read_bytes()
    assert str(read_error(write_error(missing.value))) == (
        f"No such file or directory\n  {tmp_path / 'gone'}\n  "
        "every process must see the run folder and its data: machines must share them"
    )
    assert str(read_error(write_error(ZeroDivisionError("by zero")))) == "ZeroDivisionError: by zero"


# Two processes.


def converse(folder: str) -> None:
    """What each of two processes does; what it saw goes to a file."""
    seen: dict[str, Any] = {}
    distributed.BUCKET = 8
    with join("cpu") as world:
        mine = world.rank + 1
        seen["agree"] = world.agree({"value": [mine, None, 0.1, float("inf")], "text": "é" * mine})
        seen["gather"] = world.gather("xy" * mine)
        seen["sums"] = [world.sum(mine), *world.sums([10 * mine, 2**40])]
        tensors = [torch.full((5,), float(mine)), torch.full((2, 3), 10.0 * mine), torch.tensor(mine)]
        world.reduce(tensors)
        seen["reduce"] = [tensor.tolist() for tensor in tensors]
        seen["first"] = world.first(lambda: f"by {world.rank}")
        seen["every"] = world.every(lambda: f"by {world.rank}")
        clock, interrupted = shared_clock(world, lambda: 100.0 + world.rank, lambda: world.is_first)
        seen["clock"] = [interrupted(), clock(), interrupted()]
        seen["errors"] = [
            mishap(lambda: world.first(lambda: fail("in the first"))),
            mishap(lambda: world.every(lambda: fail("in the second") if world.rank else None)),
            mishap(lambda: world.every(lambda: Path("/nowhere", str(world.rank)).read_text())),
        ]
        seen["after"] = world.sum(1)
    Path(folder, f"{mine - 1}.json").write_text(json.dumps(seen))


def fail(what: str) -> None:
    raise DataError(what, where="a file", code="lost")


def mishap(call: Any) -> list[Any]:
    try:
        call()
    except Error as error:
        return [type(error).__name__, str(error), error.code, is_told(error)]
    return []


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """What two processes saw of each other."""
    folder = tmp_path_factory.mktemp("world")
    assert together(2, converse, str(folder)) == [0, 0]
    return [json.loads((folder / f"{rank}.json").read_text()) for rank in range(2)]


def test_two_processes_agree_on_the_first_ones_value(seen: list[dict[str, Any]]) -> None:
    assert [one["agree"] for one in seen] == [{"value": [1, None, 0.1, float("inf")], "text": "é"}] * 2
    assert [one["first"] for one in seen] == ["by 0", "by 0"]
    assert [one["every"] for one in seen] == ["by 0", "by 1"]


def test_two_processes_gather_and_add_up(seen: list[dict[str, Any]]) -> None:
    for one in seen:
        assert one["gather"] == ["xy", "xyxy"]
        assert one["sums"] == [3, 30, 2**41]
        assert one["reduce"] == [[3.0] * 5, [[30.0] * 3] * 2, 3]


def test_two_processes_have_one_clock_and_stop_together(seen: list[dict[str, Any]]) -> None:
    assert [one["clock"] for one in seen] == [[False, 100.0, True]] * 2


def test_an_error_of_one_process_is_an_error_of_both_that_names_it(seen: list[dict[str, Any]]) -> None:
    here = platform.node()
    for one in seen:
        first, second, both = one["errors"]
        assert first == ["DataError", "in the first\n  a file", "lost", True]
        expected = f"process 1 of 2, on {here}: in the second\n  a file"
        assert second == ["DataError", expected, "lost", True]
        assert both[1].startswith(f"process 0 of 2, on {here}: No such file or directory\n  /nowhere/0\n")
        assert one["after"] == 2  # and they can go on talking


def abandon(folder: str) -> None:
    """The second process ends without a word."""
    with join("cpu") as world:
        world.sum(0)  # both are here
        if world.rank == 1:
            os._exit(3)
        try:
            world.sum(1)
        except RunError as error:
            Path(folder, "error").write_text(f"{error.code}\n{error}")
            os._exit(4)


def test_a_process_that_ends_is_noticed_at_once(tmp_path: Path) -> None:
    assert together(2, abandon, str(tmp_path)) == [4, 3]
    code, message, where, hint = (tmp_path / "error").read_text().split("\n")
    assert code == "lost_process"
    assert message == "another process of this run has ended or falls silent"
    assert where
    assert "torchrun --max-restarts 3" in hint
