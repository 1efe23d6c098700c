"""What stands in for a kernel that does not run on this machine."""

import logging
from collections.abc import Callable
from typing import TypeVar

import torch

log = logging.getLogger("jumok")
R = TypeVar("R")


class Guard:
    """Calls kernels; one that failed is not tried again as long as this object lives."""

    def __init__(self) -> None:
        self.off: set[str] = set()

    def __call__(self, name: str, fast: Callable[[], R], slow: Callable[[], R]) -> R:
        """`fast()`; if the kernel of this name does not compile or start, a notice and from then on `slow()`.

        `fast` must leave nothing half written that `slow` reads. Out of memory is no fault of the kernel, and
        inside a CUDA graph nothing can be taken back: both are raised.
        """
        if name in self.off:
            return slow()
        try:
            return fast()
        except torch.OutOfMemoryError:
            raise
        except Exception as error:
            if torch.cuda.is_available() and torch.cuda.is_current_stream_capturing():
                raise
            self.off.add(name)
            first, *_ = (str(error).strip() or type(error).__name__).splitlines()
            log.warning(
                "the kernel %s does not run here (%s); plain torch does its work, slower", name, first
            )
            return slow()
