"""Attention of a few beams over the keys they share, in Triton: one program for each sentence and head.

    O = softmax(Q K^T / sqrt(d_k)) V

Each key and value is read once for all beams, and none that nobody can see. Softmax is in fp32 and base 2.

Axis letters: B sentences, W beams, T places, S source, H heads, K width of one head.
"""
# mypy: disable-error-code="no-untyped-def, untyped-decorator, no-untyped-call"
# ruff: noqa: PLR0913  (a kernel takes pointers, an argument each)

from math import log, sqrt

import torch
import triton  # type: ignore[import-untyped]
import triton.language as tl  # type: ignore[import-untyped]
from torch import Tensor

WIDTHS = (16, 32, 64, 128)
"""Widths of a head that the kernels take."""
FEWEST = 16  # rows of the smallest product
KEYS, WARPS, STAGES = 64, 2, 2  # keys at once. May be exchanged before the first call
UNSEEN = tl.constexpr(-1e30)  # a score whose weight is 0 beside any other


@triton.jit
def add_keys(top, total, context, q, key, value, seen, scale):
    """One more block of keys and values (L, K) for the beams' softmax; seen (W, L)."""
    scores = tl.dot(q, tl.trans(key), input_precision="ieee") * scale  # (W, L)
    scores = tl.where(seen, scores, UNSEEN)
    higher = tl.maximum(top, tl.max(scores, 1))
    shrink = tl.exp2(top - higher)
    weights = tl.where(seen, tl.exp2(scores - higher[:, None]), 0.0)
    total = total * shrink + tl.sum(weights, 1)
    product = tl.dot(weights.to(value.dtype), value, input_precision="ieee")  # (W, K)
    return higher, total, context * shrink[:, None] + product


