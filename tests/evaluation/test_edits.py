"""Edit distance and longest common subsequence against the tables everyone knows."""

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jumok.evaluation.edits import common_subsequence, edit_distance

WORDS = st.lists(st.sampled_from("abcd"), max_size=70)


def slow_edit_distance(first: Sequence[str], second: Sequence[str]) -> int:
    row = list(range(len(second) + 1))
    for i, a in enumerate(first, start=1):
        above, row = row, [i]
        for j, b in enumerate(second, start=1):
            row.append(min(above[j] + 1, row[-1] + 1, above[j - 1] + (a != b)))
    return row[-1]


def slow_common_subsequence(first: Sequence[str], second: Sequence[str]) -> int:
    row = [0] * (len(second) + 1)
    for a in first:
        above, row = row, [0]
        for j, b in enumerate(second, start=1):
            row.append(above[j - 1] + 1 if a == b else max(above[j], row[-1]))
    return row[-1]


@pytest.mark.parametrize(
    ("first", "second", "edits", "common"),
    [
        ("kitten", "sitting", 3, 4),
        ("", "abc", 3, 0),
        ("abc", "", 3, 0),
        ("", "", 0, 0),
        ("같은 말", "같은 말", 0, 4),
    ],
)
def test_values_counted_by_hand(first: str, second: str, edits: int, common: int) -> None:
    assert edit_distance(first, second) == edits
    assert common_subsequence(first, second) == common


@settings(max_examples=200, deadline=None)
@given(first=WORDS, second=WORDS)
def test_the_bits_agree_with_the_tables(first: list[str], second: list[str]) -> None:
    assert edit_distance(first, second) == slow_edit_distance(first, second) == edit_distance(second, first)
    assert common_subsequence(first, second) == slow_common_subsequence(first, second)


@settings(max_examples=50, deadline=None)
@given(first=WORDS, second=WORDS, third=WORDS)
def test_the_distance_is_a_metric(first: list[str], second: list[str], third: list[str]) -> None:
    assert (edit_distance(first, second) == 0) == (first == second)
    assert edit_distance(first, third) <= edit_distance(first, second) + edit_distance(second, third)
