"""The kernels against their twin under a mask, on a GPU, or without one in Triton's interpreter.

The interpreter must be chosen before anything imports Triton, so it runs this very file in a process of its
own.
"""

import os
import subprocess
import sys
from importlib.util import find_spec
from typing import Any

import pytest
import torch
from torch import Tensor

from jumok.nn.beams import twin_past, twin_source
from jumok.nn.functional import split_heads

INTERPRETED = os.environ.get("TRITON_INTERPRET") == "1"
DEVICE = "cuda" if torch.cuda.is_available() and not INTERPRETED else "cpu"
TOLERANCE = {torch.float32: 1e-5, torch.bfloat16: 3e-2}
needs_triton = pytest.mark.skipif(find_spec("triton") is None, reason="needs Triton")
here = pytest.mark.skipif(not INTERPRETED and DEVICE == "cpu", reason="needs the interpreter or a GPU")
types = [torch.float32] if INTERPRETED else [torch.float32, torch.bfloat16]  # it cannot multiply bfloat16


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
def test_the_kernels_agree_with_their_twin_in_tritons_interpreter() -> None:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:randomly", "-p", "no:xdist", __file__]
    environment = os.environ | {"TRITON_INTERPRET": "1", "OMP_NUM_THREADS": "1"}
    run = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=280)
    assert run.returncode == 0, run.stdout + run.stderr
    assert "passed" in run.stdout


def random(*shape: int, dtype: torch.dtype, seed: int) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed)).to(DEVICE, dtype)


@here
@needs_triton
@pytest.mark.parametrize("dtype", types)
@pytest.mark.parametrize(("W", "K", "place"), [(5, 64, 0), (5, 16, 15), (3, 32, 31), (1, 16, 7), (17, 16, 9)])
def test_beams_see_their_ancestors_and_leave_their_keys(
    W: int, K: int, place: int, dtype: torch.dtype
) -> None:
    from jumok.nn.kernels.beams import attend_past

    B, H, T, N = 3, 2, 32, 2
    qkv = random(B, W, 3 * H * K, dtype=dtype, seed=0)
    query, key, value = (split_heads(part, H) for part in qkv.chunk(3, dim=2))
    past = random(2, B, N, H, T * W, K, dtype=dtype, seed=1)
    own, other = ((one[0][:, 1], one[1][:, 1]) for one in (past, past.clone()))  # the second layer
    ancestors = torch.randint(W, (B, W, T), generator=torch.Generator().manual_seed(2)).to(DEVICE, torch.int8)
    ancestors[:, :, place:] = -1
    now = torch.tensor([place], device=DEVICE)
    expected = twin_past(query, (key, value), own, ancestors, now, places=T)
    found = attend_past(query, (key, value), other, ancestors, now)
    torch.testing.assert_close(found, expected, atol=TOLERANCE[dtype], rtol=TOLERANCE[dtype])
    assert all(torch.equal(one, two) for one, two in zip(own, other, strict=True))


@here
@needs_triton
def test_keys_with_other_strides_than_the_query_are_taken() -> None:
    from jumok.nn.kernels.beams import attend_past

    B, H, W, K, T = 2, 2, 4, 16, 8
    query, key, value = (random(B, H, W, K, dtype=torch.float32, seed=n) for n in range(3))
    past = random(2, B, H, T * W, K, dtype=torch.float32, seed=3)
    ancestors = torch.zeros(B, W, T, dtype=torch.int8, device=DEVICE)
    ancestors[:, :, 2:] = -1
    now = torch.tensor([2], device=DEVICE)
    expected = twin_past(query, (key, value), tuple(past.clone()), ancestors, now, places=T)
    turned = key.transpose(1, 2).contiguous().transpose(1, 2)
    torch.testing.assert_close(attend_past(query, (turned, value), tuple(past), ancestors, now), expected)


@here
@needs_triton
@pytest.mark.parametrize("dtype", types)
@pytest.mark.parametrize(("W", "K", "S"), [(5, 64, 80), (1, 16, 3), (2, 128, 65)])
def test_beams_read_the_real_tokens_of_their_source(W: int, K: int, S: int, dtype: torch.dtype) -> None:
    from jumok.nn.kernels.beams import attend_source

    B, H = 4, 2
    query = split_heads(random(B, W, H * K, dtype=dtype, seed=0), H)
    keys, values = random(2, B, H, S, K, dtype=dtype, seed=1)
    lengths = torch.tensor([1, S, S - 1, 2], device=DEVICE)
    expected = twin_source(query, (keys, values), lengths)
    for row, length in enumerate(lengths.tolist()):
        keys[row, :, length:] = torch.nan  # padding is not even read
        values[row, :, length:] = torch.nan
    found = attend_source(query, (keys, values), lengths)
    torch.testing.assert_close(found, expected, atol=TOLERANCE[dtype], rtol=TOLERANCE[dtype])
