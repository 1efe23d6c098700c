"""Copying: a second way to write a piece is to point at it in the source (See et al. 2017).

    a_t = softmax(q(s_t) k(H)^T / sqrt(D))                   where to point
    g_t = sigmoid(w [s_t; a_t H] + b)                        how much to take from the vocabulary
    p(y) = g_t softmax(z_t)_y + (1 - g_t) sum_{x_i = y} a_ti

What is hard to learn by heart is easy to copy: names, numbers, words seen once. Both sides need one
vocabulary. The result is log p, which is its own log-softmax: to loss and search it is logits like any other.
The two ways are added in the logarithm: however improbable a piece may be, it can still be learned.

Axis letters: B batch, S source, T target, D width, V vocabulary.
"""

from dataclasses import replace
from typing import NamedTuple

import torch
from torch import Tensor, nn

from jumok.nn.attention import AttentionProbe
from jumok.nn.edit import scale_heads
from jumok.nn.functional import Stages, masked_softmax, weigh
from jumok.nn.layers import init_linear

TINY = 1e-37
"""What is not copied, in the logarithm: far below what the vocabulary gives to any piece."""


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

    def forward(
        self,
        x: Tensor,
        logits: Tensor,
        pointed: Pointed,
        mask: Tensor,
        probe: AttentionProbe | None = None,
        first: int | Tensor = 0,
    ) -> Tensor:
        """log p (B, T, V) of states x (B, T, D) and logits (B, T, V); mask broadcasts to (B, T, S).

        A probe takes the stages of one head, whose `out` (B, T, 1) is the share copied, 1 - g. An edit speaks
        of positions, the first query's is `first`; its factors act on that share.
        """
        stages = None if probe is None else self.stages(x, pointed, mask, probe, first)
        if stages is None:
            a = self.weights(x, pointed, mask)  # (B, T, S)
            context = a @ pointed.states.to(a.dtype)  # (B, T, D)
        else:
            a, context = stages.weights[:, 0], stages.context[:, 0]
        log_g, copied = self.shares(x, context, a.dtype)  # (B, T, 1) each
        if probe is not None and stages is not None:
            if probe.edit is not None and probe.edit.factors:
                copied = scale_heads(copied[:, None], probe.edit)[:, 0].clamp(0, 1)
                log_g = (1 - copied).clamp(min=TINY).log()
            probe.take(stages, copied)
        return mixed(logits, log_g, copied * a, pointed.tokens.long()[:, None].expand_as(a))

    def packed(
        self, x: Tensor, logits: Tensor, states: Tensor, tokens: Tensor, reads: Tensor, longest: int
    ) -> Tensor:
        """`forward` of sentences laid end to end: log p (M, V) of x (M, D), states (N, D) and tokens (N,).

        `reads` (2, M) are the places that each may point at, `longest` of them at most; all else is left out
        before the softmax, so that no more than M · longest numbers go to the vocabulary.
        """
        first, end = reads[:, :, None]  # (M, 1) each
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

    def stages(
        self, x: Tensor, pointed: Pointed, mask: Tensor, probe: AttentionProbe, first: int | Tensor
    ) -> Stages:
        """The slow twin of `weights`: all stages of one head of width D, with an edit's changes."""
        edit = None if probe.edit is None else replace(probe.edit, factors=())
        query, key, value = (one[:, None] for one in (self.query(x), pointed.keys, pointed.states))
        scores = query @ key.mT  # (B, 1, T, S)
        wide = scores.to(torch.promote_types(scores.dtype, torch.float32))
        scaled = wide * x.shape[-1] ** -0.5 if edit is None or edit.scaled else wide
        after = weigh(scaled, value.to(wide.dtype), mask[:, None], edit, first=first)
        return Stages(query, key, value, scores, scaled, *after)


def mixed(logits: Tensor, log_g: Tensor, copied: Tensor, tokens: Tensor) -> Tensor:
    """log p (..., V): g of the vocabulary's own, and to each of the tokens (..., S) what is copied of it."""
    written = log_g + logits.to(copied.dtype).log_softmax(dim=-1)
    pointed = torch.zeros_like(written).scatter_add(-1, tokens, copied)  # (..., V)
    return torch.logaddexp(written, pointed.clamp(min=TINY).log())
