"""The kernel against torch, on a GPU, or without one in Triton's interpreter, in a process of its own."""

import os
import subprocess
import sys
from importlib.util import find_spec
from typing import Any

import pytest
import torch

INTERPRETED = os.environ.get("TRITON_INTERPRET") == "1"
DEVICE = "cuda" if torch.cuda.is_available() and not INTERPRETED else "cpu"
needs_triton = pytest.mark.skipif(find_spec("triton") is None, reason="needs Triton")


@pytest.fixture(autouse=True)
def mended(monkeypatch: pytest.MonkeyPatch) -> None:
    """The interpreter of Triton 3.6 makes an int of array([n]), which NumPy 2.4 forbids."""
    if not INTERPRETED:
        return
    from triton.runtime import interpreter  # type: ignore[import-untyped]

    patch = interpreter._patch_lang_tensor

    def patched(tensor: Any, scope: Any) -> None:
        patch(tensor, scope)
        scope.set_attr(tensor, "__index__", lambda self: int(self.handle.data.item()))

    monkeypatch.setattr(interpreter, "_patch_lang_tensor", patched)


@needs_triton
@pytest.mark.skipif(INTERPRETED, reason="is the interpreter already")
def test_the_kernel_agrees_with_torch_in_tritons_interpreter() -> None:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:randomly", "-p", "no:xdist", __file__]
    environment = os.environ | {"TRITON_INTERPRET": "1", "OMP_NUM_THREADS": "1"}
    run = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=280)
    assert run.returncode == 0, run.stdout + run.stderr
    assert "passed" in run.stdout


@needs_triton
@pytest.mark.skipif(not INTERPRETED and DEVICE == "cpu", reason="needs the interpreter or a GPU")
@pytest.mark.parametrize("vocabulary", [300, 4096, 9001])
def test_every_chunk_has_its_peak_and_every_row_its_sum(vocabulary: int) -> None:
    from jumok.nn.kernels.peaks import find_peaks

    logits = torch.randn(5, vocabulary, generator=torch.Generator().manual_seed(0)).to(DEVICE) * 9
    logits[1] += 200
    logits[2, 7] = torch.nan
    shift, peaks = find_peaks(logits, 64)
    torch.testing.assert_close(shift[:, 0], logits.logsumexp(dim=1), equal_nan=True)
    for row in (0, 1, 3, 4):
        assert peaks[row].tolist() == [chunk.max().item() for chunk in logits[row].split(64)]
