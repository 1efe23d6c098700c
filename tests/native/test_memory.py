"""The C library gives all of its memory back, whether a call succeeds or is refused."""

import ctypes
import gc
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
    """Bytes that the process has from malloc, what Python is done with left out."""
    gc.collect()
    function = ctypes.CDLL(None).mallinfo2
    function.restype = MallInfo
    info = function()
    return int(info.uordblks + info.hblkhd)


@pytest.mark.skipif(
    not hasattr(ctypes.CDLL(None), "mallinfo2") or "asan" in os.environ.get("LD_PRELOAD", ""),
    reason="needs glibc's own malloc",
)
@pytest.mark.parametrize("which", range(len(CONFIGS)))
@pytest.mark.parametrize("threads", [1, 2])
def test_memory_is_given_back(which: int, threads: int) -> None:
    """What is lost is lost in every round; Python and the threads of the pool take some now and then."""
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

    gc.freeze()  # what is there already need not be looked at again
    try:
        assert any(growth(50) < 40 * 50 for _ in range(20))
    finally:
        gc.unfreeze()
