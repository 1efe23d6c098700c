"""Softmax, loss and the gradient of the logits in one Triton kernel, row by row and in place.

The equations are in `jumok.backends.head`: this is `smoothed_rows` and `rdrop_rows` with one read and one
write of the logits. Numbers are in fp32 from load to store. Rows may lie further apart than V: what lies
between is room, read and written so that every access is aligned, and never used.

Axis letters: R rows, V vocabulary.
"""
# mypy: disable-error-code="no-untyped-def, untyped-decorator, no-untyped-call"
# ruff: noqa: PLR0913  (a kernel takes pointers, one argument each)

import torch
import triton  # type: ignore[import-untyped]
import triton.language as tl  # type: ignore[import-untyped]
from torch import Tensor

UNLEARNED = tl.constexpr(0)  # as in `jumok.backends.head`
WHOLE = 16384  # rows up to this long stay in registers
BLOCK = 8192  # of longer rows, which are read twice, and of the two rows of R-Drop
NUMBERS_OF_A_THREAD = 32


@triton.jit
def whole_kernel(
    logits, target, losses, nlls, smoothing, stride, V: tl.constexpr, GRAD: tl.constexpr, BLOCK: tl.constexpr
):
    """One row a program, all of it at once."""
    row = tl.program_id(0).to(tl.int64)
    col = tl.arange(0, BLOCK)
    line = logits + row * stride
    right = tl.load(target + row).to(tl.int32)
    if right == UNLEARNED:
        tl.store(losses + row, 0.0)
        tl.store(nlls + row, 0.0)
        if GRAD:
            tl.store(line + col, tl.zeros((BLOCK,), line.dtype.element_ty), mask=col < stride)
    else:
        at_right = tl.load(line + right).to(tl.float32)
        x = tl.load(line + col, mask=col < stride, other=0.0).to(tl.float32)
        x = tl.where(col < V, x, -float("inf"))
        top = tl.max(x, 0)
        e = tl.exp(x - top)
        z = tl.sum(e, 0)
        mean = tl.sum(tl.where(col < V, x, 0.0), 0) / V
        log_z = top + tl.log(z)
        tl.store(nlls + row, log_z - at_right)
        tl.store(losses + row, log_z - (1 - smoothing) * at_right - smoothing * mean)
        if GRAD:
            tl.debug_barrier()  # every read of the row's old numbers is over
            g = e * (1 / z) - smoothing / V
            g = tl.where(col == right, g - (1 - smoothing), g)
            tl.store(line + col, g.to(line.dtype.element_ty), mask=col < stride)


@triton.jit
def sums_of(line, stride, V: tl.constexpr, BLOCK: tl.constexpr):
    """max x, sum exp(x - max) and mean x of one row, block by block."""
    top = tl.full((), -float("inf"), tl.float32)
    z = tl.zeros((), tl.float32)
    total = tl.zeros((), tl.float32)
    for first in range(0, V, BLOCK):
        col = first + tl.arange(0, BLOCK)
        x = tl.load(line + col, mask=col < stride, other=0.0).to(tl.float32)
        x = tl.where(col < V, x, -float("inf"))
        higher = tl.maximum(top, tl.max(x, 0))
        z = z * tl.exp(top - higher) + tl.sum(tl.exp(x - higher), 0)
        total += tl.sum(tl.where(col < V, x, 0.0), 0)
        top = higher
    return top + tl.log(z), total / V


@triton.jit
def blocks_kernel(
    logits, target, losses, nlls, smoothing, stride, V: tl.constexpr, GRAD: tl.constexpr, BLOCK: tl.constexpr
):
    """One row a program, block by block: once for the sums, once for the gradient."""
    row = tl.program_id(0).to(tl.int64)
    line = logits + row * stride
    right = tl.load(target + row).to(tl.int32)
    real = tl.where(right == UNLEARNED, 0.0, 1.0)
    at_right = tl.load(line + right).to(tl.float32)
    log_z, mean = sums_of(line, stride, V, BLOCK)
    tl.store(nlls + row, (log_z - at_right) * real)
    tl.store(losses + row, (log_z - (1 - smoothing) * at_right - smoothing * mean) * real)
    if GRAD:
        tl.debug_barrier()  # every read of the row's old numbers is over
        for first in range(0, V, BLOCK):
            col = first + tl.arange(0, BLOCK)
            x = tl.load(line + col, mask=col < stride, other=0.0).to(tl.float32)
            g = tl.exp(x - log_z) - smoothing / V
            g = tl.where(col == right, g - (1 - smoothing), g) * real
            tl.store(line + col, g.to(line.dtype.element_ty), mask=col < stride)


