"""Where a token stands: sinusoidal, learned and rotary positions.

Positions are a tensor (L,), one for each token; None stands for no position at all.
Axis letters: L tokens, P positions, D width, H heads, K width of one head.
"""

from typing import Protocol

import torch
from torch import Tensor, nn

from jumok.answers import no_learned_row

BASE = 10_000.0


def sinusoidal(positions: Tensor, width: int) -> Tensor:
    """Rows of the position table (Vaswani et al. 2017, section 3.5), computed for any position.

        PE(p, 2i)     = sin(p / 10000^(2i / D))
        PE(p, 2i + 1) = cos(p / 10000^(2i / D))

    PE(p + k) is a rotation of PE(p) that depends on k alone; nothing makes a model learn to use that. Shifted
    by 20, exact match of the bundled Transformer falls from 99.8 to 4.3 % (benchmarks/shifted_positions.py).
    Angles are float32: off by less than 0.001 at position 10,000, by up to 0.06 at a million.
    positions (…, P) -> (…, P, D).
    """
    exponent = torch.arange(0, width, 2, device=positions.device) / width  # (D / 2,)
    angle = positions[..., None] / BASE**exponent  # (…, P, D / 2)
    return torch.stack((angle.sin(), angle.cos()), dim=-1).flatten(-2)  # (…, P, D)


def rotate(x: Tensor, angles: Tensor) -> Tensor:
    """Turn each pair of numbers by an angle that grows with the position (Su et al. 2021, eq. 34).

    The product of a turned query and a turned key depends on their distance, not on where they stand.
    x (L, H, K), angles (L, K) as `sinusoidal` gives them for the tokens' positions -> (L, H, K).
    """
    sine, cosine = angles[:, None, 0::2], angles[:, None, 1::2]  # (L, 1, K / 2)
    even, odd = x[..., 0::2], x[..., 1::2]  # (L, H, K / 2)
    return torch.stack((even * cosine - odd * sine, even * sine + odd * cosine), dim=-1).flatten(-2)


class PositionOps(Protocol):
    """The ops of a back end that positions ask for."""

    def embed(self, ids: Tensor, table: Tensor, /) -> Tensor: ...
    def sinusoids(self, positions: Tensor, end: int | None, width: int, kind: torch.dtype, /) -> Tensor: ...


class SinusoidalPositions(nn.Module):
    """Adds PE(p), which every position has; a model reads well those that it was trained on."""

    def forward(self, x: Tensor, positions: Tensor | None, end: int | None, ops: PositionOps) -> Tensor:
        """x (L, D) whose tokens stand at these positions (L,), all before `end` if that is known."""
        return x if positions is None else x + ops.sinusoids(positions, end, x.shape[1], x.dtype)


class LearnedPositions(nn.Module):
    """Adds a learned row per position; there is no row past the table's end."""

    def __init__(self, rows: int, width: int) -> None:
        super().__init__()
        self.table = nn.Parameter(torch.randn(rows, width) * width**-0.5)  # (P, D)

    def forward(self, x: Tensor, positions: Tensor | None, end: int | None, ops: PositionOps) -> Tensor:
        """x (L, D) whose tokens stand at these positions (L,).

        A caller that knows `end`, before which all of them lie, saves asking the tensor for it, which on a
        GPU means to wait.
        """
        if positions is None:
            return x
        end = int(positions.max()) + 1 if end is None else end
        if end > len(self.table):
            raise no_learned_row(end - 1, len(self.table))
        return x + ops.embed(positions, self.table)


class NoPositions(nn.Module):
    """Adds nothing: attention then sees a bag of tokens."""

    def forward(self, x: Tensor, positions: Tensor | None, end: int | None, ops: PositionOps) -> Tensor:
        return x
