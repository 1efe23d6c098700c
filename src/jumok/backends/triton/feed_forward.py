"""The feed-forward network with add & norm in fp8: its products hand each other numbers of eight bits.

    h = relu(x W_1^T + b_1),   s = x' + dropout(h W_2^T + b_2),   y = norm(s)
    dh = (df W_2) * (h > 0),   dx = dh W_1 (+ ds),   dW_2 = df^T h,   dW_1 = dh^T x

x' is what goes on along the residual stream: x itself in post-norm. `jumok.backends.eight` says what is
rounded and how, and is the twin. A GPU's fp8 units sum along rows only, so what is summed over tokens for a
gradient of weights is kept turned as well.

Axis letters: L tokens, D width, F inner width.
"""
# mypy: disable-error-code="no-untyped-def, untyped-decorator, no-untyped-call"
# ruff: noqa: PLR0913, FBT003  (a kernel takes pointers and constants, one argument each)

from functools import cache
from typing import Any, NamedTuple

import torch
import triton  # type: ignore[import-untyped]
import triton.language as tl  # type: ignore[import-untyped]
from torch import Tensor
from torch.autograd import Function

from jumok.backends.eight import BACKWARD, FORWARD, GRADIENTS, HIDDEN, STATES, WEIGHTS
from jumok.backends.triton import norm
from jumok.backends.triton.products import multiply

TILE = 64  # rows and columns that a program turns
WARPS = 4
NUMBERS = 2048  # that a program sums at once


@triton.jit
def turn(x, x8, turned, scale, rows, columns, tile, ROUND: tl.constexpr, BLOCK: tl.constexpr):
    """One tile of x (rows, columns) in fp8, turned and, with ROUND, as it lies."""
    across = tl.cdiv(columns, BLOCK)
    row, col = tile // across * BLOCK + tl.arange(0, BLOCK), tile % across * BLOCK + tl.arange(0, BLOCK)
    inside = (row < rows)[:, None] & (col < columns)[None, :]
    place = row.to(tl.int64)[:, None] * columns + col[None, :]
    value = tl.load(x + place, mask=inside, other=0.0)
    if ROUND:
        value = (value.to(tl.float32) * scale).to(x8.dtype.element_ty)
        tl.store(x8 + place, value, mask=inside)
        value = value.to(tl.uint8, bitcast=True)
    place = col.to(tl.int64)[:, None] * rows + row[None, :]
    tl.store(turned + place, tl.trans(value), mask=(col < columns)[:, None] & (row < rows)[None, :])


@triton.jit
def turn_kernel(x, x8, turned, scale, rows, columns, ROUND: tl.constexpr, BLOCK: tl.constexpr):
    turn(x, x8, turned, scale, rows, columns, tl.program_id(0), ROUND, BLOCK)


@triton.jit
def weights_kernel(w1, w1_8, w1_t, w2, w2_8, w2_t, scale, width, inner, BLOCK: tl.constexpr):
    """W_1 (F, D), then W_2 (D, F), tile by tile."""
    tiles, tile = tl.cdiv(width, BLOCK) * tl.cdiv(inner, BLOCK), tl.program_id(0)
    if tile < tiles:
        turn(w1, w1_8, w1_t, scale, inner, width, tile, True, BLOCK)
    else:
        turn(w2, w2_8, w2_t, scale, width, inner, tile - tiles, True, BLOCK)


@triton.jit
def sum_kernel(x, sums, scale, length, BLOCK: tl.constexpr):
    """The sum of each row of x, times scale."""
    row = tl.program_id(0)
    total = tl.zeros((BLOCK,), tl.float32)
    for first in range(0, length, BLOCK):
        place = first + tl.arange(0, BLOCK)
        numbers = tl.load(x + row.to(tl.int64) * length + place, mask=place < length, other=0)
        total += numbers.to(tl.float8e5, bitcast=True).to(tl.float32)
    tl.store(sums + row, tl.sum(total, 0) * scale)


def empty(*shape: int, like: Tensor, dtype: torch.dtype = FORWARD) -> Tensor:
    return torch.empty(shape, dtype=dtype, device=like.device)


def round_and_turn(x: Tensor, scale: float) -> tuple[Tensor, Tensor]:
    """x (L, D) times scale in fp8, as it lies and turned."""
    L, D = x.shape
    x8, turned = empty(L, D, like=x), empty(D, L, like=x)
    bits = turned.view(torch.uint8)
    turn_kernel[tiles_of(x)](x, x8, bits, scale, L, D, True, TILE, num_warps=WARPS)
    return x8, turned


def turned_of(x8: Tensor) -> Tensor:
    """x8 (L, D) -> (D, L), contiguous."""
    L, D = x8.shape
    turned = empty(D, L, like=x8, dtype=x8.dtype)
    bits = x8.view(torch.uint8), None, turned.view(torch.uint8)
    turn_kernel[tiles_of(x8)](*bits, 1.0, L, D, False, TILE, num_warps=WARPS)
    return turned


def tiles_of(x: Tensor) -> tuple[int]:
    return (triton.cdiv(x.shape[0], TILE) * triton.cdiv(x.shape[1], TILE),)


