"""Attention over ranges in Triton: a program takes a block of queries and only the keys that they see.

    P = softmax(Q K^T / sqrt(d_k)),  O = P V
    dV = P^T dO,  dS = P * (dO V^T - rowsum(dO * O)),  dQ = dS K / sqrt(d_k),  dK = dS^T Q / sqrt(d_k)

Ranges never go back, so a block's keys lie between the first key of its first query and the last key of its
last one: sentences need no alignment, and self, causal and cross attention are one kernel. Softmax is in
fp32 and base 2; products are in the type of the inputs, summed in fp32 (Dao 2023, "FlashAttention-2").
Without `scale` the root is 1.

Axis letters: S keys, T queries, D width, H heads, K width of one head.
"""
# mypy: disable-error-code="import-untyped, import-not-found"
# mypy: disable-error-code="no-untyped-def, no-untyped-call, untyped-decorator"
# ruff: noqa: PLR0913  (a kernel takes pointers, an argument each)

from dataclasses import dataclass
from math import log, sqrt
from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from jumok.backends.torch import masked_attention, query_key_value
from jumok.backends.triton.guard import Guard
from jumok.nn.spans import Spans

UNSEEN = tl.constexpr(-1e30)  # a score whose weight is 0 beside any other


@dataclass(frozen=True)
class AttentionTile:
    """How much one program takes at once."""

    queries: int
    keys: int
    warps: int = 4
    stages: int = 2
    registers: int | None = None  # of a thread at most, so that more programs fit on a multiprocessor


# By the width of a head and the bytes of a number. An entry may be exchanged at any time.
FORWARD = {
    **dict.fromkeys(((16, 2), (32, 2), (64, 2), (128, 2)), AttentionTile(64, 64, stages=3)),
    **dict.fromkeys(((16, 4), (32, 4), (64, 4)), AttentionTile(32, 32, warps=8, stages=1)),
    (128, 4): AttentionTile(16, 16, stages=1),
}
BACKWARD = FORWARD | {
    **dict.fromkeys(((16, 2), (32, 2)), AttentionTile(64, 64, stages=1)),
    (64, 2): AttentionTile(64, 64, stages=1, registers=168),
    (128, 2): AttentionTile(64, 64, warps=8),
}

Inputs = tuple[Tensor, ...]  # (qkv,) or (q, kv), their gradients, or the biases in them

RANGES = ["key_begin", "key_end", "query_begin", "query_end"]  # slices: they start anywhere


@triton.jit
def rows_of(x, rows, stride, head, WIDTH: tl.constexpr):
    """Pointers to these rows of one head, (rows, K)."""
    return x + rows[:, None] * stride + head * WIDTH + tl.arange(0, WIDTH)[None, :]


@triton.jit
def bounds_of(begin, end, first, count, BLOCK: tl.constexpr):
    """The ranges of a block of places, each and all together; a place past `count` sees nothing."""
    places = first + tl.arange(0, BLOCK)
    low = tl.load(begin + places, mask=places < count, other=0)  # (BLOCK,)
    high = tl.load(end + places, mask=places < count, other=0)  # (BLOCK,)
    lowest = tl.load(begin + first)
    highest = tl.load(end + tl.minimum(first + BLOCK, count) - 1)
    return places, low, high, lowest, highest