@triton.jit
def past_kernel(
    query, new_keys, new_values, keys, values, ancestors, place, out, scale,
    of_sentence, of_head, of_beam, keys_of_sentence, keys_of_head, heads, places,
    W: tl.constexpr, WIDTH: tl.constexpr, BEAMS: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """Write the new keys and values of a sentence's beams, and let each beam see those of its ancestors."""
    sentence, head = (tl.program_id(0) // heads).to(tl.int64), tl.program_id(0) % heads
    now = tl.load(place).to(tl.int32)
    beam, col = tl.arange(0, BEAMS), tl.arange(0, WIDTH)
    real = (beam < W)[:, None]
    own = sentence * of_sentence + head * of_head + beam[:, None] * of_beam + col[None, :]
    q = tl.load(query + own, mask=real, other=0.0)
    key = tl.load(new_keys + own, mask=real, other=0.0)
    value = tl.load(new_values + own, mask=real, other=0.0)
    past = sentence * keys_of_sentence + head * keys_of_head
    slot = past + (now * W + beam)[:, None] * WIDTH + col[None, :]
    tl.store(keys + slot, key, mask=real)
    tl.store(values + slot, value, mask=real)

    top = tl.full((BEAMS,), UNSEEN, tl.float32)
    total = tl.zeros((BEAMS,), tl.float32)
    context = tl.zeros((BEAMS, WIDTH), tl.float32)
    itself = beam[:, None] == beam[None, :]
    top, total, context = add_keys(top, total, context, q, key, value, itself, scale)
    family = ancestors + (sentence * W + beam[:, None]) * places
    for first in range(0, now * W, BLOCK):
        slots = first + tl.arange(0, BLOCK)
        inside = slots < now * W
        at = past + slots[:, None] * WIDTH + col[None, :]
        old_key = tl.load(keys + at, mask=inside[:, None], other=0.0)
        old_value = tl.load(values + at, mask=inside[:, None], other=0.0)
        known = real & inside[None, :]
        ancestor = tl.load(family + (slots // W)[None, :], mask=known, other=-1).to(tl.int32)
        seen = known & (ancestor == (slots % W)[None, :])
        top, total, context = add_keys(top, total, context, q, old_key, old_value, seen, scale)
    to = ((sentence * W + beam[:, None]) * heads + head) * WIDTH + col[None, :]
    tl.store(out + to, (context / total[:, None]).to(out.dtype.element_ty), mask=real)


@triton.jit
def source_kernel(
    query, keys, values, lengths, out, scale,
    of_sentence, of_head, of_beam, keys_of_sentence, keys_of_head, heads,
    W: tl.constexpr, WIDTH: tl.constexpr, BEAMS: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """All beams of a sentence see the first `lengths` keys of its source."""
    sentence, head = (tl.program_id(0) // heads).to(tl.int64), tl.program_id(0) % heads
    end = tl.load(lengths + sentence).to(tl.int32)
    beam, col = tl.arange(0, BEAMS), tl.arange(0, WIDTH)
    real = (beam < W)[:, None]
    own = sentence * of_sentence + head * of_head + beam[:, None] * of_beam + col[None, :]
    q = tl.load(query + own, mask=real, other=0.0)
    source = sentence * keys_of_sentence + head * keys_of_head
    top = tl.full((BEAMS,), UNSEEN, tl.float32)
    total = tl.zeros((BEAMS,), tl.float32)
    context = tl.zeros((BEAMS, WIDTH), tl.float32)
    for first in range(0, end, BLOCK):
        places = first + tl.arange(0, BLOCK)
        inside = places < end
        at = source + places[:, None] * WIDTH + col[None, :]
        key = tl.load(keys + at, mask=inside[:, None], other=0.0)
        value = tl.load(values + at, mask=inside[:, None], other=0.0)
        seen = (beam >= 0)[:, None] & inside[None, :]
        top, total, context = add_keys(top, total, context, q, key, value, seen, scale)
    to = ((sentence * W + beam[:, None]) * heads + head) * WIDTH + col[None, :]
    tl.store(out + to, (context / total[:, None]).to(out.dtype.element_ty), mask=real)


def attend_past(
    query: Tensor, new: tuple[Tensor, Tensor], past: tuple[Tensor, Tensor], ancestors: Tensor, place: Tensor,
    *, scale: bool = True,
) -> Tensor:  # fmt: skip
    """`jumok.backends.beams.twin_past`: query and new (B, H, W, K), past (B, H, T·W, K) -> (B, W, H·K)."""
    B, H, W, K = query.shape
    if any(one.stride() != query.stride() for one in new):
        query, new = query.contiguous(), (new[0].contiguous(), new[1].contiguous())
    out = torch.empty(B, W, H * K, dtype=query.dtype, device=query.device)
    past_kernel[(B * H,)](
        query, *new, *past, ancestors, place, out, factor_of(K, scale=scale),
        *query.stride()[:3], *past[0].stride()[:2], H, ancestors.shape[2],
        W, K, *tile(W), num_warps=WARPS, num_stages=STAGES,
    )  # fmt: skip
    return out


def attend_source(
    query: Tensor, source: tuple[Tensor, Tensor], lengths: Tensor, *, scale: bool = True
) -> Tensor:
    """`jumok.backends.beams.twin_source`: query (B, H, W, K), source (B, H, S, K) -> (B, W, H·K)."""
    B, H, W, K = query.shape
    out = torch.empty(B, W, H * K, dtype=query.dtype, device=query.device)
    source_kernel[(B * H,)](
        query, *source, lengths, out, factor_of(K, scale=scale),
        *query.stride()[:3], *source[0].stride()[:2], H,
        W, K, *tile(W), num_warps=WARPS, num_stages=STAGES,
    )  # fmt: skip
    return out


def factor_of(width: int, *, scale: bool) -> float:
    """1 / sqrt(d_k), or 1 without `scale`, for powers of 2 in place of e."""
    return 1 / ((sqrt(width) if scale else 1.0) * log(2))


def tile(beams: int) -> tuple[int, int]:
    """Rows and keys of one product."""
    return max(triton.next_power_of_2(beams), FEWEST), KEYS
