"""Self-attention with relative positions over sentences laid end to end, without one large rectangle.

No sentence has more than W tokens, so a query at place i sees nothing outside of i - W + 1 … i + W - 1.
Blocks of W queries, each against the band of keys around it, hold all that is seen in L · 3W scores instead
of L²; their shapes follow from L and W alone, so that a step can be captured. In every block the distances
are the same, and so is the bias.

Axis letters: L tokens, n blocks of W queries, S keys of a band, D width, H heads, K width of one head.
"""

import torch
from torch import Tensor
from torch.nn import functional as F

from jumok.nn.functional import fused_attention, merge_heads, split_heads
from jumok.nn.relative import Relative
from jumok.nn.spans import Spans


def banded_attention(
    qkv: tuple[Tensor, Tensor, Tensor], heads: int, spans: Spans, relative: Relative, *, scale: bool
) -> Tensor:
    """softmax(Q K^T / sqrt(d_k) + bias) V of tokens (L, D) that look at their own sentence -> (L, D)."""
    L = len(qkv[0])
    W = min(relative.longest, L)
    behind, ahead = W - 1, 0 if spans.causal else W - 1
    q, (k, v) = blocks(qkv[0], W), (blocks(x, W, behind, ahead) for x in qkv[1:])
    query, key, value = (split_heads(x, heads) for x in (q, k, v))  # (n, H, ·, K)
    bias = relative.band(W, k.shape[1], behind)[None]  # (1, H, W, S)
    mask = seen(spans, L, W, k.shape[1], behind)
    return merge_heads(fused_attention(query, key, value, mask, scale=scale, bias=bias)).flatten(0, 1)[:L]


def blocks(x: Tensor, size: int, behind: int = 0, ahead: int = 0) -> Tensor:
    """x (L, D) in blocks of `size` rows, with so many rows around each; zeros where there are none."""
    room = -len(x) % size
    return F.pad(x, (0, 0, behind, ahead + room)).unfold(0, behind + size + ahead, size).transpose(1, 2)


def seen(spans: Spans, length: int, size: int, keys: int, behind: int) -> Tensor:
    """(n, 1, W, S): which keys of its band each query sees; one that is not there sees itself."""
    device, rows = spans.key_begin.device, -(-length // size)
    spare = torch.arange(length, rows * size, device=device)
    begin, end = (
        torch.cat((side, more)).view(rows, size, 1)
        for side, more in ((spans.key_begin, spare), (spans.key_end, spare + 1))
    )
    place = torch.arange(rows, device=device)[:, None] * size - behind + torch.arange(keys, device=device)
    return ((begin <= place[:, None]) & (place[:, None] < end))[:, None]
