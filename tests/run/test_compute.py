"""What a run computes with, and what this machine, or this number of processes, cannot do."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from jumok.backends.c_ops import is_available
from jumok.backends.native import NativeBackend
from jumok.config import RunConfig
from jumok.errors import ConfigError, DataError
from jumok.run.compute import (
    check_possible,
    check_same_data,
    lacks_bf16,
    make_learner,
    precision,
    tune_torch,
)
from jumok.run.machine import Machine, look_at_machine
from jumok.run.prepare import reopen
from jumok.run.start import table_side
from jumok.run.train import TrainedRun, train
from jumok.settings import parse_config
from jumok.training.distributed import World, is_told
from tests.run.conftest import tiny_settings
from tests.run.test_train import events_of


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


def test_fp8_that_the_machine_lacks_is_refused() -> None:
    assert precision(with_precision("fp8"), replace(gpu(bf16=True), fp8=True)) is torch.bfloat16
    for machine in (gpu(bf16=True), look_at_machine("cpu")):
        with pytest.raises(ConfigError) as raised:
            precision(with_precision("fp8"), machine)
        assert raised.value.code == "no_fp8"
        assert str(raised.value) == (
            f"training.precision=fp8 cannot work: {machine.name} does not have it\n"
            "  it needs an NVIDIA GPU of compute capability 9.0 or newer, such as an H100 or H200; "
            "leave training.precision at auto"
        )


@pytest.mark.parametrize(
    "settings",
    [
        {"model": {"arch": "luong"}},
        {"model": {"arch": "transformer"}, "training": {"batches": "sorted"}},
        {"model": {"arch": "transformer"}, "training": {"teacher_forcing": 0.5, "rollout": True}},
    ],
)
def test_fp8_is_for_steps_that_are_captured(settings: dict[str, dict[str, Any]]) -> None:
    training = settings.get("training", {}) | {"precision": "fp8"}
    config = parse_config(settings | {"training": training})
    with pytest.raises(ConfigError) as raised:
        check_possible(config, replace(gpu(bf16=True), fp8=True), World())
    assert str(raised.value) == (
        "training.precision=fp8 is for a Transformer with packed batches and without rollout\n"
        "  leave training.batches, shard and rollout as they come, or set training.precision=bf16"
    )


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


def test_bf16_on_a_cpu_rounds_factors_in_the_c_library(trained: TrainedRun) -> None:
    prepared, cpu = reopen(trained.folder / "data"), look_at_machine("cpu")
    for value, bf16 in (("auto", False), ("fp32", False), ("bf16", True)):
        config = replace(trained.config, training=replace(trained.config.training, precision=value))
        ops = make_learner(config, prepared, "cpu", None).model.ops
        if is_available():
            assert isinstance(ops, NativeBackend)
            assert ops.bf16 is bf16
            assert precision(config, cpu) is None


def test_bf16_on_a_cpu_without_the_c_library_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    cpu, wanted = look_at_machine("cpu"), with_precision("bf16")
    sharded = replace(wanted, training=replace(wanted.training, shard=True))
    with pytest.raises(ConfigError) as caught:
        precision(sharded, cpu)
    assert str(caught.value) == (
        "training.precision=bf16 cannot work: on a CPU jumok's C library computes it, and it does not shard\n"
        "  set training.precision=fp32"
    )
    monkeypatch.setattr("jumok.run.compute.is_available", lambda: False)
    with pytest.raises(ConfigError) as caught:
        precision(wanted, cpu)
    assert str(caught.value) == (
        "training.precision=bf16 cannot work: on a CPU jumok's C library computes it, which is not there\n"
        "  set training.precision=fp32, or build the library: python -m jumok.native.build"
    )
    assert precision(with_precision("auto"), cpu) is None


@pytest.mark.parametrize("batches", ["sorted", "packed"])
def test_a_run_in_bf16_learns_nearly_the_same(batches: str, corpus: Path, tmp_path: Path) -> None:
    losses = []
    for value in ("fp32", "bf16"):
        given = tiny_settings("transformer", corpus) | {
            "data.max_length": 20,
            "model.dropout": 0.0,
            "training.batches": batches,
            "training.precision": value,
            "training.max_steps": 6,
            "training.warmup": 1,
        }
        done = train(out=tmp_path / value, overrides=given, device="cpu")
        losses.append([event["loss"] for event in events_of(done.folder, "train")])
    assert losses[1] == pytest.approx(losses[0], rel=0.02)
    assert losses[0] != losses[1]


def test_adapters_are_not_shared_out() -> None:
    config = parse_config({"start": {"model": "m"}, "training": {"shard": True, "lora": 8}})
    with pytest.raises(ConfigError) as caught:
        check_possible(config, look_at_machine("cpu"), World(size=2))
    assert str(caught.value) == (
        "training.lora=8 and training.shard=true exclude each other\n"
        "  leave training.shard out: adapters take so little memory that nothing need be shared out"
    )
    for possible in ({"shard": True}, {"lora": 8}, {"optimizer": "sgd"}):
        check_possible(
            parse_config({"start": {"model": "m"}, "training": possible}),
            look_at_machine("cpu"),
            World(size=2),
        )


@pytest.mark.parametrize(
    ("grown", "frozen", "tables"), [(0, "", False), (5, "", True), (5, "embeddings", False)]
)
def test_beside_adapters_only_tables_that_have_grown_learn(
    trained: TrainedRun, *, grown: int, frozen: str, tables: bool
) -> None:
    config = trained.config
    config = replace(
        config,
        training=replace(config.training, lora=2, freeze=frozen),
        start=replace(config.start, model="m", extend_vocabulary=grown),
    )
    learner = make_learner(config, reopen(trained.folder / "data"), "cpu", None)
    learning = {name for name, weight in learner.model.named_parameters() if weight.requires_grad}
    assert any(table_side(name) for name in learning) is tables


def test_threads_are_those_asked_for_or_as_they_were() -> None:
    before = torch.get_num_threads()
    try:
        for asked, found in ((0, before), (before + 1, before + 1), (0, before)):
            tune_torch(parse_config({"training": {"threads": asked}}))
            assert torch.get_num_threads() == found
    finally:
        torch.set_num_threads(before)
