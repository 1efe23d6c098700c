"""Products of fp8 matrices in Triton that do on their way out what would be another pass over memory.

    y = scale · alpha · a b^T
    y = scale · relu(alpha · a b^T + bias)
    y = scale · alpha · a b^T where `mask` is not 0, else 0
    y += alpha · a b^T

and beside y, if wanted, y^T for a product that sums over its rows.

a (M, K) and b (N, K) both lie along K, as a GPU's fp8 units want it. Programs stay, one on each
multiprocessor, and walk over the tiles of y; while one is finished, the bulk copy engine brings what the next
one needs. Sums are fp32.

Axis letters: M rows, N columns, K what is summed over.
"""
# mypy: disable-error-code="no-untyped-def, untyped-decorator, no-untyped-call"
# ruff: noqa: PLR0913  (a kernel takes pointers, one argument each)

from dataclasses import dataclass

import torch
import triton  # type: ignore[import-untyped]
import triton.language as tl  # type: ignore[import-untyped]
from torch import Tensor
from triton.tools.tensor_descriptor import TensorDescriptor  # type: ignore[import-untyped]

from jumok.backends.triton.norm import multiprocessors


@dataclass(frozen=True)
class ProductTile:
    """What a program makes at once, of how much of K at a time; it is stored in halves, for lack of room."""

    rows: int = 256
    columns: int = 128
    depth: int = 128
    warps: int = 8
    stages: int = 3


TILE = ProductTile()  # may be exchanged before the kernel's first call


@triton.jit
def finish(
    total, y, turned, bias, mask, row, column, alpha, scale,
    N: tl.constexpr, RELU: tl.constexpr, MASK: tl.constexpr, ADD: tl.constexpr, TURN: tl.constexpr,
    COLUMNS: tl.constexpr,
):  # fmt: skip
    """Store a tile of products, and what becomes of them."""
    total *= alpha
    if RELU:
        col = column + tl.arange(0, COLUMNS)
        total += tl.load(bias + col, mask=col < N, other=0.0).to(tl.float32)[None, :]
        total = tl.maximum(total, 0.0, propagate_nan=tl.PropagateNan.ALL)
    if MASK:
        total = tl.where(mask.load([row, column]) != 0, total, 0.0)
    if ADD:
        total += y.load([row, column]).to(tl.float32)
    out = (total * scale).to(y.dtype)
    y.store([row, column], out)
    if TURN:
        turned.store([column, row], out.T)


@triton.jit(do_not_specialize=["rows"])
def product_kernel(
    a, b, y, turned, bias, mask, rows, alpha, scale,
    N: tl.constexpr, K: tl.constexpr, RELU: tl.constexpr, MASK: tl.constexpr, ADD: tl.constexpr,
    TURN: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr, DEPTH: tl.constexpr,
):  # fmt: skip
    """Descriptors of a (M, K), b (N, K), y and mask (M, N) and, with TURN, y^T (N, M); bias (N,)."""
    HALF: tl.constexpr = COLUMNS // 2
    across = tl.cdiv(N, COLUMNS)
    tiles = tl.cdiv(rows, ROWS) * across
    for tile in tl.range(tl.program_id(0), tiles, tl.num_programs(0), flatten=True):
        row, column = tile // across * ROWS, tile % across * COLUMNS
        half = column + HALF
        total = tl.zeros((ROWS, COLUMNS), tl.float32)
        for k in range(0, K, DEPTH):
            total = tl.dot(a.load([row, k]), b.load([column, k]).T, total)
        left, right = tl.split(tl.permute(tl.reshape(total, (ROWS, 2, HALF)), (0, 2, 1)))
        finish(left, y, turned, bias, mask, row, column, alpha, scale, N, RELU, MASK, ADD, TURN, HALF)
        finish(right, y, turned, bias, mask, row, half, alpha, scale, N, RELU, MASK, ADD, TURN, HALF)


def multiply(
    a: Tensor,
    b: Tensor,
    y: Tensor,
    *,
    alpha: float,
    scale: float = 1.0,
    bias: Tensor | None = None,
    mask: Tensor | None = None,
    turned: Tensor | None = None,
    add: bool = False,
) -> Tensor:
    """y (M, N) of a (M, K) and b (N, K), all in place; with a bias also relu."""
    (M, K), N, half = a.shape, len(b), TILE.columns // 2
    tiles = triton.cdiv(M, TILE.rows) * triton.cdiv(N, TILE.columns)
    product_kernel[(min(tiles, multiprocessors(a.device)),)](
        TensorDescriptor.from_tensor(a, [TILE.rows, TILE.depth]),
        TensorDescriptor.from_tensor(b, [TILE.columns, TILE.depth]),
        TensorDescriptor.from_tensor(y, [TILE.rows, half]),
        None if turned is None else TensorDescriptor.from_tensor(turned, [half, TILE.rows]),
        bias,
        None if mask is None else TensorDescriptor.from_tensor(mask.view(torch.uint8), [TILE.rows, half]),
        M, alpha, scale, N, K, bias is not None, mask is not None, add, turned is not None,
        TILE.rows, TILE.columns, TILE.depth,
        num_warps=TILE.warps, num_stages=TILE.stages,
    )  # fmt: skip
    return y
