"""Pure functions: masks, scaled dot-product attention in five stages, Luong's scores.

Axis letters: B batch, S source, T target, L a length, D width, H heads, K width of one head.
"""

from dataclasses import dataclass
from math import sqrt

import torch
from torch import Tensor
from torch.nn import functional as F

from jumok.edits import AttentionEdit
from jumok.nn.edit import Places, change_weights, cut_keys, scale_heads


@dataclass(frozen=True)
class Stages:
    """Every stage of one attention, in the order of computation.

    With one head per model (Luong) the H axis has length 1 and `scaled` equals `scores`.
    """

    query: Tensor  # (B, H, T, K)
    key: Tensor  # (B, H, S, K)
    value: Tensor  # (B, H, S, K)
    scores: Tensor  # (B, H, T, S), Q K^T
    scaled: Tensor  # (B, H, T, S), Q K^T / sqrt(d_k); the scores themselves in a model without that
    mask: Tensor  # broadcasts to (B, H, T, S), True where looking is allowed
    weights: Tensor  # (B, H, T, S), after the softmax; rows sum to 1
    context: Tensor  # (B, H, T, K), weights V
    out: Tensor | None = None  # (B, T, D), heads joined and projected; Luong: the attentional state
    bias: Tensor | None = None  # (B, H, T, S), what relative positions add to `scaled` before the mask


def length_mask(lengths: Tensor, length: int) -> Tensor:
    """(B,) lengths -> (B, L), True at real tokens."""
    return torch.arange(length, device=lengths.device) < lengths[:, None]  # (B, L)


def causal_mask(length: int, device: torch.device | None = None) -> Tensor:
    """(T, T), True where position i may look at position j <= i."""
    return torch.ones(length, length, dtype=torch.bool, device=device).tril()


def masked_softmax(scores: Tensor, mask: Tensor) -> Tensor:
    """Softmax over the last axis with weight exactly 0 where `mask` is False.

    Every row needs at least one True.
    """
    return scores.masked_fill(~mask, -torch.inf).softmax(dim=-1)


def attention_stages(  # noqa: PLR0913
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor,
    *,
    scale: bool = True,
    edit: AttentionEdit | None = None,
    first: int | Tensor = 0,
    begin: Tensor | None = None,
    bias: Tensor | None = None,
) -> Stages:
    """Scaled dot-product attention, stage by stage (Vaswani et al. 2017, eq. 1).

        Attention(Q, K, V) = softmax(Q K^T / sqrt(d_k)) V

    query (B, H, T, K), key and value (B, H, S, K), mask broadcasts to (B, H, T, S). Without `scale`, and
    with an edit that leaves it out, nothing is divided: `scaled` is `scores`. A bias, which broadcasts to
    (B, H, T, S), is added before the mask: softmax(Q K^T / sqrt(d_k) + bias) V.
    This is the slow twin of `fused_attention`: it keeps what people want to look at, and applies an edit.
    """
    scores = query @ key.mT  # (B, H, T, S)
    scale = scale and (edit is None or edit.scaled)
    scaled = scores / sqrt(key.shape[-1]) if scale else scores
    bias = None if bias is None else bias.to(scaled.dtype).expand_as(scaled)
    placed = scaled if bias is None else scaled + bias
    after = weigh(placed, value, mask, edit, first=first, begin=begin)
    return Stages(query, key, value, scores, scaled, *after, bias=bias)


def weigh(
    scaled: Tensor,
    value: Tensor,
    mask: Tensor,
    edit: AttentionEdit | None = None,
    *,
    first: int | Tensor = 0,
    begin: Tensor | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """From scores (B, H, T, S) to the context: mask, weights and context, with an edit's changes in them.

    The edit speaks of positions: `first` is that of the first query, `begin` the place of the first key; a
    tensor (B,) says it for each sentence.
    """
    if edit is None:
        weights = masked_softmax(scaled, mask)
        return mask, weights, weights @ value  # (B, H, T, K)
    places = Places((*scaled.shape,), scaled.device, first, begin)
    left = cut_keys(mask, edit, places)
    weights = change_weights(masked_softmax(scaled, left), mask, left, edit, places)
    return left, weights, scale_heads(weights @ value, edit)


def fused_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None,
    *,
    scale: bool = True,
    bias: Tensor | None = None,
) -> Tensor:
    """The context of `attention_stages` in one kernel that keeps no weights. No mask: all keys are seen."""
    factor = None if scale else 1.0  # None: 1 / sqrt(d_k)
    if bias is not None:
        bias = bias.to(query.dtype)
        mask = bias if mask is None else bias.masked_fill(~mask, -torch.inf)
    return F.scaled_dot_product_attention(query, key, value, attn_mask=mask, scale=factor)  # (B, H, T, K)


def split_heads(x: Tensor, heads: int) -> Tensor:
    B, L, D = x.shape
    return x.view(B, L, heads, D // heads).transpose(1, 2)  # (B, H, L, K)


def merge_heads(x: Tensor) -> Tensor:
    return x.transpose(1, 2).flatten(2)  # (B, L, D)


def luong_dot(query: Tensor, memory: Tensor) -> Tensor:
    """score(s_t, h_s) = s_t . h_s   (Luong et al. 2015, eq. 8, "dot")."""
    return query @ memory.mT  # (B, T, S)


def luong_general(query: Tensor, memory: Tensor, w_a: Tensor) -> Tensor:
    """E_t = (s_t W_a) H^T   (Luong et al. 2015, eq. 8, "general"); w_a (D, D)."""
    return (query @ w_a) @ memory.mT  # (B, T, S)


def luong_concat(query: Tensor, memory: Tensor, w_query: Tensor, w_memory: Tensor, v_a: Tensor) -> Tensor:
    """score(s_t, h_s) = v_a . tanh(W_a [s_t; h_s])   (Luong et al. 2015, eq. 8, "concat").

    W_a [s; h] = s W_query + h W_memory, so each half is projected once; w_query, w_memory (D, D), v_a (D,).
    """
    pairs = (query @ w_query)[:, :, None, :] + (memory @ w_memory)[:, None, :, :]  # (B, T, S, D)
    return pairs.tanh() @ v_a  # (B, T, S)
