"""Batches under a token budget, in an order that is a pure function of (seed, epoch, position, rank)."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from jumok.errors import DataError

Indices = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Cursor:
    """A place in the endless stream of batches: the next batch to read."""

    epoch: int = 0
    position: int = 0


def stream(
    source_lengths: NDArray[np.integer],
    target_lengths: NDArray[np.integer],
    *,
    budget: int,
    seed: int,
    cursor: Cursor = Cursor(),  # noqa: B008 - frozen
    rank: int = 0,
    world: int = 1,
) -> Iterator[tuple[Indices, Cursor]]:
    """Batches from `cursor` on, without end, each with the cursor to go on from after it."""
    while True:
        epoch = cursor.epoch
        batches = epoch_batches(
            source_lengths, target_lengths, budget=budget, seed=seed, epoch=epoch, rank=rank, world=world
        )
        for position in range(cursor.position, len(batches) - 1):
            yield batches[position], Cursor(epoch, position + 1)
        cursor = Cursor(epoch + 1, 0)
        yield batches[-1], cursor


def epoch_batches(
    source_lengths: NDArray[np.integer],
    target_lengths: NDArray[np.integer],
    *,
    budget: int,
    seed: int,
    epoch: int,
    rank: int = 0,
    world: int = 1,
) -> list[Indices]:
    """The batches of one epoch, as indices of pairs.

    rows * (longest source + EOS + longest target + BOS) <= budget, unless one pair alone is larger. Every
    pair is in exactly one batch. Of several ranks each gets the same number of batches and no pair twice;
    only when almost every batch is a single pair does the last round repeat some.
    """
    pairs = len(source_lengths)
    if pairs < world:
        raise DataError(
            f"{pairs:,} pairs cannot be shared by {world:,} processes",
            hint="add data, or start fewer processes" if pairs else "the data has no pairs",
            code="too_few_pairs",
        )
    random = np.random.PCG64(np.random.SeedSequence((seed, epoch)))
    source, target = np.asarray(source_lengths) + 1, np.asarray(target_lengths) + 1
    order = _shuffled(pairs, random)
    order = order[_by_length(source[order], target[order])]
    batches = _share(_cut(order, source[order], target[order], budget), world)
    return [batches[i] for i in _shuffled(len(batches), random)[rank::world]]


def _shuffled(count: int, random: np.random.PCG64) -> Indices:
    """0 .. count-1 at random. Raw bits only: other streams of NumPy may change between its versions."""
    return np.argsort(random.random_raw(count), kind="stable")


def _by_length(source: NDArray[np.integer], target: NDArray[np.integer]) -> Indices:
    """An order in which neighbours have like lengths: by source, and by target up and down in turns."""
    return np.lexsort((np.where(source % 2, target, -target), source))


def _cut(
    order: Indices, source: NDArray[np.integer], target: NDArray[np.integer], budget: int
) -> list[Indices]:
    """`order` in runs that are as long as the budget allows."""
    batches, start = [], 0
    while start < len(order):
        most = max(1, budget // int(source[start] + target[start]))
        rows = slice(start, start + most)
        width = np.maximum.accumulate(source[rows]) + np.maximum.accumulate(target[rows])
        cost = width.astype(np.int64) * np.arange(1, len(width) + 1)
        end = start + max(1, int(np.searchsorted(cost, budget, side="right")))
        batches.append(order[start:end])
        start = end
    return batches


def _share(batches: list[Indices], world: int) -> list[Indices]:
    """A number of batches that every rank gets the same share of: the ones with most rows are halved."""
    batches = list(batches)
    while len(batches) % world:
        largest = max(range(len(batches)), key=lambda i: len(batches[i]))
        batch, half = batches[largest], len(batches[largest]) // 2
        if half == 0:
            return batches + batches[: -len(batches) % world]
        batches[largest : largest + 1] = [batch[:half], batch[half:]]
    return batches
