"""Lists of numbers of different lengths as two arrays."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
from numpy.typing import NDArray

Ids = NDArray[np.int64]


@dataclass(frozen=True)
class Ragged:
    """Lists of numbers end to end: list i is values[begin[i] : begin[i + 1]]."""

    values: Ids
    begin: Ids

    def __len__(self) -> int:
        return len(self.begin) - 1

    def lengths(self) -> Ids:
        return np.diff(self.begin)

    def take(self, which: Ids) -> "Ragged":
        """These lists, in this order."""
        lengths = self.lengths()[which]
        begin = offsets(lengths)
        places = np.repeat(self.begin[which] - begin[:-1], lengths) + np.arange(begin[-1])
        return Ragged(self.values[places], begin)


def offsets(lengths: Ids) -> Ids:
    """Where each list begins when lists of these lengths lie end to end, and where the last one ends."""
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)


def join(parts: Sequence[Ragged]) -> Ragged:
    """All lists of all parts."""
    lengths = np.concatenate([part.lengths() for part in parts])
    return Ragged(np.concatenate([part.values for part in parts]), offsets(lengths))


def ragged(lists: Sequence[Sequence[int]]) -> Ragged:
    lengths = np.array([len(one) for one in lists], dtype=np.int64)
    return Ragged(np.fromiter(chain.from_iterable(lists), dtype=np.int64), offsets(lengths))
