"""What this machine can do: cores, memory, GPU, native bf16, and how fast it multiplies."""

import os
import time
from dataclasses import dataclass
from pathlib import Path

import torch

from jumok.decoding.translator import check_device


@dataclass(frozen=True)
class Machine:
    """The device a run will use, in figures."""

    device: str  # "cpu" or "cuda"
    name: str
    cores: int
    memory: int  # bytes of the device
    bf16: bool  # computes bf16 natively
    gflops: float  # measured, fp32 on a CPU


def look_at_machine(device: str | None = None) -> Machine:
    """The best device here unless told, with a short measurement of its speed."""
    chosen = check_device(device)
    if chosen.startswith("cuda"):
        properties = torch.cuda.get_device_properties(chosen)
        bf16 = torch.cuda.is_bf16_supported(including_emulation=False)
        return Machine(
            chosen, properties.name, cores(), properties.total_memory, bf16, measure_gflops(chosen)
        )
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return Machine("cpu", "CPU", cores(), memory, cpu_has_bf16(), measure_gflops("cpu"))


def cores() -> int:
    """Cores this process may use, containers and affinity respected."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def cpu_has_bf16(cpuinfo: Path = Path("/proc/cpuinfo")) -> bool:
    """Whether bf16 products are instructions here; emulated ones are slower than fp32."""
    try:
        return "avx512_bf16" in cpuinfo.read_text(encoding="utf-8") or "amx_bf16" in cpuinfo.read_text(
            "utf-8"
        )
    except OSError:
        return False


def measure_gflops(device: str, seconds: float = 0.15) -> float:
    """Billions of operations per second in a matrix product of a typical layer."""
    n = 512 if device == "cpu" else 4096
    a, b = torch.randn(n, n, device=device), torch.randn(n, n, device=device)
    (a @ b).sum().item()  # wakes threads and libraries
    began, rounds = time.perf_counter(), 0
    while time.perf_counter() - began < seconds:
        (a @ b).sum().item()
        rounds += 1
    return 2 * n**3 * rounds / (time.perf_counter() - began) / 1e9
