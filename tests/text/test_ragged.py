"""Lists end to end are the lists."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from jumok.text.ragged import Ragged, join, offsets, ragged

lists = st.lists(st.lists(st.integers(0, 99), max_size=4), max_size=6)


def back(found: Ragged) -> list[list[int]]:
    return [found.values[found.begin[i] : found.begin[i + 1]].tolist() for i in range(len(found))]


@given(lists)
def test_they_come_back(some: list[list[int]]) -> None:
    found = ragged(some)
    assert back(found) == some
    assert found.lengths().tolist() == [len(one) for one in some]


@given(lists.filter(len), st.lists(st.integers(0, 99)))
def test_some_of_them_in_any_order(some: list[list[int]], which: list[int]) -> None:
    chosen = [number % len(some) for number in which]
    assert back(ragged(some).take(np.array(chosen, dtype=np.int64))) == [some[number] for number in chosen]


@given(st.lists(lists, min_size=1, max_size=4))
def test_joined_they_follow_each_other(parts: list[list[list[int]]]) -> None:
    assert back(join([ragged(part) for part in parts])) == [one for part in parts for one in part]


def test_offsets_begin_at_0_and_end_at_the_sum() -> None:
    assert offsets(np.array([2, 0, 3])).tolist() == [0, 2, 2, 5]
