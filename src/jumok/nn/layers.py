"""Embedding, feed-forward, residual and norm: the parts around attention.

Axis letters: B batch, L a length, D width, F inner width, V vocabulary.
"""

from math import sqrt
from typing import Literal, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F


def dropout(x: Tensor, share: float, *, training: bool) -> Tensor:
    """Set about `share` of the numbers to 0 and scale the rest up, so that the mean stays.

    On a CPU one random byte decides each number: eight decisions per draw of the generator make masks
    several times cheaper than one float each. The share is then a multiple of 1/256; the scale is exact.
    """
    if not training or share == 0:
        return x
    if x.device.type != "cpu":
        return F.dropout(x, share)
    threshold = min(max(round(share * 256), 1), 255)
    draws = torch.empty((x.numel() + 7) // 8, dtype=torch.int64)
    draws.random_(-(2**63), None)  # all 64 bits
    keep = draws.view(torch.uint8)[: x.numel()].view(x.shape) >= threshold
    return x * (keep.to(x.dtype) * (256 / (256 - threshold)))


class Dropout(nn.Module):
    """`dropout` with its share; does nothing in eval mode."""

    def __init__(self, share: float) -> None:
        super().__init__()
        self.share = share


class Embedding(nn.Module):
    """Rows of W_emb (V, D) by token id, times a scale; also the output projection when tied."""

    def __init__(self, vocab: int, width: int, *, scale: float = 1.0) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(vocab, width) * width**-0.5)  # (V, D)
        self.scale = scale


class Matrix(NamedTuple):
    """A product x W^T + b; of several parts side by side, part by part, head by head within a part."""

    weight: Tensor  # (parts · F, D)
    bias: Tensor  # (parts · F,)


class FeedForward(nn.Module):
    """FFN(x) = max(0, x W_1 + b_1) W_2 + b_2   (Vaswani et al. 2017, eq. 2); each position on its own."""

    def __init__(self, width: int, inner: int) -> None:
        super().__init__()
        self.inner = nn.Linear(width, inner)
        self.outer = nn.Linear(inner, width)
        init_linear(self.inner)
        init_linear(self.outer)

    @property
    def first(self) -> Matrix:
        """W_1 and b_1, after which comes max(0, ·)."""
        return Matrix(self.inner.weight, self.inner.bias)


class Residual(nn.Module):
    """Add & norm around a sub-layer f, that is one of:

    post-norm:  LayerNorm(x + f(x))       (the paper)
    pre-norm:   x + f(LayerNorm(x))
    no norm:    x + f(x)

    Where nothing is added, what f makes takes the place of x: LayerNorm(f(x)), f(LayerNorm(x)) or f(x). The
    layers of a model compute it, in one op of the back end; this holds the norm and says which it is.
    """

    def __init__(
        self, width: int, share: float, norm: Literal["post", "pre", "none"], *, add: bool = True
    ) -> None:
        super().__init__()
        self.norm = nn.Identity() if norm == "none" else nn.LayerNorm(width)
        self.dropout = Dropout(share)
        self.pre, self.add = norm == "pre", add

    @property
    def whole(self) -> bool:
        """Whether there is both a sum and a norm."""
        return self.add and isinstance(self.norm, nn.LayerNorm)


def init_linear(layer: nn.Linear) -> None:
    """Glorot-uniform weights and zero bias, as in the Transformer's reference code."""
    nn.init.xavier_uniform_(layer.weight)
    if layer.bias is not None:
        nn.init.zeros_(layer.bias)


def embedding_scale(width: int) -> float:
    """Embeddings start with rows of length 1; sqrt(D) brings each number back to variance 1."""
    return sqrt(width)
