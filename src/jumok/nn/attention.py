"""Multi-head and Luong attention: parameters around the pure functions.

Axis letters: B batch, S source, T target, L a length, D width, H heads, K width of one head.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

import torch
from torch import Tensor, nn

from jumok.nn.edit import AttentionEdit
from jumok.nn.functional import (
    Stages,
    attention_stages,
    fused_attention,
    luong_concat,
    luong_dot,
    luong_general,
    masked_softmax,
    merge_heads,
    split_heads,
    weigh,
)
from jumok.nn.layers import init_linear

RecordStages = Callable[[Stages], None]


@dataclass(frozen=True)
class AttentionProbe:
    """What is asked of one attention layer besides its result: to hand out its stages, to change them."""

    record: RecordStages | None = None
    edit: AttentionEdit | None = None

    def take(self, stages: Stages, out: Tensor) -> None:
        if self.record is not None:
            self.record(replace(stages, out=out))


class MergedProjection(nn.Module):
    """One matrix for all heads: project to (B, L, H·K), then split the last axis."""

    def __init__(self, width: int, heads: int, parts: int) -> None:
        super().__init__()
        self.heads, self.parts = heads, parts
        self.linear = nn.Linear(width, parts * width)
        for part in self.linear.weight.data.chunk(parts):
            nn.init.xavier_uniform_(part)
        nn.init.zeros_(self.linear.bias)

    def forward(self, x: Tensor) -> tuple[Tensor, ...]:
        return tuple(split_heads(part, self.heads) for part in self.linear(x).chunk(self.parts, dim=-1))


class SplitProjection(nn.Module):
    """Matrices of its own for each head: W_Q_i, W_K_i, W_V_i of (D, K)."""

    def __init__(self, width: int, heads: int, parts: int) -> None:
        super().__init__()
        bound = (3 / width) ** 0.5  # as one (D, D) matrix of all heads would start
        matrices = torch.empty(parts, heads, width, width // heads).uniform_(-bound, bound)
        self.weight = nn.Parameter(matrices)  # (parts, H, D, K)
        self.bias = nn.Parameter(torch.zeros(parts, heads, 1, width // heads))  # (parts, H, 1, K)

    def forward(self, x: Tensor) -> tuple[Tensor, ...]:
        heads = x[:, None, None] @ self.weight + self.bias  # (B, parts, H, L, K)
        return heads.unbind(dim=1)  # parts tensors of (B, H, L, K)

    def load_merged(self, merged: MergedProjection) -> None:
        """Lay the same numbers out per head."""
        parts, heads, width, head_width = self.weight.shape
        weight = merged.linear.weight.detach().view(parts, heads, head_width, width)
        self.weight.data.copy_(weight.mT)
        self.bias.data.copy_(merged.linear.bias.detach().view_as(self.bias))


def make_projection(
    kind: Literal["merged", "split"], width: int, heads: int, parts: int
) -> MergedProjection | SplitProjection:
    """`parts` projections at once: Q, K and V of self-attention are three, K and V of cross-attention two."""
    match kind:
        case "merged":
            return MergedProjection(width, heads, parts)
        case "split":
            return SplitProjection(width, heads, parts)


class AttentionOutput(nn.Module):
    """The end of multi-head attention: attend, join the heads, project.

    MultiHead(Q, K, V) = Concat(head_1, …, head_h) W_O      (Vaswani et al. 2017, section 3.2.2)
    """

    def __init__(self, width: int, *, scale: bool = True) -> None:
        super().__init__()
        self.scale = scale
        self.linear = nn.Linear(width, width)
        init_linear(self.linear)

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        mask: Tensor | None,
        probe: AttentionProbe | None = None,
        first: int | Tensor = 0,
        begin: Tensor | None = None,
    ) -> Tensor:
        """query (B, H, T, K), key and value (B, H, S, K) -> (B, T, D). A probe takes the explicit path.

        `first` is the position of the first query and `begin` the place of the first key, for an edit; a
        tensor (B,) says it for each sentence.
        """
        if probe is None:
            context = fused_attention(query, key, value, mask, scale=self.scale)  # (B, H, T, K)
            return self.linear(merge_heads(context))  # type: ignore[no-any-return]  # (B, T, D)
        seen = mask if mask is not None else torch.ones(1, 1, 1, 1, dtype=torch.bool, device=query.device)
        stages = attention_stages(
            query, key, value, seen, scale=self.scale, edit=probe.edit, first=first, begin=begin
        )
        out = self.linear(merge_heads(stages.context))  # (B, T, D)
        probe.take(stages, out)
        return out  # type: ignore[no-any-return]


class LuongAttention(nn.Module):
    """Global attention and the attentional state (Luong et al. 2015).

    E_t = score(s_t, H)                   scores, by dot, general or concat (eq. 8)
    alpha_t = softmax(E_t)                weights (eq. 7)
    c_t = alpha_t H                       context
    s~_t = tanh([c_t; s_t] W_c)           attentional state (eq. 5)
    """

    def __init__(self, width: int, score: Literal["dot", "general", "concat"]) -> None:
        super().__init__()
        self.score = score
        scale = width**-0.5
        if score == "general":
            self.w_a = nn.Parameter(torch.randn(width, width) * scale)  # (D, D)
        elif score == "concat":
            self.w_query = nn.Parameter(torch.randn(width, width) * scale)  # (D, D)
            self.w_memory = nn.Parameter(torch.randn(width, width) * scale)  # (D, D)
            self.v_a = nn.Parameter(torch.randn(width) * scale)  # (D,)
        self.w_c = nn.Linear(2 * width, width, bias=False)
        init_linear(self.w_c)

    def scores(self, query: Tensor, memory: Tensor) -> Tensor:
        match self.score:
            case "dot":
                return luong_dot(query, memory)  # (B, T, S)
            case "general":
                return luong_general(query, memory, self.w_a)
            case "concat":
                return luong_concat(query, memory, self.w_query, self.w_memory, self.v_a)

    def forward(
        self,
        query: Tensor,
        memory: Tensor,
        mask: Tensor,
        probe: AttentionProbe | None = None,
        first: int | Tensor = 0,
    ) -> Tensor:
        """query (B, T, D) decoder states, memory (B, S, D), mask (B, S) -> attentional states (B, T, D).

        An edit acts on head 0, the only one; the first query stands at position `first`.
        """
        if probe is None:
            scores = self.scores(query, memory)  # (B, T, S)
            context = masked_softmax(scores, mask[:, None, :]) @ memory  # (B, T, D)
            return self.attentional(context, query)
        asks = query @ self.w_a if self.score == "general" else query  # what meets the memory: asks H^T = E
        scores = self.scores(query, memory) if self.score == "concat" else luong_dot(asks, memory)
        q, h, e = asks[:, None], memory[:, None], scores[:, None]  # one head
        stages = Stages(q, h, h, e, e, *weigh(e, h, mask[:, None, None, :], probe.edit, first=first))
        out = self.attentional(stages.context[:, 0], query)
        probe.take(stages, out)
        return out

    def attentional(self, context: Tensor, query: Tensor) -> Tensor:
        return self.w_c(torch.cat((context, query), dim=-1)).tanh()  # type: ignore[no-any-return]  # (B, T, D)
