"""Copying: a second way to write a token is to point at it in the source (See et al. 2017).

    a_t = softmax(q(s_t) k(H)^T / sqrt(D))                   where to point
    g_t = sigmoid(w [s_t; a_t H] + b)                        how much to take from the vocabulary
    p(y) = g_t softmax(z_t)_y + (1 - g_t) sum_{x_i = y} a_ti

What is hard to learn by heart is easy to copy: names, numbers, words seen once. Both sides need one
vocabulary. The result is log p, which is its own log-softmax: to loss and search it is logits like any other.
The two ways are added in the logarithm: however improbable a token may be, it can still be learned.

Axis letters: B batch, S source, T target, D width, V vocabulary.
"""

from typing import Any, Literal, NamedTuple, Protocol

import torch
from torch import Tensor, nn

from jumok.nn.functional import masked_softmax
from jumok.nn.layers import init_linear
from jumok.nn.spans import Spans

COPY: tuple[Literal["copy"], int] = ("copy", 0)

TINY = 1e-37
"""What is not copied, in the logarithm: far below what the vocabulary gives to any token."""


class CopyOps(Protocol):
    """The ops of a back end that copying asks for."""

    def weigh_grid(self, *given: Any, **named: Any) -> tuple[Tensor, Tensor]: ...
    def output(self, where: Any, out: Tensor, /) -> Tensor: ...


class Pointed(NamedTuple):
    """What can be pointed at: the encoder's states, their keys, and the tokens that stand there."""

    keys: Tensor  # (B, S, D)
    states: Tensor  # (B, S, D)
    tokens: Tensor  # (B, S)

    def select(self, rows: Tensor, length: int) -> "Pointed":
        """These rows, cut to the first `length` places."""
        return Pointed(*(one[rows, :length] for one in self))


class Copying(nn.Module):
    """Mixes the model's own words with tokens of the source."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.query = nn.Linear(width, width)
        self.key = nn.Linear(width, width, bias=False)  # one would add the same to every score of a row
        self.gate = nn.Linear(2 * width, 1)
        for linear in (self.query, self.gate):
            init_linear(linear)
        nn.init.xavier_uniform_(self.key.weight)

    def pointed(self, states: Tensor, tokens: Tensor) -> Pointed:
        """The encoder's states (B, S, D) of these tokens (B, S), made ready once for all steps."""
        return Pointed(self.key(states), states, tokens)

    def forward(
        self,
        x: Tensor,
        logits: Tensor,
        pointed: Pointed,
        mask: Tensor,
        ops: CopyOps,
        first: int | Tensor = 0,
    ) -> Tensor:
        """log p (B, T, V) of states x (B, T, D) and logits (B, T, V); mask broadcasts to (B, T, S).

        The attention's output (B, T, 1) is the share copied, 1 - g. The first query stands at `first`.
        """
        query = self.query(x)
        scores = query @ pointed.keys.mT  # (B, T, S)
        wide = scores.to(torch.promote_types(scores.dtype, torch.float32))
        pair = scores, wide * x.shape[-1] ** -0.5
        a, context = ops.weigh_grid(query, pointed.keys, pointed.states, pair, mask, where=COPY, first=first)
        log_g, share = self.shares(x, context, a.dtype)  # (B, T, 1) each
        copied = ops.output(COPY, share)
        if copied is not share:  # an edit says otherwise
            log_g = (1 - copied).clamp(min=TINY).log()
        return mixed(logits, log_g, copied * a, pointed.tokens.long()[:, None].expand_as(a))

    def laid(
        self, x: Tensor, logits: Tensor, states: Tensor, tokens: Tensor, spans: Spans, longest: int
    ) -> Tensor:
        """`forward` of sentences laid end to end: log p (M, V) of x (M, D), states (N, D) and tokens (N,).

        Each query sees `longest` places at most; all else is left out before the softmax, so that no more
        than M · longest numbers go to the vocabulary.
        """
        first, end = spans.key_begin[:, None], spans.key_end[:, None]  # (M, 1) each
        place = first + torch.arange(longest, device=first.device)  # (M, W)
        mask, place = place < end, place.clamp(max=len(states) - 1).long()
        scores = (self.query(x) @ self.key(states).mT).gather(1, place)
        wide = torch.promote_types(scores.dtype, torch.float32)
        a = masked_softmax(scores.to(wide) * x.shape[-1] ** -0.5, mask)  # (M, W)
        spread = states.new_zeros(len(x), len(states)).scatter_add(1, place, a.to(states.dtype))  # (M, N)
        log_g, copied = self.shares(x, spread @ states, a.dtype)
        return mixed(logits, log_g, copied * a, tokens.long()[place])

    def shares(self, x: Tensor, context: Tensor, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
        """log g, and 1 - g, but not by a difference: near g = 1 it has no digits."""
        open_: Tensor = self.gate(torch.cat((x, context.to(x.dtype)), dim=-1)).to(dtype)  # (..., 1)
        return nn.functional.logsigmoid(open_), (-open_).sigmoid()


def mixed(logits: Tensor, log_g: Tensor, copied: Tensor, tokens: Tensor) -> Tensor:
    """log p (..., V): g of the vocabulary's own, and to each of the tokens (..., S) what is copied of it."""
    written = log_g + logits.to(copied.dtype).log_softmax(dim=-1)
    pointed = torch.zeros_like(written).scatter_add(-1, tokens, copied)  # (..., V)
    return torch.logaddexp(written, pointed.clamp(min=TINY).log())
