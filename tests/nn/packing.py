"""Ranges of sentence pairs laid end to end, with fillers, as packed batches have them."""

import torch
from torch import Tensor


def own_ranges(lengths: list[int], fillers: int) -> Tensor:
    """(2, L): where each token's sentence lies; fillers are sentences of one token."""
    sizes = torch.tensor([*lengths, *[1] * fillers])
    end = sizes.cumsum(0)
    return torch.stack((end - sizes, end)).repeat_interleave(sizes, dim=1).int()


def pair_ranges(lengths: list[int], others: list[int], fillers: int, filler: tuple[int, int]) -> Tensor:
    """(2, L): where the other side's sentence of the same pair lies; each filler has the range `filler`."""
    bounds = torch.tensor([0, *others]).cumsum(0)
    pairs = torch.stack((bounds[:-1], bounds[1:])).repeat_interleave(
        torch.tensor(lengths, dtype=torch.int64), dim=1
    )
    return torch.cat((pairs, torch.tensor(filler)[:, None].expand(2, fillers)), dim=1).int()


def reads_and_readers(
    sources: list[int], targets: list[int], fillers: tuple[int, int]
) -> tuple[Tensor, Tensor]:
    """(2, M) and (2, N) of pairs with these lengths and so many fillers on either side.

    A filler reads the last real source, and nobody reads it; ranges leave no gap.
    """
    N, M = max(1, sum(sources)), sum(targets)
    reads = pair_ranges(targets, sources, fillers[1], (N - 1, N))
    return reads, pair_ranges(sources, targets, fillers[0], (M, M))
