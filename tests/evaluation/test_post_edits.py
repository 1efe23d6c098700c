"""Which words a person would change: the fewest edits, against all ways to edit."""

from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jumok.evaluation.post_edits import changed_words, edit_steps, edit_words, is_changed

WORDS = st.lists(st.sampled_from("abc"), max_size=6)


@pytest.mark.parametrize(
    ("answer", "reference", "changed"),
    [
        ("the cat sat .", "the cat sat .", [0, 0, 0, 0]),
        ("the dog sat .", "the cat sat .", [0, 1, 0, 0]),
        ("the big cat sat .", "the cat sat .", [0, 1, 0, 0, 0]),
        ("cat sat .", "the cat sat .", [0, 0, 0]),
        ("the Cat", "the cat", [0, 1]),
        ("", "the cat", []),
        ("the cat", "", [1, 1]),
    ],
)
def test_changes_by_hand(answer: str, reference: str, changed: list[int]) -> None:
    assert list(map(int, changed_words(answer, [reference]))) == changed


def test_of_several_references_the_nearest_counts() -> None:
    assert changed_words("a b c", ["x y z", "a b d"]) == (False, False, True)
    assert is_changed("a b c", ["x", "a  b c"]) is False  # spaces are not words
    assert is_changed("a b", ["a b c"]) is True  # a word is missing


def fewest(left: tuple[str, ...], right: tuple[str, ...]) -> int:
    """The number of edits, by trying all."""

    @cache
    def least(i: int, j: int) -> int:
        if not i or not j:
            return i + j
        differs = left[i - 1] != right[j - 1]
        return min(least(i - 1, j) + 1, least(i, j - 1) + 1, least(i - 1, j - 1) + differs)

    return least(len(left), len(right))


@given(WORDS, WORDS)
def test_the_edits_are_the_fewest_and_what_is_kept_is_in_both(left: list[str], right: list[str]) -> None:
    edits, changed = edit_words(left, right)
    assert edits == fewest(tuple(left), tuple(right))
    kept = [word for word, edited in zip(left, changed, strict=True) if not edited]
    rest = iter(right)
    assert all(word in rest for word in kept)  # in the same order
    assert sum(changed) <= edits


@pytest.mark.parametrize(
    ("answer", "reference", "steps"),
    [
        ("abc", "abc", [(0, 0), (1, 1), (2, 2)]),
        ("a", "aa", [(None, 0), (0, 1)]),  # of two that could be kept, the last is
        ("aa", "a", [(0, None), (1, 0)]),
        ("ax", "a", [(0, 0), (1, None)]),
        ("ab", "ba", [(0, 0), (1, 1)]),  # two put in place of two, not one taken out and put in again
        ("abx", "yab", [(None, 0), (0, 1), (1, 2), (2, None)]),
        ("", "ab", [(None, 0), (None, 1)]),
        ("ab", "", [(0, None), (1, None)]),
    ],
)
def test_the_edit_that_is_chosen(
    answer: str, reference: str, steps: list[tuple[int | None, int | None]]
) -> None:
    assert edit_steps(answer, reference) == steps


def test_of_references_as_near_the_first_counts() -> None:
    assert changed_words("a b c", ["a x c", "a b x"]) == (False, True, False)
