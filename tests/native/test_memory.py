"""The C library gives all of its memory back, whether a call succeeds or is refused."""

import ctypes
import gc
import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from tests.native.calling import CONFIGS, SOURCES, Call, opened, parts_of, search

from jumok.native.library import BAD_ARGUMENT, OK, available, why_not
from jumok.native.structs import c_config, c_tensors

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.skipif(not available(), reason=why_not())


class MallInfo(ctypes.Structure):
    """`struct mallinfo2` of glibc."""

    NAMES = ("arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks", "uordblks", "fordblks")
    _fields_ = tuple((name, ctypes.c_size_t) for name in (*NAMES, "keepcost"))


def allocated() -> int:
    """Bytes that the process has from malloc, what Python is done with left out."""
    gc.collect()
    function = ctypes.CDLL(None).mallinfo2
    function.restype = MallInfo
    info = function()
    return int(info.uordblks + info.hblkhd)


def growths(which: int, threads: int) -> list[int]:
    """By how much memory grows in several times fifty rounds."""
    tensors = c_tensors(parts_of(which, 277, "int8"))
    config = c_config(CONFIGS[which], SOURCES, 277)
    wrong = c_config(CONFIGS[which], SOURCES, 277)
    call = Call([[5, 2], [6, 7, 2], [2]], [4, 5, 3], options={"threads": threads, "rows": 2, "beam": 3})

    def work() -> None:
        with opened(config, tensors) as handle:
            assert search(handle, call)[0] == OK
            assert search(handle, replace(call, limits=[4, 0, 3]))[0] == BAD_ARGUMENT
        with opened(config, tensors[:-1]) as handle:
            assert handle is None
        wrong.encoder_layers = 1000
        with opened(wrong, tensors) as handle:
            assert handle is None

    def growth(rounds: int) -> int:
        before = allocated()
        for _ in range(rounds):
            work()
        return allocated() - before

    return [growth(50) for _ in range(8)]


@pytest.mark.skipif(
    not hasattr(ctypes.CDLL(None), "mallinfo2") or "asan" in os.environ.get("LD_PRELOAD", ""),
    reason="needs glibc's own malloc",
)
@pytest.mark.parametrize("threads", [1, 2])
def test_memory_is_given_back(threads: int) -> None:
    """What is lost is lost in every round; Python and the threads of the pool take some now and then.

    In a process of its own: threads of other tests keep what they freed for themselves.
    """
    script = (
        "import json; from tests.native.test_memory import CONFIGS, growths; "
        f"print(json.dumps([growths(which, {threads}) for which in range(len(CONFIGS))]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False, cwd=ROOT, timeout=120
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert len(found) == len(CONFIGS)
    for which, grown in enumerate(found):
        assert min(grown) < 40 * 50, (which, grown)
