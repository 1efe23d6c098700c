"""Dropout in Triton: the mask is a function of a seed and the place, made again in backward, never stored.

    keep(row, col) = mix(mix(row ^ mix(seed)) + col * GOLDEN) / 2^32 >= share
    y = x * keep / (1 - share),   dx = dy * keep / (1 - share)

`mix` is a 32-bit finaliser: two products and three shifts (Wellons 2018, "lowbias32"), stepped by the golden
ratio as in SplitMix (Steele et al. 2014). Ten rounds of Philox for each number would take longer than
reading it.

Axis letters: L rows, D width.
"""
# mypy: disable-error-code="no-untyped-def, untyped-decorator, no-untyped-call"

from typing import Any

import torch
import triton  # type: ignore[import-untyped]
import triton.language as tl  # type: ignore[import-untyped]
from torch import Tensor
from torch.autograd import Function

TILE = 4096  # numbers a program takes
WARPS = 4


@triton.jit
def mix(h):
    """Every bit of a 32-bit number changes every other."""
    h ^= h >> 16
    h *= 0x7FEB352D
    h ^= h >> 15
    h *= 0x846CA68B
    return h ^ (h >> 16)


@triton.jit
def keep(seed, rows, cols, share):
    """True with probability 1 - share at each place; seed one number, rows (R,), cols (C,) -> (R, C)."""
    key = mix(rows.to(tl.uint32) ^ mix(seed.to(tl.uint32)))
    draw = mix(key[:, None] + (cols.to(tl.uint32) * 0x9E3779B9)[None, :])
    return (draw >> 8).to(tl.float32) * 5.9604644775390625e-08 >= share  # 24 bits / 2^24


@triton.jit(do_not_specialize=["rows"])
def drop_kernel(x, y, seed, share, rows, width, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    col = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = (row < rows)[:, None] & (col < width)[None, :]
    place = row.to(tl.int64)[:, None] * width + col[None, :]
    kept = keep(tl.load(seed), row, col, share)
    value = tl.load(x + place, mask=inside, other=0.0).to(tl.float32)
    value = tl.where(kept, value * (1 / (1 - share)), 0.0)
    tl.store(y + place, value.to(y.dtype.element_ty), mask=inside)


def draw_seed(x: Tensor) -> Tensor:
    """One number from torch's generator on the device of x: no wait, and a new one at each graph replay."""
    return torch.randint(2**31 - 1, (1,), device=x.device)


def masked(x: Tensor, seed: Tensor, share: float) -> Tensor:
    """x (L, D) -> (L, D), dropped out by the mask of this seed."""
    L, D = x.shape
    y = torch.empty_like(x)
    BLOCK = min(triton.next_power_of_2(D), 1024)
    ROWS = TILE // BLOCK
    grid = (triton.cdiv(L, ROWS), triton.cdiv(D, BLOCK))
    drop_kernel[grid](x, y, seed, share, L, D, ROWS, BLOCK, num_warps=WARPS)
    return y


class _Drop(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, seed: Tensor, share: float) -> Tensor:
        ctx.save_for_backward(seed)
        ctx.share = share
        return masked(x, seed, share)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None, None]:
        (seed,) = ctx.saved_tensors
        return masked(grads[0].contiguous(), seed, ctx.share), None, None


def drop(x: Tensor, share: float) -> Tensor:
    """Dropout with 0 < share < 1; x of any shape."""
    flat = x.contiguous().view(-1, x.shape[-1])  # (L, D)
    y: Tensor = _Drop.apply(flat, draw_seed(x), share)
    return y.view(x.shape)
