"""The head and its loss in fp8: the gradient of the logits is made as it lies and turned, in one pass.

    X = q(x) q(W)^T,   G = q(dL/dX),   dx = G q(W),   dW = G^T q(x)

`jumok.backends.eight` says what is rounded and how, and has the twin; dL/dX is in `jumok.backends.head`. A
GPU's fp8 units sum along rows only, so W, x and G are kept turned as well.

Axis letters: M target tokens, R of them in a chunk, D width, V vocabulary.
"""
# mypy: disable-error-code="no-untyped-def, untyped-decorator, no-untyped-call"
# ruff: noqa: PLR0913, FBT003  (a kernel takes pointers and constants, one argument each)

from dataclasses import dataclass
from typing import Any

import torch
import triton  # type: ignore[import-untyped]
import triton.language as tl  # type: ignore[import-untyped]
from torch import Tensor
from torch.autograd import Function
from torch.nn import functional as F

from jumok.backends.eight import BACKWARD, LOGITS, STATES, WEIGHTS
from jumok.backends.head import ALIGNED, CHUNK, chunk_rows
from jumok.backends.triton.feed_forward import constant, round_and_turn
from jumok.backends.triton.head import BLOCK, NUMBERS_OF_A_THREAD, UNLEARNED, sums_of, warps_of


@dataclass(frozen=True)
class GradientTile:
    """What a program turns at once."""

    rows: int = 64
    columns: int = 128
    warps: int = 8


TILE = GradientTile()  # may be exchanged before the kernel's first call


@triton.jit
def sums_kernel(
    logits, target, losses, nlls, log_zs, smoothing, stride, V: tl.constexpr, BLOCK: tl.constexpr
):
    """Loss, nll and log Z of one row a program."""
    row = tl.program_id(0).to(tl.int64)
    line = logits + row * stride
    right = tl.load(target + row).to(tl.int32)
    real = tl.where(right == UNLEARNED, 0.0, 1.0)
    at_right = tl.load(line + right).to(tl.float32)
    log_z, mean = sums_of(line, stride, V, BLOCK)
    tl.store(log_zs + row, log_z)
    tl.store(nlls + row, (log_z - at_right) * real)
    tl.store(losses + row, (log_z - (1 - smoothing) * at_right - smoothing * mean) * real)


@triton.jit(do_not_specialize=["rows"])
def gradient_kernel(
    logits, target, log_zs, g8, turned, smoothing, scale, rows, stride,
    V: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr,
):  # fmt: skip
    """One tile of the gradient (R, stride) in fp8, as it lies and turned; 0 from V on."""
    row = tl.program_id(1) * ROWS + tl.arange(0, ROWS)
    col = tl.program_id(0) * COLUMNS + tl.arange(0, COLUMNS)
    inside = (row < rows)[:, None] & (col < stride)[None, :]
    right = tl.load(target + row, mask=row < rows, other=UNLEARNED).to(tl.int32)[:, None]
    log_z = tl.load(log_zs + row, mask=row < rows, other=0.0)[:, None]
    place = row.to(tl.int64)[:, None] * stride + col[None, :]
    x = tl.load(logits + place, mask=inside, other=0.0).to(tl.float32)
    g = tl.exp(x - log_z) - smoothing / V
    g = tl.where(col[None, :] == right, g - (1 - smoothing), g)
    g = tl.where((col < V)[None, :] & (right != UNLEARNED), g * scale, 0.0).to(g8.dtype.element_ty)
    tl.store(g8 + place, g, mask=inside)
    place = col.to(tl.int64)[:, None] * rows + row[None, :]
    bits = tl.trans(g.to(tl.uint8, bitcast=True))
    tl.store(turned + place, bits, mask=(col < stride)[:, None] & (row < rows)[None, :])


def gradient_rows(
    logits: Tensor, target: Tensor, V: int, smoothing: float
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """logits (R, V and room), target (R,) -> loss, nll (R,), and the gradient in fp8, also turned."""
    R, stride = logits.shape
    losses, nlls, log_zs = torch.empty(3, R, dtype=torch.float32, device=logits.device)
    g8 = torch.empty(R, stride, dtype=BACKWARD, device=logits.device)
    turned = torch.empty(stride, R, dtype=BACKWARD, device=logits.device)
    block = min(triton.next_power_of_2(V), BLOCK)
    sums_kernel[(R,)](
        logits, target, losses, nlls, log_zs, smoothing, stride, V, block,
        num_warps=warps_of(block, NUMBERS_OF_A_THREAD),
    )  # fmt: skip
    gradient_kernel[triton.cdiv(stride, TILE.columns), triton.cdiv(R, TILE.rows)](
        logits, target, log_zs, g8, turned.view(torch.uint8), smoothing, LOGITS, R, stride, V,
        TILE.rows, TILE.columns, num_warps=TILE.warps,
    )  # fmt: skip
    return losses, nlls, g8, turned


def product(
    a: Tensor,
    b: Tensor,
    scales: tuple[float, float],
    kind: torch.dtype,
    out: Tensor | None = None,
    *,
    fast: bool,
) -> Tensor:
    """a (M, K), b (N, K) in fp8 -> a b^T (M, N) without their scales; `fast` sums with fewer bits."""
    scale_a, scale_b = (constant(1 / scale, a.device) for scale in scales)
    return torch._scaled_mm(a, b.t(), scale_a, scale_b, out_dtype=kind, use_fast_accum=fast, out=out)


class Head8(Function):
    """Sums over places of loss and nll; gradients are made on the way forward, as in `Chunked`."""

    @staticmethod
    def forward(
        ctx: Any, features: Tensor, head: Tensor, target: Tensor, smoothing: float
    ) -> tuple[Tensor, Tensor]:
        """features (M, D), M a multiple of 16, head (V, D), both in bf16, target (M,)."""
        M, V = len(features), len(head)
        w8, w_t = round_and_turn(F.pad(head, (0, 0, 0, -V % ALIGNED)), WEIGHTS)
        step = chunk_rows(M, 1, len(w8), 2 * features.element_size(), CHUNK)
        room = features.new_empty(min(step, M), len(w8))
        d_features, d_head, losses, nlls = torch.empty_like(features), None, [], []
        for first in range(0, M, step):
            x8, x_t = round_and_turn(features[first : first + step], STATES)
            logits = product(x8, w8, (STATES, WEIGHTS), room.dtype, room[: len(x8)], fast=True)
            loss, nll, g8, g_t = gradient_rows(logits, target[first : first + step], V, smoothing)
            losses.append(loss)
            nlls.append(nll)
            product(g8, w_t, (LOGITS, WEIGHTS), room.dtype, d_features[first : first + step], fast=False)
            more = product(g_t, x_t, (LOGITS, STATES), torch.float32, fast=False)
            d_head = more if d_head is None else d_head.add_(more)
        assert d_head is not None
        ctx.save_for_backward(d_features, d_head[:V].to(head.dtype))
        nll = torch.cat(nlls).sum()
        ctx.mark_non_differentiable(nll)
        return torch.cat(losses).sum(), nll

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        d_features, d_head = ctx.saved_tensors
        return d_features * grads[0], d_head * grads[0], None, None
