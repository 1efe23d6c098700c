"""Length bins: every sentence is in exactly one, and the bins are the ones that were asked for."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jumok.errors import ConfigError
from jumok.evaluation.lengths import (
    MOST_BARS,
    UNITS,
    Bars,
    Bins,
    TrainLengths,
    count_lengths,
    group_by_length,
    length_of,
    parse_train_lengths,
)
from jumok.text.normalize import tidy

SOURCES = st.lists(st.integers(0, 60).map(lambda words: " ".join(["wort"] * words)), min_size=1, max_size=50)


def words(*counts: int) -> list[str]:
    return [" ".join(["w"] * count) for count in counts]


def test_default_bins_are_tens_of_words() -> None:
    unit, groups = group_by_length(words(1, 10, 11, 20, 21, 31, 41, 99))
    assert unit == "source_words"
    assert [group.label for group in groups] == ["1–10", "11–20", "21–30", "31–40", "41+"]
    assert [group.sentences for group in groups] == [(0, 1), (2, 3), (4,), (5,), (6, 7)]


def test_words_are_counted_where_one_source_has_more_than_ten() -> None:
    assert group_by_length(words(3, 11))[0] == "source_words"
    assert group_by_length(words(3, 10))[0] == "source_characters"


def test_bins_without_a_sentence_are_left_out_and_blank_lines_are_in_the_first() -> None:
    _, groups = group_by_length(words(0, 3, 35))
    assert [(group.lo, group.hi, len(group.sentences)) for group in groups] == [(1, 10, 2), (31, 40, 1)]


def test_short_sources_are_cut_into_thirds_by_characters() -> None:
    unit, groups = group_by_length(["x" * length for length in (1, 2, 3, 4, 5, 6, 7, 8, 9)])
    assert unit == "source_characters"
    assert [group.label for group in groups] == ["1–3", "4–6", "7–9"]
    assert [len(group.sentences) for group in groups] == [3, 3, 3]


@given(st.text(st.sampled_from("ab e\u0301\u3000\t"), max_size=12))
def test_white_space_and_spelling_change_no_length(text: str) -> None:
    """Training sources are counted as they were read, so test sources have to be."""
    for unit in UNITS:
        assert length_of(f"  {text} \t", unit) == length_of(text, unit) == length_of(tidy(text), unit)
    assert count_lengths([f"{text} "], 1) == count_lengths([tidy(text)], 1)
    assert group_by_length([f"{text}  "], "thirds") == group_by_length([text], "thirds")


def test_equal_lengths_stay_together_in_thirds() -> None:
    _, groups = group_by_length(["abcd"] * 7, "thirds")
    assert [(group.label, len(group.sentences)) for group in groups] == [("4", 7)]


def test_own_edges_count_words() -> None:
    unit, groups = group_by_length(words(1, 4, 5, 80), [1, 5])
    assert unit == "source_words"
    assert [(group.label, group.sentences) for group in groups] == [("1–4", (0, 1)), ("5+", (2, 3))]


def test_the_first_bin_may_begin_at_nothing() -> None:
    _, groups = group_by_length(words(0, 1, 2), [0, 1])
    assert [(group.label, group.sentences) for group in groups] == [("0", (0,)), ("1+", (1, 2))]


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


TEXTS = st.lists(st.integers(0, 300).map(lambda words: "w " * words), max_size=40)


@given(sources=TEXTS, scale=st.integers(1, 5))
def test_training_lengths_count_every_source_once(sources: list[str], scale: int) -> None:
    found = count_lengths(sources, scale * len(sources))
    assert parse_train_lengths(found.to_dict()) == found
    for bars in found.bars.values():
        assert len(bars.counts) <= MOST_BARS
        assert sum(n for _, _, n in bars.to_list()) == scale * len(sources)
    by_words = found.bars["source_words"].to_list()
    for lo, hi, n in by_words:
        assert n == scale * sum(lo <= max(len(text.split()), 1) <= hi for text in sources)


def test_bars_are_as_narrow_as_fifty_allow() -> None:
    assert count_lengths(words(1, 3, 50), 3).bars["source_words"].to_list() == [
        [1, 1, 1],
        [3, 3, 1],
        [50, 50, 1],
    ]
    assert count_lengths(words(1, 2, 51), 3).bars["source_words"].to_list() == [[1, 2, 2], [51, 52, 1]]
    assert count_lengths(["x" * 90_000], 1).bars["source_characters"].to_list() == [[49_001, 50_000, 1]]


@pytest.mark.parametrize(
    ("longest", "width"),
    [(100, 2), (101, 5), (251, 10), (501, 20), (1001, 50), (2501, 100), (5001, 200), (10_001, 500)],
)
def test_a_bar_is_wider_where_texts_are_longer(longest: int, width: int) -> None:
    bars = count_lengths(["x" * longest, ""], 2).bars["source_characters"]
    assert bars.width == width
    assert bars.to_list()[0] == [1, width, 1]  # a blank source counts as one of the shortest
    wider = count_lengths(["x" * (width * MOST_BARS), "x"], 2).bars["source_characters"]
    assert (wider.width, len(wider.counts)) == (width, 50)


def test_the_widest_bar_holds_a_thousand() -> None:
    assert count_lengths(["x" * 25_001], 1).bars["source_characters"].to_list() == [[25_001, 26_000, 1]]


def test_training_lengths_say_how_many_sources_are_several_sentences() -> None:
    assert count_lengths(["One. Two.", "One.", "One"], 3, "en").several == 0.3333
    assert count_lengths(["One. Two."], 1, "en").several == 1
    assert count_lengths([], 0, "en").to_dict() == {
        "pairs": 0,
        "counted": 0,
        "several": 0,
        "source_words": {"width": 1, "counts": []},
        "source_characters": {"width": 1, "counts": []},
    }


def test_who_counted_no_sentences_says_nothing_of_them() -> None:
    known = TrainLengths(3, 2, {"source_words": Bars(5, (1, 2))})
    assert known.to_dict() == {
        "pairs": 3,
        "counted": 2,
        "source_words": {"width": 5, "counts": [1, 2]},
    }
    assert parse_train_lengths(known.to_dict()) == known
    assert parse_train_lengths({"pairs": 3, "counted": 2, "several": "0.5"}) == TrainLengths(3, 2, {})


@pytest.mark.parametrize(
    "value",
    [
        None,
        3,
        [],
        {},
        {"pairs": 3},
        {"pairs": "3", "counted": 3},
        {"pairs": 3, "counted": 3, "source_words": 7},
    ],
)
def test_a_folder_that_says_nothing_readable_about_lengths_is_as_good(value: object) -> None:
    found = parse_train_lengths(value)
    assert found is None or not found.bars


@pytest.mark.parametrize(
    "bars", [{"width": 0, "counts": [1]}, {"width": 1, "counts": ["1"]}, {"width": 1}, []]
)
def test_bars_that_make_no_sense_are_left_out(bars: object) -> None:
    found = parse_train_lengths(
        {"pairs": 1, "counted": 1, "source_words": bars, "source_characters": {"width": 2, "counts": [0, 1]}}
    )
    assert found is not None
    assert found.bars == {"source_characters": Bars(2, (0, 1))}
    assert found.bars["source_characters"].to_list() == [[3, 4, 1]]
