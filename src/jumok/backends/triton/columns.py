"""Sums over the rows of a gradient, which is what a bias wants, and on the way the mask of a relu.

    dh = dy * (h > 0),   db = sum dh

Programs walk over the rows of their columns and add their sums to the result in memory.

Axis letters: L rows, F width, P programs over rows.
"""
# mypy: disable-error-code="no-untyped-def, untyped-decorator, no-untyped-call"
# ruff: noqa: PLR0913  (a kernel takes pointers, one argument each)

import torch
import triton  # type: ignore[import-untyped]
import triton.language as tl  # type: ignore[import-untyped]
from torch import Tensor

from jumok.backends.triton.norm import RowTile, multiprocessors, walk

COLUMNS = 256  # that a program takes
TILE = RowTile(4096, warps=4, programs=4, stages=1)  # may be exchanged before the kernel's first call


@triton.jit(do_not_specialize=["rows"])
def columns_kernel(
    dy, h, dh, sums, rows, width,
    MASK: tl.constexpr, ROWS: tl.constexpr, BLOCK: tl.constexpr, STEPS: tl.constexpr, STAGES: tl.constexpr,
):  # fmt: skip
    """The sum over rows, added to sums (F,); with MASK also dh (L, F)."""
    col = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros((ROWS, BLOCK), tl.float32)
    for step in tl.range(0, STEPS, num_stages=STAGES):
        row = (step * tl.num_programs(1) + tl.program_id(1)) * ROWS + tl.arange(0, ROWS)
        inside = (row < rows)[:, None] & (col < width)[None, :]
        place = row.to(tl.int64)[:, None] * width + col[None, :]
        grad = tl.load(dy + place, mask=inside, other=0.0)
        if MASK:
            value = tl.load(h + place, mask=inside, other=0.0)
            grad = tl.where(value > 0, grad, 0.0)
            tl.store(dh + place, grad.to(dh.dtype.element_ty), mask=inside)
        total += grad.to(tl.float32)
    tl.atomic_add(sums + col, tl.sum(total, 0), mask=col < width)


def run(dy: Tensor, h: Tensor | None, dh: Tensor | None) -> Tensor:
    L, F = dy.shape
    across = triton.cdiv(F, COLUMNS)
    ROWS = TILE.numbers // COLUMNS
    P, STEPS = walk(L, ROWS, triton.cdiv(TILE.programs * multiprocessors(dy.device), across))
    sums = torch.zeros(F, dtype=torch.float32, device=dy.device)
    columns_kernel[(across, P)](
        dy, h, dh, sums, L, F, h is not None, ROWS, COLUMNS, STEPS, TILE.stages, num_warps=TILE.warps
    )
    return sums


def mask_and_sum(dy: Tensor, h: Tensor) -> tuple[Tensor, Tensor]:
    """dy, h (L, F) -> dh (L, F) and its sum over rows (F,) in fp32."""
    dh = torch.empty_like(h)
    return dh, run(dy, h, dh)


def column_sums(dy: Tensor) -> Tensor:
    """dy (L, F) -> its sum over rows (F,) in fp32."""
    return run(dy, None, None)
