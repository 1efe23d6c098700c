"""Where kernels run in tests: on a GPU, or in Triton's interpreter, chosen before Triton loads."""

import os
from importlib.util import find_spec

import pytest
import torch
from torch import Tensor

INTERPRETED = os.environ.get("TRITON_INTERPRET") == "1"
DEVICE = "cuda" if torch.cuda.is_available() and not INTERPRETED else "cpu"
TOLERANCE = {torch.float32: 1e-5, torch.bfloat16: 2e-2}

needs_triton = pytest.mark.skipif(find_spec("triton") is None, reason="needs Triton")
runs_kernels = pytest.mark.skipif(
    find_spec("triton") is None or (DEVICE == "cpu" and not INTERPRETED),
    reason="needs Triton and a GPU; test_kernels.py starts the interpreter",
)


def leaf(*shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
    return torch.randn(*shape).to(DEVICE, dtype).requires_grad_()


def check_close(actual: Tensor | None, wanted: Tensor, dtype: torch.dtype) -> None:
    """Equal up to the accuracy of the type, beside the largest number."""
    assert actual is not None
    bound, wanted = TOLERANCE[dtype], wanted.detach().double()
    largest = max(1.0, float(wanted.abs().max()))
    torch.testing.assert_close(actual.detach().double(), wanted, rtol=bound, atol=bound * largest)
