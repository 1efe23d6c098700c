"""Which pairs of several corpora an epoch reads: each corpus has its share, and none of its pairs waits.

The pairs of corpus c come in rounds: all n_c of them in a random order, then all again in another. An epoch
of N = Σ n_c pairs takes the next N · s_c of them, where Σ s_c = 1. So in E epochs corpus c was read

    floor(E · N · s_c) times,   each of its pairs floor or ceil of (E · N · s_c / n_c) times,

and which pairs epoch e has follows from the seed and e: a run that goes on reads what it would have read.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from jumok.data.store import Store, unreadable

Rows = NDArray[np.int64]


def shares_of(
    sizes: Sequence[int], weights: Sequence[float], temperature: float = 1.0
) -> tuple[Fraction, ...]:
    """Each corpus's share of what is read, exactly.

    By weights where there are any, those of 0 counting as 1; else s_c ~ n_c ** (1 / temperature): 1 reads
    every pair as often as any other, more lets small corpora come more often (Arivazhagan et al. 2019).
    """
    if any(weights):
        parts = [Fraction(weight or 1.0) for weight in weights]
    else:
        parts = [
            Fraction(size ** (1 / temperature)) if temperature != 1 else Fraction(size) for size in sizes
        ]
    total = sum(parts)
    return tuple(part / total for part in parts)


@dataclass(frozen=True, slots=True)
class Mix:
    """The corpora of a store, one after the other, and their shares."""

    sizes: tuple[int, ...]
    shares: tuple[Fraction, ...]
    seed: int

    @property
    def is_plain(self) -> bool:
        """Every pair is as frequent as any other: an epoch is all pairs once, and nothing is chosen."""
        total = sum(self.sizes)
        return all(
            Fraction(size, total) == share for size, share in zip(self.sizes, self.shares, strict=True)
        )

    def rows(self, epoch: int) -> Rows:
        """The rows of the store that an epoch reads, corpus after corpus; some may be there several times."""
        total, first, found = sum(self.sizes), 0, list[Rows]()
        for number, (size, share) in enumerate(zip(self.sizes, self.shares, strict=True)):
            begin, end = (int(part * total * share) for part in (epoch, epoch + 1))
            found.append(first + self._taken(number, size, begin, end))
            first += size
        return np.concatenate(found)

    def _taken(self, number: int, size: int, begin: int, end: int) -> Rows:
        """Pairs `begin` to `end` of the endless rounds of one corpus."""
        rounds = range(begin // size, -(-end // size) if end > begin else begin // size)
        orders = [shuffled(size, (self.seed, number, one)) for one in rounds]
        if not orders:
            return np.empty(0, dtype=np.int64)
        skip = begin - rounds[0] * size
        return np.concatenate(orders)[skip : skip + end - begin]

    def store(self, store: Store, epoch: int) -> Store:
        """The pairs of an epoch as a store; ids stay where they are."""
        return store if self.is_plain else chosen(store, self.rows(epoch))


def write_mix(file: Path, store: Store, weights: Sequence[float], temperature: float, seed: int) -> Mix:
    """How a store's corpora are mixed, kept in a file beside it."""
    told = {"weights": list(weights), "temperature": temperature, "seed": seed}
    file.write_text(json.dumps(told), encoding="utf-8")
    return read_mix(file, store)


def read_mix(file: Path, store: Store) -> Mix:
    """What `write_mix` left."""
    with unreadable(file.parent):
        told = json.loads(file.read_bytes())
        shares = shares_of(store.corpora, told["weights"], told["temperature"])
        return Mix(store.corpora, shares, int(told["seed"]))


def shuffled(count: int, key: tuple[int, ...]) -> Rows:
    """0 to count - 1 in an order that follows from the key alone."""
    raw = np.random.PCG64(np.random.SeedSequence(key)).random_raw(count)  # raw bits: see `sampler.py`
    return np.argsort(raw, kind="stable").astype(np.int64)


def chosen(store: Store, rows: Rows) -> Store:
    """These rows of a store, in this order; a row may be there more than once."""
    sides = {
        f"{side}_{what}": getattr(store, f"{side}_{what}")[rows]
        for side in ("source", "target")
        for what in ("offsets", "lengths")
    }
    return replace(store, **sides)
