"""Tags of a translation go along when a person mends it: at the ends, with their words, never across."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jumok.formats.inline import render
from jumok.formats.segments import MarkedText, Tag
from jumok.server.documents.edited import LONG, carried_over, moved_places


def bold(text: str, *words: str) -> MarkedText:
    """A text with tags around some of its words."""
    return MarkedText(
        text, tuple(Tag(text.index(one), text.index(one) + len(one), "<b>", "</b>") for one in words)
    )


def test_a_tag_goes_with_its_word() -> None:
    before = bold("the red house", "red")
    for after, wanted in {
        "the red house": "the <b>red</b> house",
        "a very red barn": "a very <b>red</b> barn",
        "The old red house!": "The old <b>red</b> house!",
        "red": "<b>red</b>",
    }.items():
        assert render(carried_over(before, after)) == wanted


def test_a_tag_around_everything_stays_so() -> None:
    before = bold("one two", "one two")
    for after in ("three", "zero one two", "one two three", "", "one"):
        assert render(carried_over(before, after)) == f"<b>{after}</b>"


def test_a_changed_word_keeps_its_tag() -> None:
    assert render(carried_over(bold("the red house", "red"), "the blue house")) == "the <b>blue</b> house"


def test_a_point_stays_between_its_words() -> None:
    before = MarkedText("one two", (Tag(4, 4, "<br/>"),))
    assert render(carried_over(before, "one little two")) == "one little <br/>two"


def test_a_long_text_is_moved_in_proportion() -> None:
    before, after = "a " * LONG + "c", "b " * 2 * LONG + "d"
    assert abs(moved_places(before, after)[LONG] - 2 * LONG) <= 1


@st.composite
def marked_texts(draw: st.DrawFn) -> MarkedText:
    """A text with tags that are nested or apart."""
    text = draw(st.text("ab .é", max_size=12))

    def tags(first: int, last: int, depth: int) -> list[Tag]:
        found: list[Tag] = []
        while depth and draw(st.booleans()):
            begin = draw(st.integers(first, last))
            end = draw(st.integers(begin, last))
            found.append(Tag(begin, end, "<i>", "</i>" if end > begin else ""))
            found += tags(begin, end, depth - 1) if end > begin else []
            first = end
        return found

    return MarkedText(text, tuple(tags(0, len(text), 3)))


@given(marked_texts(), st.text("abc .é", max_size=12))
def test_tags_stay_nested_or_apart(before: MarkedText, after: str) -> None:
    found = carried_over(before, after)
    assert found.text == after
    assert [(tag.open, tag.close) for tag in found.tags] == [(tag.open, tag.close) for tag in before.tags]
    for old, tag in zip(before.tags, found.tags, strict=True):
        assert 0 <= tag.begin <= tag.end <= len(after)
        for other_old, other in zip(before.tags, found.tags, strict=True):
            if old.begin <= other_old.begin and other_old.end <= old.end:
                assert tag.begin <= other.begin
                assert other.end <= tag.end
            elif old.end <= other_old.begin:
                assert tag.end <= other.begin


@given(marked_texts())
def test_an_unchanged_text_is_unchanged(before: MarkedText) -> None:
    assert carried_over(before, before.text) == before


@pytest.mark.parametrize(
    ("before", "after", "places"),
    [
        ("the red house", "the blue house", [0, 1, 2, 3, 4, 5, 7, 8, 9, 10, 11, 12, 13, 14]),
        ("a b", "a x b", [0, 1, 4, 5]),  # what was put in stands before what comes next
        ("b", "x b", [0, 3]),
        ("a b c", "a c", [0, 1, 2, 2, 2, 3]),
        ("a b", "a", [0, 1, 1, 1]),
        ("ab", "", [0, 0, 0]),
        ("", "ab", [2]),
        ("a, b", "a; b", [0, 1, 2, 3, 4]),
        ("x bb c", "x yyyy c", [0, 1, 2, 4, 6, 7, 8]),
        ("x bb c d", "y bb c d", [0, 1, 2, 3, 4, 5, 6, 7, 8]),
        ("xx bb c d", "y b cc d", [0, 0, 1, 2, 2, 3, 4, 6, 7, 8]),
        ("one two one", "one one", [0, 1, 2, 3, 4, 4, 4, 4, 4, 5, 6, 7]),
    ],
)
def test_each_place_has_its_new_one(before: str, after: str, places: list[int]) -> None:
    assert moved_places(before, after) == places


@pytest.mark.parametrize(("most", "places"), [(5, [0, 4, 5, 6, 7, 8]), (4, [0, 2, 3, 5, 6, 8])])
def test_what_is_too_long_to_compare_is_moved_in_proportion(
    monkeypatch: pytest.MonkeyPatch, most: int, places: list[int]
) -> None:
    """Five words and signs of each text differ at both ends; the longer of the two counts."""
    monkeypatch.setattr("jumok.server.documents.edited.LONG", most)
    assert moved_places("a b c", "xxxx b y") == places
    assert moved_places("a b", "xxxx b y")[1] == (4 if most == 5 else 3)