def round_weights(w1: Tensor, w2: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """W_1 (F, D), W_2 (D, F) in fp8, each as it lies and turned."""
    F, D = w1.shape
    w1_8, w1_t, w2_8, w2_t = (empty(*shape, like=w1) for shape in ((F, D), (D, F), (D, F), (F, D)))
    grid = (2 * triton.cdiv(D, TILE) * triton.cdiv(F, TILE),)
    bits = [one.view(torch.uint8) for one in (w1_t, w2_t)]
    weights_kernel[grid](
        w1.contiguous(), w1_8, bits[0], w2.contiguous(), w2_8, bits[1], WEIGHTS, D, F, TILE, num_warps=WARPS
    )
    return w1_8, w1_t, w2_8, w2_t


def row_sums(dh_t: Tensor) -> Tensor:
    """Gradients dh^T (F, L) in fp8 -> the sum of each row (F,) in fp32."""
    F, L = dh_t.shape
    sums = torch.empty(F, dtype=torch.float32, device=dh_t.device)
    sum_kernel[(F,)](dh_t.view(torch.uint8), sums, 1 / GRADIENTS, L, NUMBERS, num_warps=WARPS)
    return sums


@cache
def constant(value: float, device: torch.device) -> Tensor:
    """A scale as torch's own products want it: made once, for a captured step goes on reading it."""
    return torch.tensor(value, device=device)


def weight_gradient(dy: Tensor, x: Tensor, scale: float) -> Tensor:
    """dy (N, L), x (K, L), both turned -> dy x^T (N, K) in bf16; `scale` is that of x."""
    scale_dy, scale_x = constant(1 / GRADIENTS, dy.device), constant(1 / scale, dy.device)
    return torch._scaled_mm(dy, x.t(), scale_dy, scale_x, out_dtype=torch.bfloat16, use_fast_accum=False)


class Network(NamedTuple):
    """The weights of the network, and of the norm behind it."""

    w1: Tensor  # (F, D)
    b1: Tensor  # (F,)
    w2: Tensor  # (D, F)
    b2: Tensor  # (D,)
    weight: Tensor  # (D,)
    shift: Tensor  # (D,)


class FeedForward8(Function):
    @staticmethod
    def forward(
        ctx: Any, x: Tensor, stream: Tensor | None, share: float, seed: Tensor | None, *weights: Tensor
    ) -> tuple[Tensor, Tensor]:
        """x (L, D) and, unless it is x itself, what goes on along the stream -> s, y (L, D)."""
        own = Network(*weights)
        L, F = len(x), len(own.w1)
        w1, w1_t, w2, w2_t = round_weights(own.w1, own.w2)
        x8, x_t = round_and_turn(x, STATES)
        h_t = empty(F, L, like=x)
        h8 = multiply(
            x8, w1, empty(L, F, like=x), alpha=1 / (STATES * WEIGHTS), scale=HIDDEN, bias=own.b1, turned=h_t
        )
        f = multiply(h8, w2, torch.empty_like(x), alpha=1 / (HIDDEN * WEIGHTS))
        start = x if stream is None else stream
        s, y, means, scales, seed = norm.run_forward(start, f, own.b2, own.weight, own.shift, share, seed)
        ctx.save_for_backward(x_t, h8, h_t, w1_t, w2_t, s, means, scales, own.weight, seed)
        ctx.share, ctx.apart, ctx.types = share, stream is not None, [one.dtype for one in own]
        ctx.set_materialize_grads(False)
        return s, y

    @staticmethod
    def backward(ctx: Any, *grads: Tensor | None) -> tuple[Tensor | None, ...]:
        x_t, h8, h_t, w1_t, w2_t, *saved = ctx.saved_tensors
        ds, dy = grads
        dy = torch.zeros_like(saved[0]) if dy is None else dy.contiguous()
        given = dy, None if ds is None else ds.contiguous()
        d_stream, df, sums = norm.kernel_gradients(given, tuple(saved), ctx.share, bias=True, scale=GRADIENTS)
        alpha = 1 / (GRADIENTS * WEIGHTS)
        dh, dh_t = torch.empty_like(h8, dtype=BACKWARD), torch.empty_like(h_t, dtype=BACKWARD)
        multiply(df, w2_t, dh, alpha=alpha, scale=GRADIENTS, mask=h8, turned=dh_t)
        d_b1 = row_sums(dh_t)
        d_w2 = weight_gradient(turned_of(df), h_t, HIDDEN)
        d_w1 = weight_gradient(dh_t, x_t, STATES)
        dx = torch.empty_like(d_stream) if ctx.apart else d_stream
        multiply(dh, w1_t, dx, alpha=alpha, add=not ctx.apart)
        d_weight, d_shift, d_b2 = sums.unbind()
        found = (d_w1, d_b1, d_w2, d_b2, d_weight, d_shift)
        own = (one.to(kind) for one, kind in zip(found, ctx.types, strict=True))
        return dx, d_stream if ctx.apart else None, None, None, *own
