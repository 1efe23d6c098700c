"""Attention of beams: the W hypotheses of a sentence ask together, and share every key and value.

Beam w' writes its key and value at place t into slot (t, w') of the past. A beam sees the slots of its
ancestors, so that beams may change their order and nothing is moved:

    seen(w, (t, w')) = 1  if  ancestor(w, t) = w',  else 0

Here in plain torch under a mask; `triton/beams.py` has kernels that read only what is there.

Axis letters: B sentences, W beams, T places, S source, H heads, K width of one head.
"""

import torch
from torch import Tensor

from jumok.backends.values import Pair
from jumok.nn.functional import fused_attention, merge_heads


def twin_past(
    query: Tensor,
    new: Pair,
    past: Pair,
    ancestors: Tensor,
    place: Tensor,
    places: int,
    *,
    scale: bool = True,
    bias: Tensor | None = None,
) -> Tensor:
    """query and new (B, H, W, K), all at one `place` (1,), with the past (B, H, T·W, K) -> (B, W, H·K).

    The new keys and values go into the past. ancestors (B, W, T) are slots of earlier places, and whatever is
    seen lies within the first `places`. Without `scale` no score is divided by sqrt(d_k). A bias
    (H, 1, places) is added to the scores.
    """
    B, W, _ = ancestors.shape
    for slots, one in zip(past, new, strict=True):
        slots.view(*slots.shape[:2], -1, W, slots.shape[3]).index_copy_(2, place, one[:, :, None])
    own = torch.arange(W, dtype=ancestors.dtype, device=ancestors.device)
    family = ancestors[:, :, :places].index_copy(2, place, own[None, :, None].expand(B, W, 1))
    seen = (family[:, :, :, None] == own).flatten(2)[:, None]  # (B, 1, W, T·W)
    keys, values = (slots[:, :, : places * W] for slots in past)
    bias = None if bias is None else bias.repeat_interleave(W, dim=-1)[None]  # (1, H, 1, T·W)
    return merge_heads(fused_attention(query, keys, values, seen, scale=scale, bias=bias))


def twin_source(query: Tensor, source: Pair, lengths: Tensor, *, scale: bool = True) -> Tensor:
    """query (B, H, W, K), source (B, H, S, K) with `lengths` (B,) real tokens each -> (B, W, H·K)."""
    seen = torch.arange(source[0].shape[2], device=lengths.device) < lengths[:, None]  # (B, S)
    return merge_heads(fused_attention(query, *source, seen[:, None, None], scale=scale))
