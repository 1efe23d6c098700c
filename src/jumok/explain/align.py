"""Hard alignments between words, and their text form that other tools read.

Axis letters: T target words, S source words.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

THRESHOLD = 0.1


@dataclass(frozen=True)
class Link:
    """A target word and the source word it looked at most."""

    source: int
    target: int
    weight: float


def links(weights: ArrayLike, *, threshold: float = THRESHOLD, end: bool = True) -> list[Link]:
    """Hard links from weights (T, S) between words: each target word to the source word with the largest.

    A word has no link if that weight is below the threshold. With `end`, the last row and the last column are
    the ends of the sentences: the end gets no link, and a word that looked at the end most has none. Of equal
    weights the first counts.
    """
    table = np.asarray(weights, dtype=np.float64)
    rows = table[:-1] if end else table
    if not rows.size:
        return []
    best, last = rows.argmax(axis=1), table.shape[1] - 1
    found = [Link(int(s), t, float(rows[t, s])) for t, s in enumerate(best)]
    return [link for link in found if link.weight >= threshold and not (end and link.source == last)]


def pharaoh(found: Iterable[Link]) -> str:
    """Links in Pharaoh's form: `0-0 3-1 2-3`, source before target, words counted from 0."""
    return " ".join(f"{link.source}-{link.target}" for link in found)
