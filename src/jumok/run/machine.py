"""What this machine can do: cores, memory, GPU, native bf16, and how fast it multiplies."""

import os
import time
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from jumok.backends.products import Multiply, choose_product, has_products
from jumok.decoding.opening import check_device
from jumok.errors import ConfigError
from jumok.systems import memory_size

BF16_SINCE = (8, 0)  # compute capability of the first GPUs that compute bf16 themselves
FP8_SINCE = (9, 0)  # and of those that our kernels for fp8 are written for
DRIVER = Path("/proc/driver/nvidia/version")
INSTALL = "install a CUDA build of torch (pytorch.org shows the command for your system)"


@dataclass(frozen=True)
class Machine:
    """The device a run will use, in figures."""

    device: str  # "cpu" or "cuda"
    name: str
    cores: int
    memory: int  # bytes of the device
    bf16: bool  # computes bf16 natively
    gflops: float  # measured in the type that training will use: fp32 on a CPU, bf16 on a GPU that has it
    processes: int = 1  # that share an update, one on each device
    gain: float = 1.0  # how many times as fast a CPU's products are with factors in bf16, measured
    fp8: bool = False  # has what our kernels for fp8 need

    @property
    def gpu(self) -> bool:
        return self.device.startswith("cuda")


def look_at_machine(device: str | None = None) -> Machine:
    """The best device here unless told, with a short measurement of its speed."""
    if device is not None and device.split(":")[0] == "cuda":
        check_gpu(device)
    chosen = check_device(device)
    if chosen.startswith("cuda"):
        properties = torch.cuda.get_device_properties(chosen)
        since = properties.major, properties.minor
        bf16, fp8 = since >= BF16_SINCE, since >= FP8_SINCE
        speed = measure_gflops(chosen, torch.bfloat16 if bf16 else torch.float32)
        return Machine(chosen, properties.name, cores(), properties.total_memory, bf16, speed, fp8=fp8)
    memory = memory_size()
    speed, gain = measure_gflops("cpu"), measure_gain()
    return Machine("cpu", "CPU", cores(), memory, cpu_has_bf16(), speed, gain=gain)


def check_gpu(device: str) -> None:
    """Refuse a GPU that is not there, saying what is there and what is missing."""
    count = torch.cuda.device_count() if torch.cuda.is_available() else 0
    number = device.partition(":")[2] or "0"
    if number.isdecimal() and int(number) < count:
        return
    there = [f"cuda:{i} ({torch.cuda.get_device_name(i)})" for i in range(count)]
    missing = "" if count else missing_for_gpu(str(torch.__version__), torch.version.cuda, DRIVER.exists())
    hint = "\n  ".join(part for part in (f"this machine has: {', '.join(['cpu', *there])}", missing) if part)
    raise ConfigError(f"device {device!r} is not available", hint=hint, code="no_device")


def missing_for_gpu(torch_version: str, cuda: str | None, driver: bool) -> str:  # noqa: FBT001
    """What keeps torch from seeing a GPU, and what to do about it."""
    if cuda is None and driver:
        return f"there is an NVIDIA driver, but torch {torch_version} was built without CUDA: {INSTALL}"
    if cuda is None:
        return (
            f"torch {torch_version} was built without CUDA, and no NVIDIA driver was found: "
            f"install a driver (nvidia-smi then lists the GPU), then {INSTALL}"
        )
    if not driver:
        return (
            f"torch {torch_version} has CUDA {cuda}, but no NVIDIA driver was found: "
            "install one; nvidia-smi then lists the GPU (in a container, start it with --gpus all)"
        )
    return (
        f"torch {torch_version} has CUDA {cuda} and a driver is there, but they do not work together: "
        "look at nvidia-smi and at CUDA_VISIBLE_DEVICES; an old driver needs an update"
    )


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


def measure_gflops(device: str, dtype: torch.dtype = torch.float32, seconds: float = 0.15) -> float:
    """Billions of operations per second in a matrix product of a typical layer."""
    n, at_once = (512, 1) if device == "cpu" else (4096, 20)
    a, b = (torch.randn(n, n, device=device).to(dtype) for _ in range(2))

    def multiply() -> None:
        for _ in range(at_once):
            product = a @ b
        product[0, 0].item()  # waits for the device

    multiply()  # wakes threads and libraries
    began, rounds = time.perf_counter(), 0
    while time.perf_counter() - began < seconds:
        multiply()
        rounds += at_once
    return 2 * n**3 * rounds / (time.perf_counter() - began) / 1e9


def measure_gain(seconds: float = 0.03) -> float:
    """How many times as fast one thread multiplies a typical layer in bf16 as in fp32; 1 where it cannot."""
    if not has_products(bf16=True):
        return 1.0
    x, weight = torch.randn(512, 256), torch.randn(1024, 256).t()
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        rates = [rate_of(choose_product(bf16=bf16), x, weight, seconds) for bf16 in (False, True)]
    finally:
        torch.set_num_threads(threads)
    return rates[1] / rates[0]


def rate_of(multiply: Multiply, a: Tensor, b: Tensor, seconds: float) -> float:
    """Products a second of this thread's own time, which other programs do not use up."""
    multiply(a, b)
    began, rounds = time.thread_time(), 0
    while time.thread_time() - began < seconds:
        multiply(a, b)
        rounds += 1
    return rounds / (time.thread_time() - began)
