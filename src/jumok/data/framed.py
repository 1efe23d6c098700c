"""Rows of ids with what stands around them by a frame, and without it: for many rows at once.

Letters: R rows, b tokens before and a tokens behind each of them, the same numbers for all rows.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from jumok.text.frame import Direction
from jumok.text.ragged import Ragged, offsets
from jumok.text.tokenizer import Tokenizers

Tags = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class RowFrames:
    """What stands around the rows of each of some directions, on both sides."""

    before: Tags  # (directions, b)
    behind: Tags  # (directions, a)
    opening: Tags  # (directions, o): what targets begin with

    @staticmethod
    def of(tokenizers: Tokenizers, directions: Sequence[Direction]) -> "RowFrames":
        """Those of the tokenizers' frame."""
        own = [tokenizers.towards(direction) for direction in directions]
        whole = [one.framed(()) for one in own]
        if tokenizers.frame.endless:  # rows that are stored as closed have no end, and need no word for it
            whole = [ids[:-1] for ids in whole]
        first = tokenizers.frame.before
        tables = (
            [ids[:first] for ids in whole],
            [ids[first:] for ids in whole],
            [one.opening for one in own],
        )
        before, behind, opening = (np.array(table, dtype=np.int64).reshape(len(own), -1) for table in tables)
        return RowFrames(before, behind, opening)

    @property
    def is_plain(self) -> bool:
        return not (self.before.size or self.behind.size or self.opening.size)

    def sources(self, rows: Ragged, numbers: Tags) -> Ragged:
        """Sources of these directions (R,), framed."""
        return around(rows, self.before[numbers], self.behind[numbers])

    def targets(self, rows: Ragged, numbers: Tags) -> Ragged:
        """Targets of these directions (R,), each behind its opening."""
        return around(rows, self.opening[numbers], np.zeros((len(rows), 0), dtype=np.int64))


def around(rows: Ragged, before: Tags, behind: Tags) -> Ragged:
    """Each row with its tokens before it (R, b) and behind it (R, a)."""
    b, a = before.shape[1], behind.shape[1]
    lengths = rows.lengths()
    begin = offsets(lengths + b + a)
    values = np.empty(begin[-1], dtype=np.int64)
    for place in range(b):
        values[begin[:-1] + place] = before[:, place]
    for place in range(a):
        values[begin[1:] - a + place] = behind[:, place]
    values[np.arange(len(rows.values)) + np.repeat(begin[:-1] + b - rows.begin[:-1], lengths)] = rows.values
    return Ragged(values, begin)


def bare(rows: Ragged, b: int, a: int) -> tuple[Ragged, Tags, Tags]:
    """`around` undone: the rows, and what stood before (R, b) and behind them (R, a)."""
    first, last = rows.begin[:-1, None], rows.begin[1:, None]
    before, behind = rows.values[first + np.arange(b)], rows.values[last - a + np.arange(a)]
    lengths = rows.lengths() - b - a
    begin = offsets(lengths)
    places = np.arange(begin[-1]) + np.repeat(rows.begin[:-1] + b - begin[:-1], lengths)
    return Ragged(rows.values[places], begin), before, behind
