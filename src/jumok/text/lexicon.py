"""Which target tokens a source token becomes, learned from pairs of sentences: IBM model 1 on ids.

    p(t | sentence s) = sum over i of p(t | s_i) / (I + 1),   s_0 = nothing      (Brown et al. 1993)

With a tension, source tokens near the same place of their sentence count for more, as in fast_align (Dyer et
al. 2013): each p(t | s_i) times d_ij, which is 1 on average,

    d_ij ~ exp(-tension |i / I - j / J|)

Pairs are looked at in blocks. Of each source token only the partners that are bound to it most closely take
part in the steps, so what memory grows with are the ids of the text and the vocabularies.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from jumok.progress import Progress, silent
from jumok.text.ragged import Ragged, join, offsets, ragged

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Pairs = Iterable[tuple[Sequence[int], Sequence[int]]]

STEPS = 4
BLOCK = 1 << 20
"""Places (source token, target token) of a block: few enough to stay in memory that is near."""
PARTNERS = 2
"""For each partner that is kept in the end, so many take part in the steps."""
TABLE = 1 << 22
"""New pairs of tokens that are counted before the weakest of all are left out."""
READ = 10_000
FACTOR = np.uint64(0x9E3779B97F4A7C15)  # of Fibonacci hashing
FREE = -1


@dataclass(frozen=True)
class Lexicon:
    """The likely target tokens of every source token, likeliest first, and how often each target occurred."""

    likely: Ragged
    counts: Ints

    def frequent(self, most: int) -> Ints:
        """The target tokens that occurred most often, ascending; of equals the lower id."""
        order = np.argsort(-self.counts, kind="stable")[:most]
        return np.sort(order[self.counts[order] > 0])


@dataclass(frozen=True)
class PartnerTable:
    """p(target token | source token) of the partners that were kept; the keys of each, which ascend."""

    table: "KeyTable"
    likely: Floats
    nothing: Floats
    """p(target token | nothing)."""
    keys: Ints
    size: int
    """Target tokens: a key is source id · size + target id."""


def learn_lexicon(
    pairs: Pairs, sizes: tuple[int, int], each: int, progress: Progress = silent, *, steps: int = STEPS
) -> Lexicon:
    """The `each` likeliest partners of every source token; `sizes` are those of the vocabularies.

    Pairs with an empty side are passed over. The same pairs give the same lexicon.
    """
    source, target = read_pairs(pairs)
    counts = np.bincount(target.values, minlength=sizes[1])
    found = learn_partners(source, target, sizes, each, progress, steps=steps)
    values = found.likely[found.table.find(found.keys)]
    keys, values = found.keys[values > 0], values[values > 0]
    chosen = strongest(keys, values, sizes[1], each)
    lengths = np.bincount(keys[chosen] // sizes[1], minlength=sizes[0])
    return Lexicon(Ragged(keys[chosen] % sizes[1], offsets(lengths)), counts)


def learn_partners(
    source: Ragged,
    target: Ragged,
    sizes: tuple[int, int],
    each: int,
    progress: Progress = silent,
    *,
    steps: int = STEPS,
    tension: float = 0.0,
) -> PartnerTable:
    """The probabilities of `PARTNERS` times `each` partners of every source token, after so many steps."""
    counts = np.bincount(target.values, minlength=sizes[1])
    total = len(source) * (steps + 1)

    def report(before: int, done: int) -> None:
        progress("learning which words belong together", before * len(source) + done, total)

    keys, together = np.zeros(0, np.int64), np.zeros(0, np.int64)
    tables: list[tuple[Ints, Ints]] = []
    for done, places in blocks(source, target, sizes[1]):
        tables.append(np.unique(places.keys, return_counts=True))
        if sum(len(new_keys) for new_keys, _ in tables) > TABLE or done == len(source):
            keys, together = merged([(keys, together), *tables])
            chosen = strongest(keys, together**2 / counts[keys % sizes[1]], sizes[1], PARTNERS * each)
            keys, together, tables = keys[chosen], together[chosen], []
        report(0, done)
    table = KeyTable(keys)
    likely = np.zeros(table.size)
    likely[table.find(keys)] = together
    likely = normalised(likely, table.keys // sizes[1])
    nothing = counts / max(int(counts.sum()), 1)
    for step in range(1, steps + 1):
        sums, alone = np.zeros(table.size), np.zeros(sizes[1])
        for done, places in blocks(source, target, sizes[1]):
            near = nearness(places, tension) if tension else None
            expect(places, table, likely, nothing, sums, alone, near)
            report(step, done)
        likely = normalised(sums, table.keys // sizes[1])
        nothing = alone / max(float(alone.sum()), 1e-300)
    return PartnerTable(table, likely, nothing, keys, sizes[1])


def read_pairs(pairs: Pairs) -> tuple[Ragged, Ragged]:
    """All pairs that have two sides, as arrays."""
    sides: tuple[list[Ragged], list[Ragged]] = ([ragged([])], [ragged([])])
    whole = iter(pairs)
    while some := list(islice(whole, READ)):
        kept = [(source, target) for source, target in some if len(source) and len(target)]
        for side, number in zip(sides, (0, 1), strict=True):
            side.append(ragged([pair[number] for pair in kept]))
    return join(sides[0]), join(sides[1])


@dataclass(frozen=True)
class PairPlaces:
    """Some sentence pairs: a place for each of their source tokens under each of their target tokens."""

    keys: Ints
    """Source id · target tokens + target id."""
    targets: Ints
    """The target tokens."""
    begin: Ints
    """Where the places of each target token begin."""
    lengths: Ints
    """How many they are."""
    ranks: Floats
    """Where each target token stands in its sentence, from 0 to 1."""


def blocks(source: Ragged, target: Ragged, size: int) -> Iterator[tuple[int, PairPlaces]]:
    """The places of all pairs, a block at a time, with the number of pairs so far."""
    places = offsets(source.lengths() * target.lengths())
    begin = 0
    while begin < len(source):
        end = max(int(np.searchsorted(places, places[begin] + BLOCK, side="right")) - 1, begin + 1)
        which = np.arange(begin, end)
        left, right = source.take(which), target.take(which)
        lengths = np.repeat(left.lengths(), right.lengths())
        starts = offsets(lengths)
        place = np.repeat(np.repeat(left.begin[:-1], right.lengths()) - starts[:-1], lengths)
        keys = left.values[place + np.arange(starts[-1])] * size + np.repeat(right.values, lengths)
        many = right.lengths()
        where = np.arange(len(right.values)) - np.repeat(right.begin[:-1], many)
        ranks = (where + 0.5) / np.repeat(many, many)
        yield end, PairPlaces(keys, right.values, starts[:-1], lengths, ranks)
        begin = end


def merged(tables: Sequence[tuple[Ints, Ints]]) -> tuple[Ints, Ints]:
    """Keys that ascend and their counts, from several such tables."""
    keys, counts = (np.concatenate(side) for side in zip(*tables, strict=True))
    order = np.argsort(keys, kind="stable")
    keys, counts = keys[order], counts[order]
    first = np.flatnonzero(np.diff(keys, prepend=-1))
    return keys[first], np.add.reduceat(counts, first) if len(first) else counts


def strongest(keys: Ints, values: Floats, size: int, most: int) -> Ints:
    """Which keys have the `most` largest values of their source token, source by source, largest first.

    Of equals the lower target id comes first. Keys ascend.
    """
    rows = keys // size
    order = np.lexsort((-values, rows))
    rows = rows[order]
    rank = np.arange(len(rows)) - np.searchsorted(rows, rows)
    return order[rank < most]


def nearness(places: PairPlaces, tension: float) -> Floats:
    """d_ij of each place: 1 on average over the source tokens of a target token."""
    lengths = np.repeat(places.lengths, places.lengths)
    rank = (np.arange(len(places.keys)) - np.repeat(places.begin, places.lengths) + 0.5) / lengths
    near = np.exp(-tension * np.abs(rank - np.repeat(places.ranks, places.lengths)))
    found: Floats = near * lengths / np.repeat(np.add.reduceat(near, places.begin), places.lengths)
    return found


def expect(
    places: PairPlaces,
    table: "KeyTable",
    likely: Floats,
    nothing: Floats,
    sums: Floats,
    alone: Floats,
    near: Floats | None = None,
) -> None:
    """Add to `sums` and `alone` how much of each target token comes from its partners, and from nothing."""
    slots = table.find(places.keys)
    known = likely[slots] if near is None else likely[slots] * near
    whole = np.add.reduceat(known, places.begin) + nothing[places.targets]
    share = 1 / np.maximum(whole, 1e-300)
    sums += np.bincount(slots, known * np.repeat(share, places.lengths), len(sums))
    alone += np.bincount(places.targets, nothing[places.targets] * share, len(alone))


def normalised(sums: Floats, rows: Ints) -> Floats:
    """Sums as shares of those of their row; a row of -1 is none."""
    totals = np.bincount(rows + 1, sums)
    return np.where(rows < 0, 0.0, sums / np.maximum(totals[rows + 1], 1e-300))


class KeyTable:
    """A place for each of some keys, found with a few looks. The place after the last is that of others."""

    def __init__(self, keys: Ints) -> None:
        bits = max(int(2 * len(keys)).bit_length(), 4)
        self._shift, self._mask = np.uint64(64 - bits), (1 << bits) - 1
        self.keys = np.full((1 << bits) + 1, FREE, np.int64)
        self.size = len(self.keys)
        slots = self._hash(keys)
        while len(keys):
            free = self.keys[slots] == FREE
            self.keys[slots[free]] = keys[free]  # of several the last stays
            rest = self.keys[slots] != keys
            keys, slots = keys[rest], slots[rest] + 1 & self._mask

    def find(self, keys: Ints) -> Ints:
        """The places of keys; the last for one that is not there."""
        slots = self._hash(keys)
        there = self.keys[slots]
        slots[there == FREE] = self.size - 1
        open_ = np.flatnonzero((there != keys) & (there != FREE))
        while len(open_):
            slots[open_] = slots[open_] + 1 & self._mask
            there = self.keys[slots[open_]]
            slots[open_[there == FREE]] = self.size - 1
            open_ = open_[(there != keys[open_]) & (there != FREE)]
        return slots

    def _hash(self, keys: Ints) -> Ints:
        return (keys.astype(np.uint64) * FACTOR >> self._shift).astype(np.int64)
