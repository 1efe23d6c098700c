"""What a run computes with, and what this machine, or this number of processes, cannot do."""

from dataclasses import replace
from typing import Any

import pytest
import torch

from jumok.config import RunConfig
from jumok.errors import ConfigError, DataError
from jumok.run.compute import check_possible, check_same_data, lacks_bf16, precision
from jumok.run.machine import Machine, look_at_machine
from jumok.run.prepare import reopen
from jumok.run.train import TrainedRun
from jumok.settings import parse_config
from jumok.training.distributed import World, is_told


def gpu(*, bf16: bool) -> Machine:
    return replace(look_at_machine("cpu"), device="cuda:0", name="Tesla T4", bf16=bf16)


def with_precision(value: str) -> RunConfig:
    return parse_config({"training": {"precision": value}})


def test_a_gpu_computes_bf16_where_it_can() -> None:
    assert precision(with_precision("auto"), gpu(bf16=True)) is torch.bfloat16
    assert precision(with_precision("bf16"), gpu(bf16=True)) is torch.bfloat16
    assert precision(with_precision("fp32"), gpu(bf16=True)) is None


def test_a_gpu_without_bf16_computes_fp32_and_says_so() -> None:
    assert precision(with_precision("auto"), gpu(bf16=False)) is None
    assert lacks_bf16(with_precision("auto"), gpu(bf16=False))
    assert not lacks_bf16(with_precision("fp32"), gpu(bf16=False))
    assert not lacks_bf16(with_precision("auto"), gpu(bf16=True))
    assert not lacks_bf16(with_precision("auto"), replace(gpu(bf16=False), device="cpu"))


def test_bf16_that_the_gpu_lacks_is_refused() -> None:
    with pytest.raises(ConfigError) as caught:
        precision(with_precision("bf16"), gpu(bf16=False))
    assert str(caught.value) == (
        "training.precision=bf16 cannot work: Tesla T4 does not compute bf16\n"
        "  leave it at auto, or set training.precision=fp32"
    )


def test_torchs_sgd_cannot_share_out() -> None:
    config = parse_config({"training": {"shard": True, "optimizer": "sgd"}})
    with pytest.raises(ConfigError) as caught:
        check_possible(config, look_at_machine("cpu"), World(size=2))
    assert str(caught.value) == (
        "training.optimizer=sgd and training.shard=true exclude each other: torch's cannot share out\n"
        "  choose adamw, adam or muon"
    )


def test_processes_that_read_different_data_are_refused(trained: TrainedRun) -> None:
    class Other(World):
        def gather(self, value: Any) -> list[Any]:
            return [value, ["other"]]

    prepared = reopen(trained.folder / "data")
    with pytest.raises(DataError) as caught:
        check_same_data(Other(size=2), prepared)
    assert is_told(caught.value)  # all of them find it out, and one is enough to say so
    assert str(caught.value) == (
        "process 1 of 2 has prepared other data than process 0\n"
        f"  {trained.folder / 'data'}\n"
        "  every process must see the same run folder: machines must share it"
    )
    check_same_data(World(), prepared)
