"""Triton kernels, each with a plain torch twin; nothing here imports Triton before a kernel is called."""

import logging
from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from typing import TypeVar

import torch
from torch import Tensor

log = logging.getLogger("jumok")
R = TypeVar("R")
_off: set[str] = set()  # kernels that failed once in this process


@cache
def _has_triton() -> bool:
    """Asked only where there is a GPU: without Triton one notice."""
    found = find_spec("triton") is not None
    if not found:
        log.warning("Triton is not installed: plain torch does the work of our kernels, slower")
    return found


def available(x: Tensor) -> bool:
    """Can a kernel take this tensor: is it on a CUDA device, with Triton installed?"""
    return x.is_cuda and _has_triton()


def guarded(name: str, fast: Callable[[], R], slow: Callable[[], R]) -> R:
    """`fast()`; if the kernel of this name does not compile or start, one notice and from then on `slow()`.

    `fast` must leave nothing half written that `slow` reads. Out of memory is no fault of the kernel, and
    inside a CUDA graph nothing can be taken back: both are raised.
    """
    if name in _off:
        return slow()
    try:
        return fast()
    except torch.OutOfMemoryError:
        raise
    except Exception as error:
        if torch.cuda.is_available() and torch.cuda.is_current_stream_capturing():
            raise
        _off.add(name)
        first, *_ = (str(error).strip() or type(error).__name__).splitlines()
        log.warning("the kernel %s does not run here (%s); plain torch does its work, slower", name, first)
        return slow()
