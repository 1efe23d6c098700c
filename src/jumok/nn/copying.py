"""Copying: a second way to write a piece is to point at it in the source (See et al. 2017).

    a_t = softmax(q(s_t) k(H)^T / sqrt(D))                   where to point
    g_t = sigmoid(w [s_t; a_t H] + b)                        how much to take from the vocabulary
    p(y) = g_t softmax(z_t)_y + (1 - g_t) sum_{x_i = y} a_ti

What is hard to learn by heart is easy to copy: names, numbers, words seen once. Both sides need one
vocabulary. The result is log p, which is its own log-softmax: to loss and search it is logits like any other.

Axis letters: B batch, S source, T target, D width, V vocabulary.
"""

from typing import NamedTuple

import torch
from torch import Tensor, nn

from jumok.nn.functional import masked_softmax
from jumok.nn.layers import init_linear

FLOOR = 1e-9
"""The least probability: a piece that neither way would write is not quite impossible."""


class Pointed(NamedTuple):
    """What can be pointed at: the encoder's states, their keys, and the pieces that stand there."""

    keys: Tensor  # (B, S, D)
    states: Tensor  # (B, S, D)
    tokens: Tensor  # (B, S)

    def select(self, rows: Tensor, length: int) -> "Pointed":
        """These rows, cut to the first `length` places."""
        return Pointed(*(one[rows, :length] for one in self))


class Copying(nn.Module):
    """Mixes the model's own words with pieces of the source."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.query = nn.Linear(width, width)
        self.key = nn.Linear(width, width, bias=False)  # one would add the same to every score of a row
        self.gate = nn.Linear(2 * width, 1)
        for linear in (self.query, self.gate):
            init_linear(linear)
        nn.init.xavier_uniform_(self.key.weight)

    def pointed(self, states: Tensor, tokens: Tensor) -> Pointed:
        """The encoder's states (B, S, D) of these pieces (B, S), made ready once for all steps."""
        return Pointed(self.key(states), states, tokens)

    def weights(self, x: Tensor, pointed: Pointed, mask: Tensor) -> Tensor:
        """Where the decoder's states x (B, T, D) point: (B, T, S), 0 where the mask is False."""
        scores = self.query(x) @ pointed.keys.mT  # (B, T, S)
        wide = torch.promote_types(scores.dtype, torch.float32)
        return masked_softmax(scores.to(wide) * x.shape[-1] ** -0.5, mask)

    def forward(self, x: Tensor, logits: Tensor, pointed: Pointed, mask: Tensor) -> Tensor:
        """log p (B, T, V) of states x (B, T, D) and logits (B, T, V); mask broadcasts to (B, T, S)."""
        a = self.weights(x, pointed, mask)  # (B, T, S)
        context = a.to(pointed.states.dtype) @ pointed.states  # (B, T, D)
        open_: Tensor = self.gate(torch.cat((x, context.to(x.dtype)), dim=-1)).to(a.dtype)  # (B, T, 1)
        p = open_.sigmoid() * logits.to(a.dtype).softmax(dim=-1)  # (B, T, V)
        places = pointed.tokens.long()[:, None].expand_as(a)
        p = p.scatter_add(-1, places, (-open_).sigmoid() * a)  # 1 - g of a g close to 1 would lose its digits
        return p.clamp(min=FLOOR).log()
