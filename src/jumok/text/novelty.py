"""How new a text is to a model: which tokens stood side by side in its training, in a filter of bounded size.

A text of characters that are all known can still be one of a kind that was never learned. Then its tokens
stand beside others than they ever did. Which pairs (a, b) of neighbours the training sources had is kept as a
Bloom filter of m bits, 8 or more for each pair, with four places for each:

    place_i(a, b) = (h(a, b) + i · g(a, b)) mod m,   i = 0 … 3

A pair that was seen is always found; of those that were not, one in 42 at most is taken for seen. A text is
strange when u of its n pairs are unseen, u is 2 or more, and

    u / (n + 4) > usual

which 99 of 100 validation sentences do not exceed: four pairs that are taken for seen keep short texts calm.
A page without a server computes the same (`web/src/local/usual.ts`).
"""

import base64
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

BITS, PLACES = 8, 4
"""Of the filter for each pair, at least; and places of a pair in it."""
MOST = 2**20
"""Pairs that are kept. Training with more has met so much that its pairs say little."""
LEAST_BITS = 2**10
LEAST_UNSEEN, LEAST_SHARE, CALM = 2, 0.2, 4
"""One new pair says nothing: a name, a number."""
RARE = 0.01

Pairs = NDArray[np.uint64]


@dataclass(frozen=True, slots=True)
class NoveltyCount:
    """Pairs of neighbouring tokens of a text, and those that never stood together in training."""

    pairs: int
    unseen: int
    strange: bool
    """They are so many that the text is hardly of the kind that was learned."""


@dataclass(frozen=True, eq=False)
class Novelty:
    """The filter of one model; it can say of any sentence how many of its pairs are new."""

    bits: NDArray[np.uint8]
    """Eight places in each byte, the lowest bit first; the number of bytes is a power of two."""
    usual: float

    def count(self, sentences: Iterable[Sequence[int] | NDArray[Any]]) -> NoveltyCount:
        """The pairs of some sentences, each given by its ids, without its end."""
        pairs = pairs_of(sentences)  # (P,)
        unseen = int((~self.has(pairs)).sum())
        return NoveltyCount(len(pairs), unseen, share_of(unseen, len(pairs)) > self.usual)

    def has(self, pairs: Pairs) -> NDArray[np.bool_]:
        """Which of these pairs were seen in training."""
        places = places_of(pairs, 8 * len(self.bits))  # (4, P)
        found: NDArray[np.bool_] = (self.bits[places >> 3] >> (places & 7) & 1).all(0)
        return found

    def to_dict(self) -> dict[str, Any]:
        return {"usual": self.usual, "filter": base64.b64encode(self.bits.tobytes()).decode()}


def parse_novelty(fields: Mapping[str, Any]) -> Novelty | None:
    """What `to_dict` wrote; None if it cannot be that."""
    match fields:
        case {"usual": float() | int() as usual, "filter": str(text)}:
            try:
                bits = np.frombuffer(base64.b64decode(text, validate=True), np.uint8)
            except ValueError:
                return None
            size = len(bits)
            return Novelty(bits, float(usual)) if 8 * size >= LEAST_BITS and size & (size - 1) == 0 else None
    return None


def make_novelty(
    training: Iterable[Pairs], validation: Iterable[Sequence[int] | NDArray[Any]]
) -> Novelty | None:
    """The filter of the pairs of the training sources, and what is usual in validation; None if they are too
    many."""
    known = np.empty(0, np.uint64)
    for some in training:
        known = np.union1d(known, some)
        if len(known) > MOST:
            return None
    size = LEAST_BITS
    while size < BITS * len(known):
        size *= 2
    marked = np.zeros(size, np.uint8)
    marked[places_of(known, size)] = 1
    novelty = Novelty(np.packbits(marked, bitorder="little"), LEAST_SHARE)
    counts = [novelty.count([sentence]) for sentence in validation]
    shares = [LEAST_SHARE, *(share_of(each.unseen, each.pairs) for each in counts)]
    return replace(novelty, usual=max(LEAST_SHARE, float(np.quantile(shares, 1 - RARE))))


def share_of(unseen: int, pairs: int) -> float:
    """How much of a text is unseen, calmed."""
    return unseen / (pairs + CALM) if unseen >= LEAST_UNSEEN else 0.0


def pairs_of(sentences: Iterable[Sequence[int] | NDArray[Any]]) -> Pairs:
    """All neighbours in some sentences, each pair as one number: (P,)."""
    wide = [np.asarray(ids, np.uint64) for ids in sentences]
    return np.concatenate([np.empty(0, np.uint64), *(ids[:-1] << np.uint64(32) | ids[1:] for ids in wide)])


def places_of(pairs: Pairs, size: int) -> NDArray[np.uint32]:
    """Where these pairs stand in a filter of so many bits, a power of two: (4, P)."""
    left, right = (pairs >> np.uint64(32)).astype(np.uint32), pairs.astype(np.uint32)
    first = mixed(left * np.uint32(0x9E3779B1) + right * np.uint32(0x85EBCA6B))  # (P,)
    second = mixed(first + np.uint32(0x9E3779B9)) | np.uint32(1)  # (P,)
    steps = np.arange(PLACES, dtype=np.uint32)[:, None]  # (4, 1)
    return (first + steps * second) & np.uint32(size - 1)


def mixed(x: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """Bits of a number spread over all of it."""
    x = (x ^ x >> np.uint32(15)) * np.uint32(0x2C1B3C6D)
    x = (x ^ x >> np.uint32(12)) * np.uint32(0x297A2D39)
    return x ^ x >> np.uint32(15)
