"""Multi-head and Luong attention: the parameters, and how scores are made of them.

Axis letters: B batch, S source, T target, L tokens, D width, H heads, K width of one head.
"""

from typing import Literal

import torch
from torch import Tensor, nn

from jumok.nn.functional import luong_dot
from jumok.nn.layers import FeedForward, Matrix, init_linear


class MergedProjection(nn.Module):
    """One matrix for all heads: (L, D) to (L, parts · H · K)."""

    def __init__(self, width: int, heads: int, parts: int, head_width: int = 0) -> None:
        super().__init__()
        self.heads, self.parts = heads, parts
        self.linear = nn.Linear(width, parts * heads * (head_width or width // heads))
        for part in self.linear.weight.data.chunk(parts):
            nn.init.xavier_uniform_(part)
        nn.init.zeros_(self.linear.bias)

    @property
    def matrix(self) -> Matrix:
        return Matrix(self.linear.weight, self.linear.bias)


class SplitProjection(nn.Module):
    """Matrices of its own for each head: W_Q_i, W_K_i, W_V_i of (D, K)."""

    def __init__(self, width: int, heads: int, parts: int, head_width: int = 0) -> None:
        super().__init__()
        K = head_width or width // heads
        bound = (6 / (width + heads * K)) ** 0.5  # as one (D, H · K) matrix of all heads would start
        matrices = torch.empty(parts, heads, width, K).uniform_(-bound, bound)
        self.weight = nn.Parameter(matrices)  # (parts, H, D, K)
        self.bias = nn.Parameter(torch.zeros(parts, heads, 1, K))  # (parts, H, 1, K)

    @property
    def matrix(self) -> Matrix:
        """The same numbers side by side."""
        return Matrix(self.weight.mT.flatten(0, 2), self.bias.flatten())

    def load_merged(self, merged: MergedProjection) -> None:
        """Lay the same numbers out per head."""
        parts, heads, width, head_width = self.weight.shape
        weight = merged.linear.weight.detach().view(parts, heads, head_width, width)
        self.weight.data.copy_(weight.mT)
        self.bias.data.copy_(merged.linear.bias.detach().view_as(self.bias))


Projection = MergedProjection | SplitProjection


def make_projection(
    kind: Literal["merged", "split"], width: int, heads: int, parts: int, head_width: int = 0
) -> Projection:
    """`parts` projections at once: Q, K and V of self-attention are three, K and V of cross-attention two.

    Heads are `head_width` wide; 0: together as wide as the model.
    """
    match kind:
        case "merged":
            return MergedProjection(width, heads, parts, head_width)
        case "split":
            return SplitProjection(width, heads, parts, head_width)


class AttentionOutput(nn.Module):
    """The end of multi-head attention: the heads, joined, times W_O.

    MultiHead(Q, K, V) = Concat(head_1, …, head_h) W_O      (Vaswani et al. 2017, section 3.2.2)
    """

    def __init__(self, width: int, joined: int = 0, *, scale: bool = True) -> None:
        """`joined`: how wide all heads are together, where they are not as wide as the model."""
        super().__init__()
        self.scale = scale
        self.linear = nn.Linear(joined or width, width)
        init_linear(self.linear)


def exact_weights(model: nn.Module) -> set[Tensor]:
    """The weights that are read in float32, whatever else is computed in: all that add & norm uses."""
    found: set[Tensor] = set()
    for module in model.modules():
        match module:
            case nn.LayerNorm():
                found |= {module.weight, module.bias}
            case nn.RMSNorm():
                found.add(module.weight)
            case AttentionOutput():
                found.add(module.linear.bias)
            case FeedForward():
                found.add(module.outer.bias)
    return found


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

    def queries(self, s: Tensor) -> Tensor:
        """What meets the memory: s W_a ("general"), s W_query ("concat") or s itself ("dot"); (…, D)."""
        match self.score:
            case "dot":
                return s
            case "general":
                return s @ self.w_a
            case "concat":
                return s @ self.w_query

    def keys(self, H: Tensor) -> Tensor:
        """What it meets there: H W_memory for "concat", else H itself; (…, D)."""
        return H @ self.w_memory if self.score == "concat" else H

    def compare(self, queries: Tensor, keys: Tensor) -> Tensor:
        """Scores (B, T, S) of queries (B, T, D) and keys (B, S, D).

        W_a [s; h] = s W_query + h W_memory, so "concat" has projected each half once already.
        """
        if self.score != "concat":
            return luong_dot(queries, keys)
        return (queries[:, :, None] + keys[:, None]).tanh() @ self.v_a

    def attentional(self, context: Tensor, s: Tensor) -> Tensor:
        """s~ of contexts and states (…, D)."""
        return self.w_c(torch.cat((context, s), dim=-1)).tanh()  # type: ignore[no-any-return]
