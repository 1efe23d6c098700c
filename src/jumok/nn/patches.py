"""Patches of a picture as vectors: what an embedding is for words.

Axis letters: L patches of all pictures, S those of one, P numbers of one patch, D width.
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from jumok.nn.layers import Embedding, init_linear

MIDDLE = 127.5  # of 0 … 255


@dataclass(frozen=True)
class Patches:
    """The shape of a picture that is read as patches."""

    numbers: int  # P, of one patch
    places: int  # S, patches of a picture


class PatchEmbedding(nn.Module):
    """z_0 = [x¹E; x²E; …; x^S E] + E_pos   (Dosovitskiy et al. 2021, eq. 1, without the class token)

    Each patch, flattened and scaled to -1 … 1, times one matrix, plus a learned vector of its place:
    X = patch W + b + E_pos. Without `located` there is no E_pos: a picture is then a bag of patches.
    """

    positions: nn.Parameter | None

    def __init__(self, numbers: int, places: int, width: int, *, located: bool = True) -> None:
        super().__init__()
        self.project = nn.Linear(numbers, width)
        init_linear(self.project)
        table = nn.Parameter(torch.randn(places, width) * 0.02) if located else None
        self.register_parameter("positions", table)  # E_pos (S, D)

    def forward(self, patches: Tensor, positions: Tensor | None) -> Tensor:
        """(L, P) uint8 at these places (L,) of their pictures -> (L, D); None: at no place at all."""
        x: Tensor = self.project(patches.to(self.project.weight.dtype) / MIDDLE - 1)  # (L, D)
        if positions is None or self.positions is None:
            return x
        return x + self.positions[positions.clamp(max=len(self.positions) - 1)]


def read_source(
    vocab: int, width: int, patches: Patches | None, *, scale: float = 1.0, located: bool = True
) -> Embedding | PatchEmbedding:
    """What turns a source into vectors: of words, or of patches."""
    if patches is None:
        return Embedding(vocab, width, scale=scale)
    return PatchEmbedding(patches.numbers, patches.places, width, located=located)
