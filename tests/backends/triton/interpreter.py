"""Where kernels run in tests: on a GPU, or in Triton's interpreter, chosen before Triton loads."""

import os
from collections.abc import Callable
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
    reason="needs Triton and a GPU; test_guard.py starts the interpreter",
)


def leaf(*shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
    return torch.randn(*shape).to(DEVICE, dtype).requires_grad_()


def check_close(actual: Tensor | None, wanted: Tensor, dtype: torch.dtype) -> None:
    """Equal up to the accuracy of the type, beside the largest number."""
    assert actual is not None
    bound, wanted = TOLERANCE[dtype], wanted.detach().double()
    largest = max(1.0, float(wanted.abs().max()))
    torch.testing.assert_close(actual.detach().double(), wanted, rtol=bound, atol=bound * largest)


def captured(call: Callable[[], tuple[Tensor, ...]]) -> tuple[torch.cuda.CUDAGraph, tuple[Tensor, ...]]:
    """A call as a graph, and the tensors that a replay writes to.

    It is warmed up and captured on one stream of its own: what a warm-up leaves behind for autograd belongs
    to the stream it ran on, and a capture that waits for the default stream is refused. All work is waited
    for before and after, so that a capture that fails spoils no later test.
    """
    stream = torch.cuda.Stream()  # type: ignore[no-untyped-call]
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(2):  # kernels are compiled, libraries choose their ways
            call()
    torch.cuda.current_stream().wait_stream(stream)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    try:
        with torch.cuda.graph(graph, stream=stream):
            found = call()
    finally:
        torch.cuda.synchronize()
    return graph, found
