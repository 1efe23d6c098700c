"""Which back end a run or a translator computes with, chosen once when it is opened."""

import logging
from importlib.util import find_spec

import torch

from jumok.backends.c_ops import is_available
from jumok.backends.native import NativeBackend
from jumok.backends.torch import TorchBackend
from jumok.backends.triton.backend import TritonBackend

log = logging.getLogger("jumok")


def choose_backend(
    device: torch.device | str, dtype: torch.dtype = torch.float32, *, precision: str = "fp32"
) -> TorchBackend:
    """The fastest one for weights of this type on this device, with the products of this precision.

    A CPU rounds their factors to bf16, a GPU to fp8; all else is decided by the type of what is multiplied.
    """
    kind = torch.device(device).type
    if kind == "cuda" and find_spec("triton") is not None:
        return TritonBackend(eight=precision == "fp8")
    if kind == "cuda":
        log.warning("Triton is not installed: plain torch does the work of our kernels, slower")
    if kind == "cpu" and dtype == torch.float32 and is_available():
        return NativeBackend(bf16=precision == "bf16")
    return TorchBackend()
