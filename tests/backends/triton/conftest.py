"""What the interpreter of Triton needs to run our kernels."""

from typing import Any

import numpy as np
import pytest
import torch
from tests.backends.triton.interpreter import INTERPRETED

from jumok.backends.eight import BACKWARD, FORWARD, to_eight


@pytest.fixture(autouse=True)
def mended(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three faults of the interpreter of Triton 3.6, mended.

    It makes an int of array([n]), which NumPy 2.4 forbids, multiplies the bits of bfloat16 as integers, and
    halves what it rounds up to a power of two on the way to fp8.
    """
    if not INTERPRETED:
        return
    from triton.runtime import interpreter  # type: ignore[import-untyped]

    patch, multiply = interpreter._patch_lang_tensor, interpreter.InterpreterBuilder.create_dot

    def patched(tensor: Any, scope: Any) -> None:
        patch(tensor, scope)
        scope.set_attr(tensor, "__index__", lambda self: int(self.handle.data.item()))

    def widened(x: Any) -> Any:
        data = (x.data.astype(np.uint32) << 16).view(np.float32)
        return interpreter.TensorHandle(data, interpreter.tl.float32)

    def create_dot(self: Any, a: Any, b: Any, *rest: Any) -> Any:
        wide = a.dtype.scalar == interpreter.tl.bfloat16
        return multiply(self, *((widened(a), widened(b)) if wide else (a, b)), *rest)

    eight = {interpreter.tl.float8e4nv: FORWARD, interpreter.tl.float8e5: BACKWARD}
    convert = interpreter._convert_float

    def converted(x: Any, before: Any, after: Any, rounding: Any) -> Any:
        if before != interpreter.tl.float32 or after not in eight:
            return convert(x, before, after, rounding)
        numbers = torch.from_numpy(np.ascontiguousarray(x).view(np.float32))
        return to_eight(numbers, 1.0, eight[after]).view(torch.uint8).numpy().reshape(x.shape)

    monkeypatch.setattr(interpreter, "_convert_float", converted)
    monkeypatch.setattr(interpreter, "_patch_lang_tensor", patched)
    monkeypatch.setattr(interpreter.InterpreterBuilder, "create_dot", create_dot)


@pytest.fixture
def small_tiles(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks that the interpreter can bear, longer one way, and each of the passes its own."""
    from jumok.backends.triton import attention

    if INTERPRETED:
        for table, tile in ((attention.FORWARD, (32, 16)), (attention.BACKWARD, (16, 32))):
            for key in table:
                monkeypatch.setitem(table, key, attention.AttentionTile(*tile))
