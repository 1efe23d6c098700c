"""What the machine says about itself."""

import os
from pathlib import Path

import pytest
import torch

from jumok.errors import ConfigError
from jumok.run.machine import cores, cpu_has_bf16, look_at_machine, measure_gflops


def test_the_cpu_in_figures() -> None:
    machine = look_at_machine("cpu")
    assert (machine.device, machine.name, machine.cores) == ("cpu", "CPU", cores())
    assert machine.memory > 2**28
    assert machine.gflops > 0.1
    assert machine.bf16 == cpu_has_bf16()


def test_without_a_wish_the_best_device() -> None:
    assert look_at_machine().device == ("cuda" if torch.cuda.is_available() else "cpu")


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="this system has no affinity")
def test_only_cores_that_this_process_may_use_count() -> None:
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(allowed)})
    try:
        assert cores() == 1
    finally:
        os.sched_setaffinity(0, allowed)
    assert cores() == len(allowed)


def test_an_unknown_device_is_refused_rather_than_replaced() -> None:
    with pytest.raises(ConfigError, match="device 'abacus' is not available\n  "):
        look_at_machine("abacus")


@pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has a GPU")
def test_a_gpu_that_is_not_there() -> None:
    with pytest.raises(ConfigError, match="device 'cuda' is not available\n  this machine has: cpu"):
        look_at_machine("cuda")


def test_bf16_is_used_only_where_it_is_an_instruction(tmp_path: Path) -> None:
    for flags, native in (
        ("fpu avx2 avx512f", False),
        ("fpu avx512_bf16 x", True),
        ("amx_bf16 amx_tile", True),
    ):
        (tmp_path / "cpuinfo").write_text(f"processor: 0\nflags: {flags}\n")
        assert cpu_has_bf16(tmp_path / "cpuinfo") is native
    assert cpu_has_bf16(tmp_path / "no such file") is False


def test_speed_is_measured_in_the_time_given() -> None:
    assert measure_gflops("cpu", seconds=0.01) > 0.1
