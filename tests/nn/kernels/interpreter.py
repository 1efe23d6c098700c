"""Where kernels run in tests: on a GPU, or in Triton's interpreter, chosen before Triton loads."""

import os
import subprocess
import sys
from importlib.util import find_spec

import pytest
import torch
from torch import Tensor

INTERPRETED = os.environ.get("TRITON_INTERPRET") == "1"
DEVICE = "cuda" if torch.cuda.is_available() and not INTERPRETED else "cpu"
TOLERANCE = {torch.float32: 1e-5, torch.bfloat16: 2e-2}

needs_triton = pytest.mark.skipif(find_spec("triton") is None, reason="needs Triton")
starts_it = pytest.mark.skipif(
    INTERPRETED or find_spec("triton") is None, reason="starts Triton's interpreter, once"
)
runs_kernels = pytest.mark.skipif(
    find_spec("triton") is None or (DEVICE == "cpu" and not INTERPRETED),
    reason="needs Triton and a GPU; a test that starts the interpreter runs it there",
)


def pass_when_interpreted(*files: str) -> None:
    """All tests of these files pass in Triton's interpreter, in a process of their own."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:randomly", "-p", "no:xdist", *files]
    environment = os.environ | {"TRITON_INTERPRET": "1", "OMP_NUM_THREADS": "1"}
    run = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=280)
    assert run.returncode == 0, run.stdout + run.stderr
    assert "passed" in run.stdout


def leaf(*shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
    return torch.randn(*shape).to(DEVICE, dtype).requires_grad_()


def check_close(actual: Tensor | None, wanted: Tensor, dtype: torch.dtype) -> None:
    """Equal up to the accuracy of the type, beside the largest number."""
    assert actual is not None
    bound, wanted = TOLERANCE[dtype], wanted.detach().double()
    largest = max(1.0, float(wanted.abs().max()))
    torch.testing.assert_close(actual.detach().double(), wanted, rtol=bound, atol=bound * largest)
