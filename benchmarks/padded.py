"""Sentence pairs as rectangles, as the peers read them. Ours lie end to end (`jumok.data.batch`)."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from jumok.text.tokenizer import BOS, EOS, PAD

Ids = Sequence[int] | NDArray[np.integer]


@dataclass(frozen=True)
class Padded:
    """Masks are True at real tokens."""

    source: Tensor  # (B, S), ends with EOS
    source_mask: Tensor  # (B, S)
    target_in: Tensor  # (B, T), starts with BOS
    target_out: Tensor  # (B, T), ends with EOS
    target_mask: Tensor  # (B, T)

    @property
    def tokens(self) -> int:
        """Real target tokens."""
        return int(self.target_mask.sum())

    def to(self, device: torch.device) -> "Padded":
        return Padded(*(tensor.to(device) for tensor in vars(self).values()))


def pad_pairs(sources: Sequence[Ids], targets: Sequence[Ids]) -> Padded:
    """A batch of these pairs: x + EOS, BOS + y and y + EOS, each filled up with PAD."""
    source, source_mask = pad(sources)
    target_out, target_mask = pad(targets)
    target_in = target_out.roll(1, dims=1)
    target_in[target_in == EOS] = PAD
    target_in[:, 0] = BOS
    return Padded(source, source_mask, target_in, target_out, target_mask)


def pad(rows: Sequence[Ids]) -> tuple[Tensor, Tensor]:
    """Each x + EOS, filled up with PAD (B, L), and a mask that is True at real tokens."""
    lengths = np.array([len(ids) + 1 for ids in rows], dtype=np.int64)
    padded = np.full((len(rows), lengths.max(initial=1)), PAD, dtype=np.int64)
    for row, ids in zip(padded, rows, strict=True):
        row[: len(ids)] = ids
        row[len(ids)] = EOS
    return torch.from_numpy(padded), torch.from_numpy(np.arange(padded.shape[1]) < lengths[:, None])