@triton.jit(do_not_specialize=["rows"])
def rdrop_kernel(
    logits, target, losses, nlls, smoothing, alpha, rows, stride,
    V: tl.constexpr, GRAD: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """The two rows of one token a program: sums, then the divergences, then the gradients."""
    row = tl.program_id(0).to(tl.int64)
    one, two = logits + row * stride, logits + (row + rows) * stride
    right = tl.load(target + row).to(tl.int32)
    real = tl.where(right == UNLEARNED, 0.0, 1.0)
    right_1, right_2 = tl.load(one + right).to(tl.float32), tl.load(two + right).to(tl.float32)
    z_1, mean_1 = sums_of(one, stride, V, BLOCK)  # log_z
    z_2, mean_2 = sums_of(two, stride, V, BLOCK)
    kl_12, kl_21 = tl.zeros((), tl.float32), tl.zeros((), tl.float32)
    for first in range(0, V, BLOCK):
        col = first + tl.arange(0, BLOCK)
        a_1 = tl.load(one + col, mask=col < stride, other=0.0).to(tl.float32) - z_1
        a_2 = tl.load(two + col, mask=col < stride, other=0.0).to(tl.float32) - z_2
        kl_12 += tl.sum(tl.where(col < V, tl.exp(a_1) * (a_1 - a_2), 0.0), 0)
        kl_21 += tl.sum(tl.where(col < V, tl.exp(a_2) * (a_2 - a_1), 0.0), 0)
    nll = (z_1 - right_1 + z_2 - right_2) / 2
    smooth = (z_1 - mean_1 + z_2 - mean_2) / 2
    tl.store(nlls + row, nll * real)
    loss = (1 - smoothing) * nll + smoothing * smooth + alpha / 4 * (kl_12 + kl_21)
    tl.store(losses + row, loss * real)
    if GRAD:
        tl.debug_barrier()  # every read of the rows' old numbers is over
        for first in range(0, V, BLOCK):
            col = first + tl.arange(0, BLOCK)
            a_1 = tl.load(one + col, mask=col < stride, other=0.0).to(tl.float32) - z_1
            a_2 = tl.load(two + col, mask=col < stride, other=0.0).to(tl.float32) - z_2
            p_1, p_2 = tl.exp(a_1), tl.exp(a_2)
            q = smoothing / V + tl.where(col == right, 1 - smoothing, 0.0)
            g_1 = (p_1 - q) / 2 + alpha / 4 * (p_1 * (a_1 - a_2 - kl_12) + p_1 - p_2)
            g_2 = (p_2 - q) / 2 + alpha / 4 * (p_2 * (a_2 - a_1 - kl_21) + p_2 - p_1)
            tl.store(one + col, (g_1 * real).to(one.dtype.element_ty), mask=col < stride)
            tl.store(two + col, (g_2 * real).to(two.dtype.element_ty), mask=col < stride)


def warps_of(block: int, numbers: int) -> int:
    """As many warps as leave about this many numbers of a block to each thread."""
    return min(max(block // (32 * numbers), 4), 32)


def smoothed_rows(logits: Tensor, target: Tensor, smoothing: float, *, grad: bool) -> tuple[Tensor, Tensor]:
    """logits (R, V), target (R,) -> loss, nll (R,) in fp32; if `grad`, logits become their gradient."""
    R, V = logits.shape
    losses, nlls = torch.empty(2, R, dtype=torch.float32, device=logits.device)  # (R,), (R,)
    block = triton.next_power_of_2(V)
    kernel = whole_kernel if block <= WHOLE else blocks_kernel
    block = block if block <= WHOLE else BLOCK
    kernel[(R,)](
        logits, target, losses, nlls, smoothing, logits.stride(0), V, grad, block,
        num_warps=warps_of(block, NUMBERS_OF_A_THREAD),
    )  # fmt: skip
    return losses, nlls


def rdrop_rows(
    logits: Tensor, target: Tensor, smoothing: float, alpha: float, *, grad: bool
) -> tuple[Tensor, Tensor]:
    """logits (2 · R, V), the second pass after the first, target (R,) -> loss, nll (R,), as above."""
    R, V = target.shape[0], logits.shape[1]
    losses, nlls = torch.empty(2, R, dtype=torch.float32, device=logits.device)  # (R,), (R,)
    block = min(triton.next_power_of_2(V), BLOCK)
    rdrop_kernel[(R,)](
        logits, target, losses, nlls, smoothing, alpha, R, logits.stride(0), V, grad, block,
        num_warps=warps_of(block, NUMBERS_OF_A_THREAD // 2),
    )  # fmt: skip
    return losses, nlls
