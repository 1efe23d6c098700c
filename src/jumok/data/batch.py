"""Sentences as rectangles: what a model reads in one step."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from jumok.text.tokenizer import BOS, EOS, PAD

Ids = Sequence[int] | NDArray[np.integer]


@dataclass(frozen=True, slots=True)
class Padded:
    """Sentence pairs, padded to a rectangle. Masks are True at real tokens."""

    source: Tensor  # (B, S), ends with EOS
    source_mask: Tensor  # (B, S)
    target_in: Tensor  # (B, T), starts with BOS
    target_out: Tensor  # (B, T), ends with EOS
    target_mask: Tensor  # (B, T)

    def __post_init__(self) -> None:
        assert self.source.shape == self.source_mask.shape
        assert self.target_in.shape == self.target_out.shape == self.target_mask.shape

    @property
    def tokens(self) -> int:
        """Real target tokens: what the summed loss is divided by."""
        return int(self.target_mask.sum())

    def to(self, device: torch.device | str) -> "Padded":
        """The same batch on another device."""
        return Padded(
            source=self.source.to(device, non_blocking=True),
            source_mask=self.source_mask.to(device, non_blocking=True),
            target_in=self.target_in.to(device, non_blocking=True),
            target_out=self.target_out.to(device, non_blocking=True),
            target_mask=self.target_mask.to(device, non_blocking=True),
        )


def pad_pairs(sources: Sequence[Ids], targets: Sequence[Ids]) -> Padded:
    """A batch of these pairs: x + EOS, BOS + y and y + EOS, each filled up with PAD."""
    assert len(sources) == len(targets)
    source, source_mask = pad_sources(sources)
    target_out, target_mask = pad_sources(targets)
    target_in = target_out.roll(1, dims=1)
    target_in[target_in == EOS] = PAD  # the shifted end of a sentence is nothing the decoder may read
    target_in[:, 0] = BOS
    return Padded(source, source_mask, target_in, target_out, target_mask)


def pad_sources(sources: Sequence[Ids]) -> tuple[Tensor, Tensor]:
    """Each x + EOS, filled up with PAD (B, S), and a mask that is True at real tokens (B, S)."""
    lengths = np.array([len(ids) + 1 for ids in sources])
    padded = np.full((len(sources), lengths.max()), PAD, dtype=np.int64)
    for row, ids in zip(padded, sources, strict=True):
        row[: len(ids)] = ids
        row[len(ids)] = EOS
    mask = np.arange(padded.shape[1]) < lengths[:, None]
    return torch.from_numpy(padded), torch.from_numpy(mask)
