"""What the machine says about itself."""

import os
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest
import torch

from jumok.errors import ConfigError
from jumok.run import machine
from jumok.run.machine import (
    Machine,
    check_gpu,
    cores,
    cpu_has_bf16,
    look_at_machine,
    measure_gain,
    measure_gflops,
    missing_for_gpu,
    rate_of,
)

if TYPE_CHECKING:
    from jumok.backends.products import Multiply


def test_the_cpu_in_figures() -> None:
    here = look_at_machine("cpu")
    assert (here.device, here.name, here.cores) == ("cpu", "CPU", cores())
    assert here.memory > 2**28
    assert here.gflops > 0.1
    assert here.bf16 == cpu_has_bf16()
    assert not here.fp8


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
@pytest.mark.parametrize("device", ["cuda", "cuda:1", "cuda:x"])
def test_a_gpu_that_is_not_there(device: str) -> None:
    with pytest.raises(
        ConfigError, match=f"device '{device}' is not available\n  this machine has: cpu\n  "
    ) as caught:
        look_at_machine(device)
    assert caught.value.code == "no_device"
    assert str(torch.__version__) in caught.value.hint


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")
def test_a_second_gpu_that_is_not_there() -> None:
    with pytest.raises(
        ConfigError, match=r"device 'cuda:99' is not available\n  this machine has: cpu, cuda:0 \("
    ):
        look_at_machine("cuda:99")


@pytest.mark.parametrize(
    ("cuda", "driver", "says"),
    [
        (
            None,
            True,
            "there is an NVIDIA driver, but torch 2.13 was built without CUDA: install a CUDA build of torch",
        ),
        (None, False, "torch 2.13 was built without CUDA, and no NVIDIA driver was found: install a driver"),
        ("12.8", False, "torch 2.13 has CUDA 12.8, but no NVIDIA driver was found: install one"),
        ("12.8", True, "torch 2.13 has CUDA 12.8 and a driver is there, but they do not work together"),
    ],
)
def test_what_is_missing_is_named(cuda: str | None, driver: bool, says: str) -> None:  # noqa: FBT001
    assert missing_for_gpu("2.13", cuda, driver).startswith(says)


def test_a_gpu_has_one_of_many_names() -> None:
    names = {"cpu": False, "cuda": True, "cuda:1": True}
    for device, gpu in names.items():
        assert Machine(device, "", 1, 1, bf16=False, gflops=1.0).gpu is gpu


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
    assert measure_gflops("cpu", torch.bfloat16, seconds=0.01) > 0


def test_the_gain_of_bf16_is_measured_where_there_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    threads = torch.get_num_threads()
    assert measure_gain(0.001) > 0
    assert torch.get_num_threads() == threads
    monkeypatch.setattr("jumok.run.machine.has_products", lambda *, bf16: False)
    assert measure_gain() == 1.0


def test_the_gain_of_bf16_is_that_of_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many the machine has: others would measure the memory."""
    monkeypatch.setattr("jumok.run.machine.has_products", lambda *, bf16: True)
    monkeypatch.setattr("jumok.run.machine.choose_product", lambda *, bf16: bf16)
    seen, before = list[tuple[object, int]](), torch.get_num_threads()

    def rate(product: object, *_: object) -> float:
        seen.append((product, torch.get_num_threads()))
        return 3.0 if product else 2.0

    monkeypatch.setattr("jumok.run.machine.rate_of", rate)
    torch.set_num_threads(2)
    try:
        assert measure_gain() == 1.5
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)
    assert seen == [(False, 1), (True, 1)]


@pytest.mark.parametrize(
    ("capability", "bf16", "fp8"),
    [((7, 5), False, False), ((8, 0), True, False), ((8, 9), True, False), ((9, 0), True, True)],
)
def test_what_a_gpu_computes_follows_from_its_capability(
    capability: tuple[int, int], monkeypatch: pytest.MonkeyPatch, *, bf16: bool, fp8: bool
) -> None:
    major, minor = capability
    found = SimpleNamespace(major=major, minor=minor, name="a GPU", total_memory=2**34)
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda _: found)
    monkeypatch.setattr(machine, "check_device", lambda _: "cuda")
    monkeypatch.setattr(machine, "measure_gflops", lambda *_: 1.0)
    seen = look_at_machine()
    assert (seen.bf16, seen.fp8) == (bf16, fp8)


def test_gpus_that_are_there_are_counted_and_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda place: f"Model {place}")
    for device in ("cuda", "cuda:0", "cuda:1"):
        check_gpu(device)
    there = r"this machine has: cpu, cuda:0 \(Model 0\), cuda:1 \(Model 1\)$"
    with pytest.raises(ConfigError, match=f"device 'cuda:2' is not available\n  {there}"):
        check_gpu("cuda:2")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(ConfigError, match="this machine has: cpu\n"):
        check_gpu("cuda:1")


def test_speed_is_operations_by_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Eight products of 512 × 512, each 2 · 512³ operations, in two seconds by the clock of the test."""
    now = iter([10.0, *(10.0 + n / 4 for n in range(9)), 12.0])
    monkeypatch.setattr(machine, "time", SimpleNamespace(perf_counter=lambda: next(now)))
    assert measure_gflops("cpu", seconds=2.0) == pytest.approx(8 * 2 * 512**3 / 2 / 1e9)
    assert next(now, None) is None


def test_a_rate_is_products_by_seconds_of_the_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first product, which wakes the library, does not count."""
    now, made = iter([5.0, 5.0, 5.5, 6.0, 6.5]), []
    monkeypatch.setattr(machine, "time", SimpleNamespace(thread_time=lambda: next(now)))
    one = torch.zeros(1)

    def multiply(a: torch.Tensor, _: torch.Tensor, **options: Any) -> torch.Tensor:
        made.append(a)
        return a

    assert rate_of(cast("Multiply", multiply), one, one, 1.0) == 2 / 1.5
    assert len(made) == 3


def test_a_gpu_in_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    found = SimpleNamespace(major=7, minor=5, name="a GPU", total_memory=2**34)
    asked: list[object] = []
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda _: found)
    monkeypatch.setattr(machine, "check_gpu", asked.append)
    monkeypatch.setattr(machine, "check_device", lambda device: device)
    monkeypatch.setattr(machine, "measure_gflops", lambda *given: (asked.append(given), 7.0)[1])  # type: ignore[func-returns-value]
    seen = look_at_machine("cuda:1")
    assert seen == Machine("cuda:1", "a GPU", cores(), 2**34, bf16=False, gflops=7.0)
    found.major = 8
    look_at_machine("cuda:1")
    assert asked == ["cuda:1", ("cuda:1", torch.float32), "cuda:1", ("cuda:1", torch.bfloat16)]


def test_without_affinity_all_cores_count_and_one_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    for counted, found in ((3, 3), (None, 1)):
        monkeypatch.setattr(os, "cpu_count", lambda counted=counted: counted)
        assert cores() == found
