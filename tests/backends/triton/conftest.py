"""What the interpreter of Triton needs to run our kernels."""

from typing import Any

import numpy as np
import pytest
from tests.backends.triton.interpreter import INTERPRETED


@pytest.fixture(autouse=True)
def mended(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two faults of the interpreter of Triton 3.6, mended.

    It makes an int of array([n]), which NumPy 2.4 forbids, and multiplies the bits of bfloat16 as integers.
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
