"""The C library gives all of its memory back, whether a call succeeds or is refused."""

import ctypes
import os
from dataclasses import replace

import pytest
from tests.native.calling import CONFIGS, SOURCES, Call, opened, parts_of, search

from jumok.native.library import BAD_ARGUMENT, OK, available, why_not
from jumok.native.model import c_config, c_tensors

pytestmark = pytest.mark.skipif(not available(), reason=why_not())


class MallInfo(ctypes.Structure):
    """`struct mallinfo2` of glibc."""

    NAMES = ("arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks", "uordblks", "fordblks")
    _fields_ = tuple((name, ctypes.c_size_t) for name in (*NAMES, "keepcost"))


def allocated() -> int:
    """Bytes that the process has from malloc."""
    function = ctypes.CDLL(None).mallinfo2
    function.restype = MallInfo
    info = function()
    return int(info.uordblks + info.hblkhd)


@pytest.mark.skipif(
    not hasattr(ctypes.CDLL(None), "mallinfo2") or "asan" in os.environ.get("LD_PRELOAD", ""),
    reason="needs glibc's own malloc",
)
@pytest.mark.parametrize("which", range(len(CONFIGS)))
@pytest.mark.parametrize(
    ("threads", "more"), [(1, 0), (2, 1 << 15)]
)  # a thread of the pool keeps some memory
def test_memory_is_given_back(which: int, threads: int, more: int) -> None:
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

    for _ in range(30):
        work()
    before, rounds = allocated(), 100
    for _ in range(rounds):
        work()
    assert allocated() - before < 24 * rounds + more  # less than one block of memory a round
