"""The gradient of relu(x W^T + b) before its products: masked, and summed for the bias, in one pass.

    h = relu(x W^T + b)
    dh = dy * (h > 0),   db = sum dh,   dx = dh W,   dW = dh^T x

The products are cuBLAS's; forward adds the bias and cuts at 0 as the product is written.

Axis letters: L rows, D width, F inner width, P programs over rows.
"""
# mypy: disable-error-code="no-untyped-def, untyped-decorator, no-untyped-call"
# ruff: noqa: PLR0913  (a kernel takes pointers, one argument each)

from typing import Any

import torch
import triton  # type: ignore[import-untyped]
import triton.language as tl  # type: ignore[import-untyped]
from torch import Tensor
from torch.autograd import Function

from jumok.nn.kernels import guarded
from jumok.nn.kernels.norm import Tile, multiprocessors, walk

COLUMNS = 256  # that a program takes
TILE = Tile(4096, warps=4, programs=3, stages=3)  # may be exchanged before the kernel's first call


@triton.jit(do_not_specialize=["rows"])
def mask_kernel(
    dy, h, dh, partial, rows, width,
    ROWS: tl.constexpr, BLOCK: tl.constexpr, STEPS: tl.constexpr, STAGES: tl.constexpr,
):  # fmt: skip
    """dh (L, F), and this program's share of its sum over rows: partial (P, F)."""
    col = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros((ROWS, BLOCK), tl.float32)
    for step in tl.range(0, STEPS, num_stages=STAGES):
        row = (step * tl.num_programs(1) + tl.program_id(1)) * ROWS + tl.arange(0, ROWS)
        inside = (row < rows)[:, None] & (col < width)[None, :]
        place = row.to(tl.int64)[:, None] * width + col[None, :]
        grad = tl.load(dy + place, mask=inside, other=0.0)
        value = tl.load(h + place, mask=inside, other=0.0)
        grad = tl.where(value > 0, grad, 0.0)
        tl.store(dh + place, grad.to(dh.dtype.element_ty), mask=inside)
        total += grad.to(tl.float32)
    tl.store(partial + tl.program_id(1) * width + col, tl.sum(total, 0), mask=col < width)


def mask_and_sum(dy: Tensor, h: Tensor) -> tuple[Tensor, Tensor]:
    """dy, h (L, F) -> dh (L, F) and its sum over rows (F,) in fp32."""
    L, F = h.shape
    across = triton.cdiv(F, COLUMNS)
    ROWS = TILE.numbers // COLUMNS
    P, STEPS = walk(L, ROWS, max(1, TILE.programs * multiprocessors(h.device) // across))
    dh = torch.empty_like(h)
    partial = torch.empty(P, F, dtype=torch.float32, device=h.device)
    mask_kernel[(across, P)](
        dy, h, dh, partial, L, F, ROWS, COLUMNS, STEPS, TILE.stages, num_warps=TILE.warps
    )
    return dh, partial.sum(0)


def plain_mask_and_sum(dy: Tensor, h: Tensor) -> tuple[Tensor, Tensor]:
    """The same without the kernel."""
    dh = dy * (h > 0)
    return dh, dh.sum(0, dtype=torch.float32)


class _LinearRelu(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        W = weight.to(x.dtype)
        h = torch._addmm_activation(bias.to(x.dtype), x, W.t(), use_gelu=False)  # (L, F)
        ctx.save_for_backward(x, W, h)
        ctx.types = weight.dtype, bias.dtype
        return h

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        x, W, h = ctx.saved_tensors
        dy = grads[0].contiguous()
        dh, dbias = guarded(
            "linear_relu's gradient", lambda: mask_and_sum(dy, h), lambda: plain_mask_and_sum(dy, h)
        )
        return dh @ W, (dh.t() @ x).to(ctx.types[0]), dbias.to(ctx.types[1])


def linear_relu(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """x (L, D), weight (F, D), bias (F,) -> (L, F)."""
    h: Tensor = _LinearRelu.apply(x.contiguous(), weight, bias)
    return h
