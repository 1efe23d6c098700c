"""Batches under a token budget, in an order that is a pure function of (seed, epoch, position).

An update is made of P = world * parts pieces: each of `world` processes works on `parts` of them, one after
the other. Only P matters, so that 2 processes read in each update what 1 process reads in 2 parts.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from jumok.data.batch import Room
from jumok.errors import DataError

Indices = NDArray[np.int64]
Lengths = NDArray[np.integer]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Cursor:
    """A place in the endless stream of updates: the next one to read."""

    epoch: int = 0
    position: int = 0


def stream(
    source_lengths: Lengths,
    target_lengths: Lengths,
    *,
    budget: int,
    seed: int,
    cursor: Cursor = Cursor(),  # noqa: B008 - frozen
    rank: int = 0,
    world: int = 1,
    parts: int = 1,
) -> Iterator[tuple[list[Indices], Cursor]]:
    """This rank's pieces of each update from `cursor` on, without end, each with the cursor after it.

    An update is a batch of `epoch_batches`, cut into P pieces of as many rows, give or take one. Pieces of a
    batch with fewer than P rows can be empty.
    """
    check_shared(len(source_lengths), world)

    def epoch_of(epoch: int) -> list[Indices]:
        return epoch_batches(source_lengths, target_lengths, budget=budget, seed=seed, epoch=epoch)

    updates = _without_end(epoch_of, cursor)
    return ((own_pieces(batch, rank, world, parts), after) for batch, after in updates)


def own_pieces(batch: Indices, rank: int, world: int, parts: int) -> list[Indices]:
    """A rank's pieces of a batch that is cut into P, the larger ones first."""
    return np.array_split(batch, world * parts)[rank * parts : (rank + 1) * parts]


def packed_stream(
    source_lengths: Lengths,
    target_lengths: Lengths,
    *,
    room: Room,
    seed: int,
    cursor: Cursor = Cursor(),  # noqa: B008 - frozen
    rank: int = 0,
    world: int = 1,
    parts: int = 1,
) -> Iterator[tuple[list[Indices], Cursor]]:
    """As `stream`, for packed batches: an update is P consecutive pieces of `epoch_pieces`.

    The last update of an epoch is filled up with empty pieces, so that every rank has the same number.
    """
    check_shared(len(source_lengths), world)
    _check_fits(source_lengths, target_lengths, room, world * parts)

    def epoch_of(epoch: int) -> list[list[Indices]]:
        pieces = epoch_pieces(source_lengths, target_lengths, room=room, seed=seed, epoch=epoch)
        pieces += [pieces[-1][:0]] * (-len(pieces) % (world * parts))
        own = range(rank * parts, len(pieces), world * parts)
        return [pieces[first : first + parts] for first in own]

    return _without_end(epoch_of, cursor)


def _without_end(epoch_of: Callable[[int], Sequence[T]], cursor: Cursor) -> Iterator[tuple[T, Cursor]]:
    """What the epochs hold, end to end from `cursor` on, each with the cursor after it."""
    while True:
        updates = epoch_of(cursor.epoch)
        for position in range(cursor.position, len(updates) - 1):
            yield updates[position], Cursor(cursor.epoch, position + 1)
        cursor = Cursor(cursor.epoch + 1, 0)
        yield updates[-1], cursor


def epoch_batches(
    source_lengths: Lengths, target_lengths: Lengths, *, budget: int, seed: int, epoch: int
) -> list[Indices]:
    """The batches of one epoch, as indices of pairs with like lengths. Every pair is in exactly one.

    rows * (longest source + EOS + longest target + BOS) <= budget, unless one pair alone is larger.
    """
    check_shared(len(source_lengths), 1)
    random = _random(seed, epoch)
    source, target = np.asarray(source_lengths) + 1, np.asarray(target_lengths) + 1
    order = _shuffled(len(source), random)
    order = order[_by_length(source[order], target[order])]
    batches = _cut(order, source[order], target[order], budget)
    return [batches[i] for i in _shuffled(len(batches), random)]


def epoch_pieces(
    source_lengths: Lengths, target_lengths: Lengths, *, room: Room, seed: int, epoch: int
) -> list[Indices]:
    """All pairs of one epoch in a random order, cut wherever the next pair has no room.

    Of every piece: sum of (source + EOS) <= room.source, and sum of (target + BOS) <= room.target.
    """
    pairs = len(source_lengths)
    order = _shuffled(pairs, _random(seed, epoch))
    sides = ((source_lengths, room.source), (target_lengths, room.target))
    sums = [(np.cumsum(np.append(0, lengths[order] + 1), dtype=np.int64), most) for lengths, most in sides]
    pieces, start = [], 0
    while start < pairs:
        end = min(int(np.searchsorted(sum_, sum_[start] + most, side="right")) - 1 for sum_, most in sums)
        assert end > start, "a pair larger than the room"
        pieces.append(order[start:end])
        start = end
    return pieces


def check_shared(pairs: int, world: int) -> None:
    """Refuse data that leaves a process without a pair."""
    if pairs < world:
        raise DataError(
            f"{pairs:,} pairs cannot be shared by {world:,} processes",
            hint="add data, or start fewer processes" if pairs else "the data has no pairs",
            code="too_few_pairs",
        )


def _check_fits(source_lengths: Lengths, target_lengths: Lengths, room: Room, pieces: int) -> None:
    """The longest pair must fit into a piece; what an update of so many pieces would need is in the hint."""
    size = np.maximum((source_lengths + 1) / room.source, (target_lengths + 1) / room.target)
    longest = int(size.argmax())
    if size[longest] <= 1:
        return
    source, target = int(source_lengths[longest]) + 1, int(target_lengths[longest]) + 1
    both = room.source + room.target
    need = max(-(-source * both // room.source), -(-target * both // room.target))
    fits = min(room.source, room.target) - 1
    raise DataError(
        f"pair {longest + 1:,} has {source:,} source and {target:,} target tokens, "
        f"and a batch has room for {room.source:,} and {room.target:,}",
        where="the prepared training data",
        hint=f"raise training.batch_tokens to {need * pieces:,}, or lower data.max_length to {fits:,}",
        code="pair_too_long",
    )


def _random(seed: int, epoch: int) -> np.random.PCG64:
    return np.random.PCG64(np.random.SeedSequence((seed, epoch)))


def _shuffled(count: int, random: np.random.PCG64) -> Indices:
    """0 .. count-1 at random. Raw bits only: other streams of NumPy may change between its versions."""
    return np.argsort(random.random_raw(count), kind="stable")


def _by_length(source: Lengths, target: Lengths) -> Indices:
    """An order in which neighbours have like lengths: by source, and by target up and down in turns."""
    return np.lexsort((np.where(source % 2, target, -target), source))


def _cut(order: Indices, source: Lengths, target: Lengths, budget: int) -> list[Indices]:
    """`order` in runs that are as long as the budget allows."""
    batches, start = [], 0
    while start < len(order):
        most = budget // int(source[start] + target[start])  # 0 where the first is larger by itself
        rows = slice(start, start + most)
        width = np.maximum.accumulate(source[rows]) + np.maximum.accumulate(target[rows])
        cost = width.astype(np.int64) * np.arange(1, len(width) + 1)
        end = start + max(1, int(np.searchsorted(cost, budget, side="right")))
        batches.append(order[start:end])
        start = end
    return batches
