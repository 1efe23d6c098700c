"""Embedding, feed-forward, residual and norm: the parts around attention.

Axis letters: B batch, L a length, D width, F inner width, V vocabulary.
"""

from collections.abc import Callable
from math import sqrt
from types import MappingProxyType
from typing import Literal, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

EPSILON = 1e-5  # what a norm adds to the variance


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


Activation = Literal["relu", "gelu", "gelu_tanh", "silu"]
ACTIVATIONS = MappingProxyType[Activation, Callable[[Tensor], Tensor]](
    {
        "relu": F.relu,  # max(0, x)
        "gelu": F.gelu,  # x times the share of a normal distribution below it (Hendrycks & Gimpel 2016)
        "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"),  # the same by a formula with tanh
        "silu": F.silu,  # x / (1 + exp(-x)), also called swish
    }
)


class FeedForward(nn.Module):
    """FFN(x) = act(x W_1 + b_1) W_2 + b_2; each position on its own. The paper's act(x) is max(0, x), eq. 2.

    Gated it is (act(x W_1 + b_1) * (x W_g + b_g)) W_2 + b_2   (Shazeer 2020).
    """

    def __init__(
        self, width: int, inner: int, activation: Activation = "relu", *, gated: bool = False
    ) -> None:
        super().__init__()
        self.activation: Activation = activation
        self.inner = nn.Linear(width, inner)
        self.gate = nn.Linear(width, inner) if gated else None
        self.outer = nn.Linear(inner, width)
        for linear in (self.inner, self.gate, self.outer):
            if linear is not None:
                init_linear(linear)

    @property
    def first(self) -> Matrix:
        """W_1 and b_1, after which comes the activation."""
        return Matrix(self.inner.weight, self.inner.bias)

    @property
    def second(self) -> Matrix | None:
        """W_g and b_g."""
        return None if self.gate is None else Matrix(self.gate.weight, self.gate.bias)

    @property
    def plain(self) -> bool:
        """Whether it is the paper's."""
        return self.activation == "relu" and self.gate is None


class Residual(nn.Module):
    """Add & norm around a sub-layer f, that is one of:

    post-norm:  LayerNorm(x + f(x))       (the paper)
    pre-norm:   x + f(LayerNorm(x))
    no norm:    x + f(x)

    Where nothing is added, what f makes takes the place of x: LayerNorm(f(x)), f(LayerNorm(x)) or f(x). The
    layers of a model compute it, in one op of the back end; this holds the norm and says which it is.
    """

    def __init__(
        self,
        width: int,
        share: float,
        norm: Literal["post", "pre", "none"],
        *,
        add: bool = True,
        rms: bool = False,
        epsilon: float = EPSILON,
    ) -> None:
        super().__init__()
        self.norm = nn.Identity() if norm == "none" else make_norm(width, rms=rms, epsilon=epsilon)
        self.dropout = Dropout(share)
        self.pre, self.add = norm == "pre", add

    @property
    def whole(self) -> bool:
        """Whether there is both a sum and a norm."""
        return self.add and isinstance(self.norm, (nn.LayerNorm, nn.RMSNorm))


def make_norm(width: int, *, rms: bool = False, epsilon: float = EPSILON) -> nn.LayerNorm | nn.RMSNorm:
    """LayerNorm(x) = (x - mean) / sqrt(variance + epsilon) * weight + bias   (Ba et al. 2016), or

    RMSNorm(x) = x / sqrt(mean(x²) + epsilon) * weight   (Zhang & Sennrich 2019).
    """
    return nn.RMSNorm(width, eps=epsilon) if rms else nn.LayerNorm(width, eps=epsilon)


def init_linear(layer: nn.Linear) -> None:
    """Glorot-uniform weights and zero bias, as in the Transformer's reference code."""
    nn.init.xavier_uniform_(layer.weight)
    if layer.bias is not None:
        nn.init.zeros_(layer.bias)


def embedding_scale(width: int) -> float:
    """Embeddings start with rows of length 1; sqrt(D) brings each number back to variance 1."""
    return sqrt(width)
