"""Attention over sentences laid end to end: each token sees a range of places, so nothing is padding.

Axis letters: S keys, T queries, L either (self-attention), D width, H heads, K width of one head.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import sqrt

import torch
from torch import Tensor
from torch.nn import functional as F

from jumok.nn import native
from jumok.nn.functional import fused_attention, merge_heads, split_heads
from jumok.nn.kernels import available, guarded

HEAD_WIDTHS = (16, 32, 64, 128)  # that the kernels take as they are
DTYPES = (torch.bfloat16, torch.float16, torch.float32)
LARGEST = 2**31  # the kernels count places in 32 bits


@dataclass(frozen=True)
class Spans:
    """Which keys each query sees and which queries see each key, as half-open ranges that never go back.

    Every query sees a key. The two halves say the same, but a key may leave out queries whose result is used
    nowhere: no gradient comes back through them.
    """

    key_begin: Tensor  # (T,) int32
    key_end: Tensor  # (T,) int32: query t sees the keys [begin, end)
    query_begin: Tensor  # (S,) int32
    query_end: Tensor  # (S,) int32: the queries [begin, end) see key s


def own_spans(range_: Tensor) -> Spans:
    """Every token sees its whole sentence; range_ (2, L) is where that lies."""
    begin, end = range_
    return Spans(begin, end, begin, end)


def causal_spans(range_: Tensor) -> Spans:
    """Every token sees its sentence up to itself; range_ (2, L)."""
    begin, end = range_
    place = torch.arange(len(begin), dtype=begin.dtype, device=begin.device)  # (L,)
    return Spans(begin, place + 1, place, end)


def cross_spans(reads: Tensor, readers: Tensor) -> Spans:
    """Target tokens see the source of their pair: reads (2, T), readers (2, S)."""
    return Spans(reads[0], reads[1], readers[0], readers[1])


def span_mask(spans: Spans) -> Tensor:
    """(T, S), True where query t sees key s."""
    place = torch.arange(len(spans.query_begin), device=spans.key_begin.device)  # (S,)
    return (spans.key_begin[:, None] <= place) & (place < spans.key_end[:, None])  # (T, S)


def self_attention(
    qkv: Tensor, heads: int, spans: Spans, bias: Tensor | None = None, *, scale: bool = True
) -> Tensor:
    """softmax(Q K^T / sqrt(d_k)) V in each head; qkv (L, 3·D) holds Q, K and V side by side -> (L, D).

    A bias (3·D,) is one that qkv already has in it: here its gradient is summed on the way. That of the keys
    is 0, as the same number on all scores of a row changes no weight. Without `scale` nothing is divided.
    """
    return span_attention((qkv,), heads, spans, () if bias is None else (bias,), scale=scale)


def cross_attention(
    q: Tensor,
    kv: Tensor,
    heads: int,
    spans: Spans,
    biases: tuple[Tensor, Tensor] | tuple[()] = (),
    *,
    scale: bool = True,
) -> Tensor:
    """The same with queries from elsewhere: q (T, D), kv (S, 2·D) holds K and V side by side -> (T, D)."""
    return span_attention((q, kv), heads, spans, biases, scale=scale)


def span_attention(
    inputs: tuple[Tensor, ...], heads: int, spans: Spans, biases: tuple[Tensor, ...] = (), *, scale: bool
) -> Tensor:
    """By the kernels where they run, else by `masked_attention`; inputs (qkv,) or (q, kv)."""
    width = query_key_value(inputs)[0].shape[1] // heads
    if native.usable(*inputs, *biases) and width <= native.WIDEST_HEAD:
        ends, count = (spans.key_begin, spans.key_end), len(inputs)
        out: Tensor = native.Attend.apply(*ends, heads, scale, count, *inputs, *biases)  # type: ignore[no-untyped-call]
        return out

    def fast() -> Tensor:
        from jumok.nn.kernels.attention import attend  # loads Triton, which not every machine has

        if kernel_width(width) == width:
            return attend(inputs, heads, spans, biases, scale=scale)
        return with_wide_heads(
            seen(), heads, lambda wide: attend(wide, heads, spans, scale=scale), scale=scale
        )

    def slow() -> Tensor:
        return masked_attention(seen(), heads, spans, scale=scale)

    def seen() -> tuple[Tensor, ...]:
        zeros = (bias - bias.detach() for bias in biases)  # that pass a gradient on
        return tuple(x + zero for x, zero in zip(inputs, zeros, strict=True)) if biases else inputs

    name = "attention" if width <= HEAD_WIDTHS[-1] else f"attention over heads of {width}"
    return guarded(name, fast, slow) if kernels_fit(inputs) else slow()


def kernels_fit(inputs: tuple[Tensor, ...]) -> bool:
    return all(available(x) and x.dtype in DTYPES and x.numel() < LARGEST for x in inputs)


def kernel_width(width: int) -> int:
    """The width of heads that the kernels take for heads of this width. ValueError if there is none."""
    for wide in HEAD_WIDTHS:
        if width <= wide:
            return wide
    raise ValueError(f"heads of {width} numbers, and it takes up to {HEAD_WIDTHS[-1]}")


def with_wide_heads(
    inputs: tuple[Tensor, ...],
    heads: int,
    attend: Callable[[tuple[Tensor, ...]], Tensor],
    *,
    scale: bool = True,
) -> Tensor:
    """Attention with zeros behind each head, as wide as the kernels take; inputs (qkv,) or (q, kv) -> (T, D).

    Queries grow by as much as the root that scores are divided by, if they are: sqrt(wide / d_k).
    """
    q, k, v = query_key_value(inputs)
    width = q.shape[1] // heads
    wide = kernel_width(width)

    def widened(x: Tensor) -> Tensor:
        return F.pad(x.reshape(len(x), -1, width), (0, wide - width)).flatten(1)  # (L, ·)

    larger = q * sqrt(wide / width) if scale else q
    out = attend((widened(larger), widened(torch.cat((k, v), dim=1))))  # (T, H · wide)
    return out.view(len(out), heads, wide)[:, :, :width].flatten(1)


def query_key_value(inputs: tuple[Tensor, ...]) -> tuple[Tensor, Tensor, Tensor]:
    """Views of the three, (T, D), (S, D), (S, D), in (qkv,) or (q, kv), or in their gradients."""
    *first, last = inputs
    q, k, v = (*first, *last.chunk(3 - len(first), dim=-1))
    return q, k, v


def masked_attention(inputs: tuple[Tensor, ...], heads: int, spans: Spans, *, scale: bool = True) -> Tensor:
    """The twin of the kernels: all queries against all keys, with a mask; inputs (qkv,) or (q, kv)."""
    q, k, v = (split_heads(x[None], heads) for x in query_key_value(inputs))  # (1, H, L, K)
    return merge_heads(fused_attention(q, k, v, span_mask(spans), scale=scale))[0]  # (T, D)