@triton.jit(do_not_specialize=["queries"], do_not_specialize_on_alignment=RANGES)
def forward_kernel(
    q, k, v, out, lse, key_begin, key_end, queries, q_stride, k_stride, out_stride,
    SCALE: tl.constexpr, WIDTH: tl.constexpr, BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    """O (T, D) and the logarithm of each softmax's sum, in base 2, (H, T)."""
    head, first = tl.program_id(0), tl.program_id(1) * BLOCK_Q
    rows, low, high, lowest, highest = bounds_of(key_begin, key_end, first, queries, BLOCK_Q)
    inside = rows < queries
    q_rows = tl.load(rows_of(q, rows, q_stride, head, WIDTH), mask=inside[:, None], other=0.0)
    top = tl.full((BLOCK_Q,), UNSEEN, tl.float32)
    total = tl.zeros((BLOCK_Q,), tl.float32)
    context = tl.zeros((BLOCK_Q, WIDTH), tl.float32)
    for start in range(lowest, highest, BLOCK_K):
        keys = start + tl.arange(0, BLOCK_K)
        within = (keys < highest)[:, None]
        k_rows = tl.load(rows_of(k, keys, k_stride, head, WIDTH), mask=within, other=0.0)
        v_rows = tl.load(rows_of(v, keys, k_stride, head, WIDTH), mask=within, other=0.0)
        scores = tl.dot(q_rows, tl.trans(k_rows), input_precision="ieee") * SCALE  # (BLOCK_Q, BLOCK_K)
        seen = (low[:, None] <= keys[None, :]) & (keys[None, :] < high[:, None])
        scores = tl.where(seen, scores, UNSEEN)
        higher = tl.maximum(top, tl.max(scores, 1))
        weights = tl.exp2(scores - higher[:, None])  # 1 before a row's first key, and then wiped out
        shrink = tl.exp2(top - higher)
        total = total * shrink + tl.sum(weights, 1)
        context = context * shrink[:, None]
        context += tl.dot(weights.to(v_rows.dtype), v_rows, input_precision="ieee")
        top = higher
    tl.store(rows_of(out, rows, out_stride, head, WIDTH), context / total[:, None], mask=inside[:, None])
    tl.store(lse + head * queries + rows, top + tl.log2(total), mask=inside)


@triton.jit
def query_gradient(
    q, k, v, out, d_out, lse, d_q, d_bias, key_begin, key_end, queries, q_stride, k_stride, out_stride,
    head, first,
    SCALE: tl.constexpr, ROOT: tl.constexpr, BIAS: tl.constexpr, WIDTH: tl.constexpr,
    BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    """dQ of a block of queries, and its sum over them for a bias."""
    rows, low, high, lowest, highest = bounds_of(key_begin, key_end, first, queries, BLOCK_Q)
    inside = rows < queries
    q_rows = tl.load(rows_of(q, rows, q_stride, head, WIDTH), mask=inside[:, None], other=0.0)
    o_rows = tl.load(rows_of(out, rows, out_stride, head, WIDTH), mask=inside[:, None], other=0.0)
    do_rows = tl.load(rows_of(d_out, rows, out_stride, head, WIDTH), mask=inside[:, None], other=0.0)
    delta = tl.sum(o_rows.to(tl.float32) * do_rows.to(tl.float32), 1)  # (BLOCK_Q,)
    total = tl.load(lse + head * queries + rows, mask=inside, other=0.0)
    dq_rows = tl.zeros((BLOCK_Q, WIDTH), tl.float32)
    for start in range(lowest, highest, BLOCK_K):
        keys = start + tl.arange(0, BLOCK_K)
        within = (keys < highest)[:, None]
        k_rows = tl.load(rows_of(k, keys, k_stride, head, WIDTH), mask=within, other=0.0)
        v_rows = tl.load(rows_of(v, keys, k_stride, head, WIDTH), mask=within, other=0.0)
        scores = tl.dot(q_rows, tl.trans(k_rows), input_precision="ieee") * SCALE  # (BLOCK_Q, BLOCK_K)
        seen = (low[:, None] <= keys[None, :]) & (keys[None, :] < high[:, None])
        weights = tl.exp2(tl.where(seen, scores - total[:, None], UNSEEN))
        d_weights = tl.dot(do_rows, tl.trans(v_rows), input_precision="ieee")
        d_scores = weights * (d_weights - delta[:, None])
        dq_rows += tl.dot(d_scores.to(k_rows.dtype), k_rows, input_precision="ieee")
    dq_rows = dq_rows / ROOT
    tl.store(rows_of(d_q, rows, q_stride, head, WIDTH), dq_rows, mask=inside[:, None])
    if BIAS:
        tl.atomic_add(d_bias + head * WIDTH + tl.arange(0, WIDTH), tl.sum(dq_rows, 0))


@triton.jit
def key_gradient(
    q, k, v, out, d_out, lse, d_k, d_v, d_bias, query_begin, query_end, queries, keys,
    q_stride, k_stride, out_stride, head, first,
    SCALE: tl.constexpr, ROOT: tl.constexpr, BIAS: tl.constexpr, WIDTH: tl.constexpr,
    BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    """dK and dV of a block of keys, and the sum of dV; all is laid out keys first, so S^T and P^T."""
    rows, low, high, lowest, highest = bounds_of(query_begin, query_end, first, keys, BLOCK_K)
    inside = (rows < keys)[:, None]
    k_rows = tl.load(rows_of(k, rows, k_stride, head, WIDTH), mask=inside, other=0.0)
    v_rows = tl.load(rows_of(v, rows, k_stride, head, WIDTH), mask=inside, other=0.0)
    dk_rows = tl.zeros((BLOCK_K, WIDTH), tl.float32)
    dv_rows = tl.zeros((BLOCK_K, WIDTH), tl.float32)
    for start in range(lowest, highest, BLOCK_Q):
        readers = start + tl.arange(0, BLOCK_Q)
        within = readers < highest
        q_rows = tl.load(rows_of(q, readers, q_stride, head, WIDTH), mask=within[:, None], other=0.0)
        o_rows = tl.load(rows_of(out, readers, out_stride, head, WIDTH), mask=within[:, None], other=0.0)
        do_rows = tl.load(rows_of(d_out, readers, out_stride, head, WIDTH), mask=within[:, None], other=0.0)
        total = tl.load(lse + head * queries + readers, mask=within, other=0.0)
        delta = tl.sum(o_rows.to(tl.float32) * do_rows.to(tl.float32), 1)  # (BLOCK_Q,)
        scores = tl.dot(k_rows, tl.trans(q_rows), input_precision="ieee") * SCALE  # (BLOCK_K, BLOCK_Q)
        seen = (low[:, None] <= readers[None, :]) & (readers[None, :] < high[:, None])
        weights = tl.exp2(tl.where(seen, scores - total[None, :], UNSEEN))
        dv_rows += tl.dot(weights.to(do_rows.dtype), do_rows, input_precision="ieee")
        d_weights = tl.dot(v_rows, tl.trans(do_rows), input_precision="ieee")
        d_scores = weights * (d_weights - delta[None, :])
        dk_rows += tl.dot(d_scores.to(q_rows.dtype), q_rows, input_precision="ieee")
    tl.store(rows_of(d_k, rows, k_stride, head, WIDTH), dk_rows / ROOT, mask=inside)
    tl.store(rows_of(d_v, rows, k_stride, head, WIDTH), dv_rows, mask=inside)
    if BIAS:
        tl.atomic_add(d_bias + head * WIDTH + tl.arange(0, WIDTH), tl.sum(dv_rows, 0))


@triton.jit(do_not_specialize=["queries", "keys"], do_not_specialize_on_alignment=RANGES)
def backward_kernel(
    q, k, v, out, d_out, lse, d_q, d_k, d_v, q_bias, v_bias,
    key_begin, key_end, query_begin, query_end, queries, keys, q_stride, k_stride, out_stride,
    SCALE: tl.constexpr, ROOT: tl.constexpr, BIAS: tl.constexpr, WIDTH: tl.constexpr,
    BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    """Even programs: dQ of a block of queries. Odd ones: dK and dV of a block of keys."""
    head, block = tl.program_id(0), tl.program_id(1) // 2
    if tl.program_id(1) % 2 == 0:
        if block * BLOCK_Q < queries:
            query_gradient(
                q, k, v, out, d_out, lse, d_q, q_bias, key_begin, key_end, queries,
                q_stride, k_stride, out_stride, head, block * BLOCK_Q,
                SCALE, ROOT, BIAS, WIDTH, BLOCK_Q, BLOCK_K,
            )  # fmt: skip
    elif block * BLOCK_K < keys:
        key_gradient(
            q, k, v, out, d_out, lse, d_k, d_v, v_bias, query_begin, query_end, queries, keys,
            q_stride, k_stride, out_stride, head, block * BLOCK_K,
            SCALE, ROOT, BIAS, WIDTH, BLOCK_Q, BLOCK_K,
        )  # fmt: skip


def root_of(width: int, *, scale: bool) -> float:
    """What scores are divided by."""
    return sqrt(width) if scale else 1.0


def constants(tile: AttentionTile, width: int, *, scale: bool) -> dict[str, Any]:
    """What both kernels are compiled for."""
    blocks = {"BLOCK_Q": tile.queries, "BLOCK_K": tile.keys}
    launch = {"num_warps": tile.warps, "num_stages": tile.stages, "maxnreg": tile.registers}
    return {"SCALE": 1 / (log(2) * root_of(width, scale=scale)), "WIDTH": width, **blocks, **launch}


def run_forward(inputs: Inputs, heads: int, spans: Spans, *, scale: bool) -> tuple[Tensor, Tensor]:
    """O (T, D) and the logarithms of the sums (H, T) for inputs (qkv,) or (q, kv), contiguous."""
    q, k, v = query_key_value(inputs)
    T, D = q.shape
    tile = FORWARD[D // heads, q.element_size()]
    out, lse = q.new_empty(T, D), q.new_empty(heads, T, dtype=torch.float32)
    with torch.cuda.device_of(q):
        forward_kernel[heads, triton.cdiv(T, tile.queries)](
            q, k, v, out, lse, spans.key_begin, spans.key_end, T, q.stride(0), k.stride(0), D,
            **constants(tile, D // heads, scale=scale),
        )  # fmt: skip
    return out, lse


def run_backward(
    inputs: Inputs, biases: Inputs, heads: int, spans: Spans, out: Tensor, lse: Tensor, d_out: Tensor,
    *, scale: bool,
) -> Inputs:  # fmt: skip
    """The gradients of the inputs and of the biases, all in one launch."""
    gradients = tuple(torch.empty_like(x) for x in inputs)
    sums = tuple(torch.zeros_like(bias, dtype=torch.float32) for bias in biases)
    q, k, v = query_key_value(inputs)
    (T, D), (S, _) = q.shape, k.shape
    q_bias, _, v_bias = query_key_value(sums) if sums else (None, None, None)
    tile = BACKWARD[D // heads, q.element_size()]
    blocks = max(triton.cdiv(T, tile.queries), triton.cdiv(S, tile.keys))
    given = (q, k, v, out, d_out, lse, *query_key_value(gradients), q_bias, v_bias)
    ranges = (spans.key_begin, spans.key_end, spans.query_begin, spans.query_end)
    fixed = {"ROOT": root_of(D // heads, scale=scale), "BIAS": bool(sums)}
    fixed |= constants(tile, D // heads, scale=scale)
    with torch.cuda.device_of(q):
        backward_kernel[heads, 2 * blocks](*given, *ranges, T, S, q.stride(0), k.stride(0), D, **fixed)
    return *gradients, *(one.to(bias.dtype) for one, bias in zip(sums, biases, strict=True))


def twin_backward(
    inputs: Inputs, biases: Inputs, heads: int, spans: Spans, d_out: Tensor, *, scale: bool
) -> Inputs:
    """The gradients by the twin, should the kernel not run."""
    with torch.enable_grad():
        leaves = tuple(x.detach().requires_grad_() for x in inputs)
        out = masked_attention(query_key_value(leaves), heads, spans, scale=scale)
        found = torch.autograd.grad(out, leaves, d_out)
    sums = (one.sum(0, dtype=torch.float32) for one in found)
    return *found, *(one.to(bias.dtype) for one, bias in zip(sums, biases, strict=False))


class SpanAttention(torch.autograd.Function):
    """The kernels as one differentiable function of (qkv,) or (q, kv), and of the biases in them."""

    @staticmethod
    def forward(
        ctx: Any,
        heads: int,
        spans: Spans,
        count: int,
        scale: bool,  # noqa: FBT001
        guard: Guard,
        *tensors: Tensor,
    ) -> Tensor:
        inputs, biases = tensors[:count], tensors[count:]
        ctx.heads, ctx.spans, ctx.count, ctx.scale, ctx.guard = heads, spans, count, scale, guard
        out, lse = run_forward(inputs, heads, spans, scale=scale)
        ctx.save_for_backward(out, lse, *inputs, *biases)
        return out

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, d_out: Tensor) -> tuple[Tensor | None, ...]:
        out, lse, *rest = ctx.saved_tensors
        inputs, biases, given = tuple(rest[: ctx.count]), tuple(rest[ctx.count :]), d_out.contiguous()

        def fast() -> Inputs:
            return run_backward(inputs, biases, ctx.heads, ctx.spans, out, lse, given, scale=ctx.scale)

        def slow() -> Inputs:
            return twin_backward(inputs, biases, ctx.heads, ctx.spans, given, scale=ctx.scale)

        return None, None, None, None, None, *ctx.guard("attention's gradient", fast, slow)


def attend(
    inputs: Inputs, heads: int, spans: Spans, biases: Inputs = (), *, scale: bool = True, guard: Guard
) -> Tensor:
    """softmax(Q K^T / sqrt(d_k)) V in each head, (T, D), of inputs (qkv,) or (q, kv)."""
    given = (x.contiguous() for x in inputs)
    return SpanAttention.apply(heads, spans, len(inputs), scale, guard, *given, *biases)  # type: ignore[no-any-return]
