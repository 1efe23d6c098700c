"""Where a token stands: sinusoidal, learned and rotary positions.

Axis letters: B batch, L a length, P positions, D width, H heads, K width of one head.
"""

import torch
from torch import Tensor, nn

BASE = 10_000.0


def sinusoidal(positions: Tensor, width: int) -> Tensor:
    """Rows of the position table (Vaswani et al. 2017, section 3.5), computed, so no length is too long.

        PE(p, 2i)     = sin(p / 10000^(2i / D))
        PE(p, 2i + 1) = cos(p / 10000^(2i / D))

    PE(p + k) is a rotation of PE(p) that depends on k alone. positions (P,) -> (P, D).
    """
    exponent = torch.arange(0, width, 2, device=positions.device) / width  # (D / 2,)
    angle = positions[:, None] / BASE**exponent  # (P, D / 2)
    return torch.stack((angle.sin(), angle.cos()), dim=-1).flatten(1)  # (P, D)


def rotate(x: Tensor, positions: Tensor) -> Tensor:
    """Turn each pair of numbers by an angle that grows with the position (Su et al. 2021, eq. 34).

    The product of a turned query and a turned key depends on their distance, not on where they stand.
    x (B, H, L, K), positions (L,) -> (B, H, L, K).
    """
    table = sinusoidal(positions, x.shape[-1]).to(x.dtype)  # (L, K): sine and cosine of each angle in turn
    sine, cosine = table[:, 0::2], table[:, 1::2]  # (L, K / 2)
    even, odd = x[..., 0::2], x[..., 1::2]  # (B, H, L, K / 2)
    return torch.stack((even * cosine - odd * sine, even * sine + odd * cosine), dim=-1).flatten(-2)


class SinusoidalPositions(nn.Module):
    """Adds PE(p); has no parameters and no longest length."""

    def forward(self, x: Tensor, first: int = 0) -> Tensor:
        """x (B, L, D) whose first token stands at position `first`."""
        positions = torch.arange(first, first + x.shape[1], device=x.device)
        return x + sinusoidal(positions, x.shape[2]).to(x.dtype)


class LearnedPositions(nn.Module):
    """Adds a learned row per position; there is no row past the table's end."""

    def __init__(self, rows: int, width: int) -> None:
        super().__init__()
        self.table = nn.Parameter(torch.randn(rows, width) * width**-0.5)  # (P, D)

    def forward(self, x: Tensor, first: int = 0) -> Tensor:
        """x (B, L, D) whose first token stands at position `first`."""
        last = first + x.shape[1]
        if last > len(self.table):
            raise LookupError(
                f"position {last - 1} has no learned row: the table ends at {len(self.table)}, so a sequence "
                f"may have {len(self.table)} tokens. Shorten it, or train with more model.max_positions or "
                "with sinusoidal positions."
            )
        return x + self.table[first:last]


class NoPositions(nn.Module):
    """Adds nothing: attention then sees a bag of tokens."""

    def forward(self, x: Tensor, first: int = 0) -> Tensor:
        return x
