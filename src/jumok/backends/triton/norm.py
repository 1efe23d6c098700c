"""Dropout, residual and LayerNorm in one Triton kernel each way.

    s = x + dropout(f + bias)
    n = (s - mean(s)) * r,   r = 1 / sqrt(var(s) + eps),   y = n * weight + shift

    ds = r * (g - mean(g) - n * mean(g * n)) + ds',   g = dy * weight,  ds' what comes from the uses of s
    dx = ds,  df = dropout'(ds),  dbias = sum df,  dweight = sum dy * n,  dshift = sum dy

Forward reads x, f and writes s, y; backward reads dy, s and writes dx, df: what the memory must carry. Sums
over rows are kept by a fixed number of programs that walk over the rows, and added up in memory at the end.

Axis letters: L rows, D width, P programs.
"""
# mypy: disable-error-code="no-untyped-def, untyped-decorator, no-untyped-call"
# ruff: noqa: PLR0913  (a kernel takes pointers, one argument each)

from dataclasses import dataclass
from functools import cache
from typing import Any

import torch
import triton  # type: ignore[import-untyped]
import triton.language as tl  # type: ignore[import-untyped]
from torch import Tensor
from torch.autograd import Function

from jumok.backends.eight import BACKWARD as BACKWARD_FP8
from jumok.backends.triton.dropout import draw_seed, keep, masked
from jumok.backends.triton.guard import Guard
from jumok.nn.layers import EPSILON


@dataclass(frozen=True)
class RowTile:
    """How much a program takes at once; of programs that walk, how many there are, how far they look."""

    numbers: int
    warps: int
    programs: int = 0  # on a multiprocessor
    stages: int = 1  # steps whose numbers are on their way at once


# May be exchanged before a kernel's first call.
FORWARD = RowTile(2048, warps=4)
BACKWARD = RowTile(2048, warps=4, programs=2, stages=4)
TO_EIGHT = RowTile(1024, warps=4, programs=4, stages=4)  # of a gradient that leaves in fp8


