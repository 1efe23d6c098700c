"""Length bins: every sentence is in exactly one, and the bins are the ones that were asked for."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jumok.errors import ConfigError
from jumok.evaluation.lengths import Bins, group_by_length

SOURCES = st.lists(st.integers(0, 60).map(lambda words: " ".join(["wort"] * words)), min_size=1, max_size=50)


def words(*counts: int) -> list[str]:
    return [" ".join(["w"] * count) for count in counts]


def test_default_bins_are_tens_of_words() -> None:
    unit, groups = group_by_length(words(1, 10, 11, 20, 21, 31, 41, 99))
    assert unit == "source_words"
    assert [group.label for group in groups] == ["1–10", "11–20", "21–30", "31–40", "41+"]
    assert [group.sentences for group in groups] == [(0, 1), (2, 3), (4,), (5,), (6, 7)]


def test_bins_without_a_sentence_are_left_out_and_blank_lines_are_in_the_first() -> None:
    _, groups = group_by_length(words(0, 3, 35))
    assert [(group.lo, group.hi, len(group.sentences)) for group in groups] == [(1, 10, 2), (31, 40, 1)]


def test_short_sources_are_cut_into_thirds_by_characters() -> None:
    unit, groups = group_by_length(["x" * length for length in (1, 2, 3, 4, 5, 6, 7, 8, 9)])
    assert unit == "source_characters"
    assert [group.label for group in groups] == ["1–3", "4–6", "7–9"]
    assert [len(group.sentences) for group in groups] == [3, 3, 3]


def test_equal_lengths_stay_together_in_thirds() -> None:
    _, groups = group_by_length(["abcd"] * 7, "thirds")
    assert [(group.label, len(group.sentences)) for group in groups] == [("4", 7)]


def test_own_edges_count_words() -> None:
    unit, groups = group_by_length(words(1, 4, 5, 80), [1, 5])
    assert unit == "source_words"
    assert [(group.label, group.sentences) for group in groups] == [("1–4", (0, 1)), ("5+", (2, 3))]


def test_fewer_than_thirty_sentences_are_thin() -> None:
    _, groups = group_by_length(words(*[5] * 29, *[15] * 30))
    assert [group.thin for group in groups] == [True, False]


@given(sources=SOURCES, bins=st.sampled_from([None, "words", "thirds", (3, 9)]))
def test_every_sentence_is_in_exactly_one_bin_of_its_length(sources: list[str], bins: Bins) -> None:
    unit, groups = group_by_length(sources, bins)
    assert sorted(line for group in groups for line in group.sentences) == list(range(len(sources)))
    for group in groups:
        for line in group.sentences:
            length = len(sources[line].split() if unit == "source_words" else sources[line])
            assert length <= (group.hi or length)
            assert length >= group.lo or group is groups[0]


@pytest.mark.parametrize("edges", [[], [5, 5], [9, 3], [-1, 4], "tens"])
def test_impossible_edges_are_refused(edges: Bins) -> None:
    with pytest.raises(ConfigError, match="length bins .* cannot work\n  choose 'words', 'thirds', or the"):
        group_by_length(words(12), edges)
