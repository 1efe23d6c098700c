"""Relative positions (Raffel et al. 2020): a learned number for each distance, added to the scores.

    softmax(Q K^T / sqrt(d_k) + b) V,   b_ij = table[bucket(j - i)], of each head

Near distances have a bucket of their own, farther ones share buckets that grow with the logarithm, and from
`most` on there is only one. A source tells keys before a query from those behind it; a target sees none
behind.
Axis letters: L tokens, B sentences, T queries, S keys, H heads.
"""

from dataclasses import dataclass
from math import log

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from jumok.nn.spans import Tables


def buckets_of(distance: Tensor, buckets: int, most: int, *, both: bool) -> Tensor:
    """The bucket of each distance from query to key (…), the key's position less the query's.

    Half of the n buckets of a direction count 0, 1, 2, …; of the others

        bucket(d) = n/2 + floor(log(d / (n/2)) / log(most / (n/2)) · n/2),   at most n - 1

    With `both` directions each has half of all buckets, and keys ahead the second half.
    """
    if both:
        n, ahead, far = buckets // 2, (distance > 0).long() * (buckets // 2), distance.abs()
    else:
        n, ahead, far = buckets, torch.zeros_like(distance, dtype=torch.long), (-distance).clamp(min=0)
    exact = n // 2
    growth = (far.float() / exact).log() / log(most / exact) * (n - exact)
    shared = exact + growth.clamp(min=0).long()  # distances below `exact` do not read it
    return ahead + torch.where(far < exact, far.long(), shared.clamp(max=n - 1))


class RelativeBias(nn.Module):
    """The table (buckets, H) of one stack of layers, which all of them share."""

    def __init__(self, buckets: int, heads: int, most: int, width: int, *, both: bool) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(buckets, heads) * width**-0.5)  # as T5 starts
        self.most, self.both = most, both

    def forward(self, distance: Tensor) -> Tensor:
        """What is added to the scores of keys this far from their queries, (…, T, S) -> (…, H, T, S)."""
        found = buckets_of(distance, len(self.weight), self.most, both=self.both)
        return F.embedding(found, self.weight).movedim(-1, -3)


@dataclass(frozen=True, eq=False)
class Relative:
    """The bias of one pass over sentences laid end to end, each of which looks at itself."""

    bias: RelativeBias
    longest: int
    """No sentence has more tokens."""
    positions: Tensor | None = None
    """Where a what-if puts the tokens (L,); None: at their places."""

    def over(self, tables: Tables) -> list[Tensor]:
        """For each table (B_g or 1, H, T_g, S_g)."""
        if self.positions is not None:
            sides = tables.queries(self.positions), tables.keys(self.positions)
            return [
                self.bias(keys[:, None] - queries[:, :, None]) for queries, keys in zip(*sides, strict=True)
            ]
        sizes = zip(tables.query_shapes, tables.key_shapes, strict=True)
        return [self.band(T, S, 0)[None] for (_, T), (_, S) in sizes]

    def band(self, queries: int, keys: int, behind: int) -> Tensor:
        """For queries in a row and keys in a row that begin so far behind them, (H, T, S).

        Each distance is looked up once: a row is the one before it, moved by one.
        """
        distance = torch.arange(1 - queries - behind, keys - behind, device=self.bias.weight.device)
        each: Tensor = self.bias(distance[None])[:, 0]  # (H, T + S - 1)
        return each.unfold(1, keys, 1).flip(1)