@triton.jit(do_not_specialize=["rows"])
def forward_kernel(
    x, f, bias, weight, shift, s, y, means, scales, seed, share, eps, rows, width,
    HAS_BIAS: tl.constexpr, DROP: tl.constexpr, ROWS: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """s, y (L, D), and for backward the mean and r of each row (L,)."""
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    col = tl.arange(0, BLOCK)
    inside = (row < rows)[:, None] & (col < width)[None, :]
    place = row.to(tl.int64)[:, None] * width + col[None, :]
    change = tl.load(f + place, mask=inside, other=0.0).to(tl.float32)
    old = tl.load(x + place, mask=inside, other=0.0).to(tl.float32)
    if HAS_BIAS:
        change += tl.load(bias + col, mask=col < width, other=0.0).to(tl.float32)[None, :]
    if DROP:
        change = tl.where(keep(tl.load(seed), row, col, share), change * (1 / (1 - share)), 0.0)
    total = (old + change).to(s.dtype.element_ty)
    tl.store(s + place, total, mask=inside)
    total = total.to(tl.float32)
    mean = tl.sum(total, 1) / width  # (ROWS,)
    centred = tl.where(inside, total - mean[:, None], 0.0)
    scale = tl.rsqrt(tl.sum(centred * centred, 1) / width + eps)
    tl.store(means + row, mean, mask=row < rows)
    tl.store(scales + row, scale, mask=row < rows)
    weights = tl.load(weight + col, mask=col < width, other=0.0).to(tl.float32)[None, :]
    shifts = tl.load(shift + col, mask=col < width, other=0.0).to(tl.float32)[None, :]
    normed = centred * scale[:, None] * weights + shifts
    tl.store(y + place, normed.to(y.dtype.element_ty), mask=inside)


@triton.jit(do_not_specialize=["rows"])
def backward_kernel(
    dy, ds, s, means, scales, weight, seed, dx, df, sums, share, factor, rows, width,
    HAS_DS: tl.constexpr, HAS_BIAS: tl.constexpr, DROP: tl.constexpr, APART: tl.constexpr,
    ROWS: tl.constexpr, BLOCK: tl.constexpr, STEPS: tl.constexpr, STAGES: tl.constexpr,
):  # fmt: skip
    """dx, df (L, D), the latter times `factor`; sums (2 or 3, D) grow by dweight, dshift, dbias."""
    col = tl.arange(0, BLOCK)
    weights = tl.load(weight + col, mask=col < width, other=0.0).to(tl.float32)[None, :]
    dweight = tl.zeros((ROWS, BLOCK), tl.float32)
    dshift = tl.zeros((ROWS, BLOCK), tl.float32)
    dbias = tl.zeros((ROWS, BLOCK), tl.float32)
    for step in tl.range(0, STEPS, num_stages=STAGES):
        row = (step * tl.num_programs(0) + tl.program_id(0)) * ROWS + tl.arange(0, ROWS)
        inside = (row < rows)[:, None] & (col < width)[None, :]
        place = row.to(tl.int64)[:, None] * width + col[None, :]
        grad = tl.load(dy + place, mask=inside, other=0.0).to(tl.float32)
        total = tl.load(s + place, mask=inside, other=0.0).to(tl.float32)
        mean = tl.load(means + row, mask=row < rows, other=0.0)[:, None]
        scale = tl.load(scales + row, mask=row < rows, other=0.0)[:, None]
        normed = tl.where(inside, (total - mean) * scale, 0.0)
        dweight += grad * normed
        dshift += grad
        grad *= weights
        slope = tl.sum(grad * normed, 1)[:, None] / width
        grad = (grad - tl.sum(grad, 1)[:, None] / width - normed * slope) * scale
        if HAS_DS:
            grad += tl.load(ds + place, mask=inside, other=0.0).to(tl.float32)
        tl.store(dx + place, grad.to(dx.dtype.element_ty), mask=inside)
        if DROP:
            grad = tl.where(keep(tl.load(seed), row, col, share), grad * (1 / (1 - share)), 0.0)
        if APART:
            tl.store(df + place, (grad * factor).to(df.dtype.element_ty), mask=inside)
        if HAS_BIAS:
            dbias += tl.where(inside, grad, 0.0)
    tl.atomic_add(sums + col, tl.sum(dweight, 0), mask=col < width)
    tl.atomic_add(sums + width + col, tl.sum(dshift, 0), mask=col < width)
    if HAS_BIAS:
        tl.atomic_add(sums + 2 * width + col, tl.sum(dbias, 0), mask=col < width)


@cache
def multiprocessors(device: torch.device) -> int:
    """How many programs of the largest kind run at once; 1 in the interpreter."""
    return torch.cuda.get_device_properties(device).multi_processor_count if device.type == "cuda" else 1


def tile_of(width: int, numbers: int) -> tuple[int, int]:
    """Rows and columns that a program takes at once."""
    BLOCK = triton.next_power_of_2(width)
    return max(1, numbers // BLOCK), BLOCK


def walk(rows: int, at_once: int, most: int) -> tuple[int, int]:
    """How many programs share the rows, at most so many, and how many steps each of them takes."""
    tiles = triton.cdiv(rows, at_once)
    steps = triton.cdiv(tiles, most)
    return triton.cdiv(tiles, steps), steps


def run_forward(
    x: Tensor,
    f: Tensor,
    bias: Tensor | None,
    weight: Tensor,
    shift: Tensor,
    share: float,
    seed: Tensor | None,
    eps: float = EPSILON,
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor | None]:
    """s, y (L, D), the mean and r of each row (L,), and the seed, drawn if none is given and one needed."""
    (L, D), device = x.shape, x.device
    s, y = torch.empty_like(x), torch.empty_like(x)
    means, scales = torch.empty(2, L, dtype=torch.float32, device=device)  # (L,), (L,)
    seed = seed if seed is not None or not share else draw_seed(x)
    ROWS, BLOCK = tile_of(D, FORWARD.numbers)
    forward_kernel[(triton.cdiv(L, ROWS),)](
        x, f, bias, weight, shift, s, y, means, scales, seed, share, eps, L, D,
        bias is not None, share > 0, ROWS, BLOCK, num_warps=FORWARD.warps,
    )  # fmt: skip
    return s, y, means, scales, seed


class _AddNorm(Function):
    @staticmethod
    def forward(
        ctx: Any,
        x: Tensor,
        f: Tensor,
        bias: Tensor | None,
        weight: Tensor,
        shift: Tensor,
        share: float,
        seed: Tensor | None,
        guard: Guard,
        eps: float = EPSILON,
    ) -> tuple[Tensor, Tensor]:
        s, y, means, scales, seed = run_forward(x, f, bias, weight, shift, share, seed, eps)
        ctx.save_for_backward(s, means, scales, weight, seed)
        ctx.guard = guard
        ctx.share, ctx.types = share, (bias.dtype if bias is not None else None, weight.dtype, shift.dtype)
        ctx.set_materialize_grads(False)
        return s, y

    @staticmethod
    def backward(ctx: Any, *grads: Tensor | None) -> tuple[Tensor | None, ...]:
        saved, (bias, weight, shift) = ctx.saved_tensors, ctx.types
        ds, dy = grads
        dy = torch.zeros_like(saved[0]) if dy is None else dy.contiguous()
        given = dy, None if ds is None else ds.contiguous()
        dx, df, sums = ctx.guard(
            "add_norm's gradient",
            lambda: kernel_gradients(given, saved, ctx.share, bias=bool(bias)),
            lambda: plain_gradients(given, saved, ctx.share, bias=bool(bias)),
        )
        dweight, dshift, *rest = sums.unbind()  # (D,) each
        d_bias = rest[0].to(bias) if bias else None
        return dx, df, d_bias, dweight.to(weight), dshift.to(shift), None, None, None, None


Given = tuple[Tensor, Tensor | None]  # dy and, where s is used as well, ds'
Saved = tuple[Tensor, Tensor, Tensor, Tensor, Tensor]  # s, means, scales, weight and the seed or None


def kernel_gradients(
    given: Given, saved: Saved, share: float, *, bias: bool, scale: float | None = None
) -> tuple[Tensor, ...]:
    """dx, df (L, D) and the sums dweight, dshift and perhaps dbias (2 or 3, D) in fp32.

    With a scale, df is times that and in fp8.
    """
    (dy, ds), (s, means, scales, weight, seed) = given, saved
    L, D = s.shape
    dx = torch.empty_like(s)
    apart = share > 0 or scale is not None
    df = torch.empty_like(s, dtype=s.dtype if scale is None else BACKWARD_FP8) if apart else dx
    tile = BACKWARD if scale is None else TO_EIGHT
    ROWS, BLOCK = tile_of(D, tile.numbers)
    P, STEPS = walk(L, ROWS, tile.programs * multiprocessors(s.device))
    sums = torch.zeros(3 if bias else 2, D, dtype=torch.float32, device=s.device)
    backward_kernel[(P,)](
        dy, ds, s, means, scales, weight, seed, dx, df, sums, share, scale or 1.0, L, D,
        ds is not None, bias, share > 0, apart, ROWS, BLOCK, STEPS, tile.stages,
        num_warps=tile.warps,
    )  # fmt: skip
    return dx, df, sums


def plain_gradients(given: Given, saved: Saved, share: float, *, bias: bool) -> tuple[Tensor, ...]:
    """The same without the kernel."""
    (dy, ds), (s, means, scales, weight, seed) = given, saved
    normed, grad = (s.float() - means[:, None]) * scales[:, None], dy.float()
    sums = [(grad * normed).sum(0), grad.sum(0)]
    grad = grad * weight
    slope = (grad * normed).mean(1, keepdim=True)
    dx = (grad - grad.mean(1, keepdim=True) - normed * slope) * scales[:, None]
    dx = dx if ds is None else dx + ds
    df = masked(dx, seed, share) if share else dx
    return dx.to(s.dtype), df.to(s.dtype), torch.stack([*sums, *([df.sum(0)] if bias else [])])


def add_norm(
    x: Tensor,
    f: Tensor,
    bias: Tensor | None,
    weight: Tensor,
    shift: Tensor,
    share: float,
    seed: Tensor | None = None,
    eps: float = EPSILON,
    *,
    guard: Guard,
) -> tuple[Tensor, Tensor]:
    """x, f (L, D); bias, weight, shift (D,) -> s, y (L, D); a share of 0 is no dropout."""
    s, y = _AddNorm.apply(x.contiguous(), f.contiguous(), bias, weight, shift, share, seed, guard, eps)
    return s, y
