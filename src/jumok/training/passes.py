"""Sentences laid end to end as a pass reads them: on the device, with other inputs, or twice.

Axis letters: N source tokens, M target tokens.
"""

from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from jumok.models.interface import PackedBatch


@dataclass(frozen=True)
class Laid:
    """A `PackedBatch` whose tensors stand alone."""

    source: Tensor  # (N,)
    source_range: Tensor  # (2, N)
    source_readers: Tensor  # (2, N)
    target_in: Tensor  # (M,)
    target_range: Tensor  # (2, M)
    target_reads: Tensor  # (2, M)
    longest: int
    source_lengths: NDArray[np.int64]  # (B,)
    target_lengths: NDArray[np.int64]  # (B,)


def laid(batch: PackedBatch) -> Laid:
    return Laid(
        batch.source,
        batch.source_range,
        batch.source_readers,
        batch.target_in,
        batch.target_range,
        batch.target_reads,
        batch.longest,
        batch.source_lengths,
        batch.target_lengths,
    )


def with_inputs(batch: PackedBatch, target_in: Tensor) -> Laid:
    """The same batch with other tokens (M,) for the decoder to read."""
    return replace(laid(batch), target_in=target_in)


def doubled(batch: PackedBatch) -> Laid:
    """Every sentence twice, the second time N and M places later, so that one pass does two.

    The fillers of the first half then stand in the middle: only for models that know sentences by their
    ranges alone, as the Transformer does.
    """
    N, M = len(batch.source), len(batch.target_in)

    def moved(ranges: Tensor, by: int) -> Tensor:
        return torch.cat((ranges, ranges + by), dim=1)

    return Laid(
        batch.source.repeat(2),
        moved(batch.source_range, N),
        moved(batch.source_readers, M),
        batch.target_in.repeat(2),
        moved(batch.target_range, M),
        moved(batch.target_reads, N),
        batch.longest,
        np.tile(batch.source_lengths, 2),
        np.tile(batch.target_lengths, 2),
    )
