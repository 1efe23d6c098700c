"""The floor under a decoder step: what memory and the int8 units of this machine allow, measured in this run.

    floor = max(bytes of weights / read bandwidth, operations / int8 peak)

The encoder and the keys and values for cross-attention count too, spread over the steps of an answer. No
program can be faster that reads its weights once a step; caches, attention and norms are not counted.
"""

import ctypes
import shutil
import subprocess
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

import numpy as np

from cpu_peers.task import Size

SOURCE = Path(__file__).with_suffix(".c")
BYTES = 512 << 20
ROUNDS = 16_000_000
PARTS = 8  # short ones: what else the machine does falls between them


@dataclass(frozen=True)
class Machine:
    """For one thread count."""

    threads: int
    bytes_per_second: float
    operations_per_second: float  # int8; 0 where it is not known


def measure(threads: list[int], repeats: int = 5, bytes_: int = BYTES) -> list[Machine]:
    """Best of some repeats, for each number of threads; none without a C compiler."""
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        return []
    with TemporaryDirectory() as scratch:
        built = Path(scratch) / "floor.so"
        options = ["-O3", "-march=native", "-shared", "-fPIC", "-o", str(built), str(SOURCE)]
        if subprocess.run([compiler, *options], check=False, capture_output=True).returncode:
            return []
        c = ctypes.CDLL(str(built))
        c.read_all.restype = c.multiply.restype = ctypes.c_uint64
        c.read_all.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
        c.multiply.argtypes = [ctypes.c_uint64, ctypes.c_void_p]
        words = np.arange(bytes_ // 8, dtype=np.uint64)
        return [
            Machine(n, best_read(c, words, n, repeats), best_peak(c, n, repeats, bytes_)) for n in threads
        ]


def best_read(c: ctypes.CDLL, words: np.ndarray, threads: int, repeats: int) -> float:
    """Bytes a second. A part is read again after all others, so no cache has it."""
    share = len(words) // PARTS // threads

    def read(part: int, n: int) -> None:
        c.read_all(words.ctypes.data + 8 * (part * threads + n) * share, share)

    return 8 * share * threads / best(read, threads, repeats)


def best_peak(c: ctypes.CDLL, threads: int, repeats: int, bytes_: int) -> float:
    """Operations a second."""
    rounds, done = ROUNDS * bytes_ // BYTES // PARTS, [0] * threads

    def multiply(part: int, n: int) -> None:
        out = ctypes.c_int32(5)
        done[n] = c.multiply(rounds, ctypes.byref(out))

    seconds = best(multiply, threads, repeats)
    return sum(done) / seconds


def best(call: Callable[[int, int], None], threads: int, repeats: int) -> float:
    """Seconds for all threads to do one part, the least of all parts; ctypes lets go of Python's lock."""
    found = []
    with ThreadPoolExecutor(threads) as pool:
        for part in [*range(PARTS)] * repeats:
            began = perf_counter()
            list(pool.map(partial(call, part), range(threads)))
            found.append(perf_counter() - began)
    return min(found)


def count(size: Size, length: int, batch: int, beam: int, new: int) -> tuple[float, float]:
    """Bytes and operations of one decoder step of a batch, with its share of what is done once."""
    D, F = size.width, size.feedforward
    step = size.decoder_layers * (6 * D * D + 2 * D * F) + size.vocabulary * D  # weights a new token passes
    once = size.encoder_layers * (4 * D * D + 2 * D * F) + size.decoder_layers * 2 * D * D  # a source token
    operations = 2 * batch * (beam * step + length * once / new)
    return step + once / new, operations


def floor_ms(machine: Machine, size: Size, length: int, batch: int, beam: int, new: int) -> float:
    """Milliseconds of a step of one batch if all threads work on it together, or on as many batches."""
    bytes_, operations = count(size, length, batch, beam, new)
    seconds = bytes_ / machine.bytes_per_second
    if machine.operations_per_second:
        seconds = max(seconds, operations / machine.operations_per_second)
    return 1e3 * seconds
