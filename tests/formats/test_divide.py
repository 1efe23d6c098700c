import pytest
from hypothesis import given
from hypothesis import strategies as st

from jumok.formats.divide import divided, parts_of
from jumok.formats.inline import render
from jumok.formats.segments import MarkedText, Tag

WORDS = st.lists(st.sampled_from(["a", "bcd", "efghij"]), min_size=1, max_size=10)


@given(WORDS, st.lists(st.integers(1, 20), min_size=1, max_size=5))
def test_stretches_are_the_words_in_order(words: list[str], lengths: list[int]) -> None:
    text = " ".join(words)
    spans = divided(text, lengths)
    assert len(spans) == len(lengths)
    assert " ".join(text[a:b] for a, b in spans if a < b).split() == words


@given(st.lists(WORDS, min_size=1, max_size=5))
def test_a_text_is_divided_where_its_lines_were(lines: list[list[str]]) -> None:
    """In the proportion of its own lines: the same lines."""
    joined = [" ".join(words) for words in lines]
    text = " ".join(joined)
    lengths = [len(line) + bool(number) for number, line in enumerate(joined)]
    assert [text[a:b] for a, b in divided(text, lengths)] == joined


def test_without_spaces_it_is_cut_anywhere() -> None:
    assert divided("あいうえお", [2, 3]) == [(0, 2), (2, 5)]
    assert divided("word", [1, 1]) == [(0, 4), (4, 4)]
    assert divided("", [1, 1]) == [(0, 0), (0, 0)]


@given(st.integers(0, 11), st.integers(0, 11), st.integers(0, 11))
def test_tags_are_closed_in_each_part_and_points_come_once(a: int, b: int, c: int) -> None:
    text = "one two six"
    tags = tuple(
        sorted((Tag(min(a, b), max(a, b), "<i>", "</i>"), Tag(c, c, "<br>")), key=lambda tag: tag.begin)
    )
    parts = parts_of(MarkedText(text, tags), [[(0, 3)], [(4, 7), (8, 11)]])
    raw = [render(part) for part in parts]
    assert [part.text for part in parts] == ["one", "two\nsix"]
    assert sum(one.count("<br>") for one in raw) == 1
    assert all(one.count("<i>") == one.count("</i>") for one in raw)


def test_a_part_without_words_is_empty() -> None:
    parts = parts_of(MarkedText("one", (Tag(0, 3, "<i>", "</i>"), Tag(3, 3, "<br>"))), [[(0, 3)], []])
    assert [render(part) for part in parts] == ["<i>one</i><br>", ""]


def test_cuts_are_the_nearest_and_each_is_behind_the_last() -> None:
    def parts(text: str, lengths: list[int]) -> list[str]:
        return [text[a:b] for a, b in divided(text, lengths)]

    assert parts("aaaa b c", [1, 1]) == ["aaaa", "b c"]
    assert parts("aaaa b c", [3, 1]) == ["aaaa b", "c"]
    assert parts("aaaa b c", [1, 7]) == ["aaaa", "b c"]
    assert parts("a b c", [1, 0, 1]) == ["a b", "c", ""]
    assert parts("a b c d", [0, 1, 1]) == ["a", "b", "c d"]
    assert parts("ab cd", [2, 0, 0]) == ["ab", "cd", ""]
    assert parts("あいう えお", [1, 3]) == ["あ", "いう えお"]


@pytest.mark.parametrize(
    ("place", "first", "second"),
    [
        (0, "<br>one", "two\nsix"),
        (2, "on<br>e", "two\nsix"),
        (3, "one<br>", "two\nsix"),
        (4, "one", "<br>two\nsix"),
        (7, "one", "two<br>\nsix"),
        (8, "one", "two\n<br>six"),
        (10, "one", "two\nsi<br>x"),
        (11, "one", "two\nsix<br>"),
    ],
)
def test_points_keep_their_places_among_lines(place: int, first: str, second: str) -> None:
    marked = MarkedText("one two six", (Tag(place, place, "<br>"),))
    assert [render(part) for part in parts_of(marked, [[(0, 3)], [], [(4, 7), (8, 11)]])] == [
        first,
        "",
        second,
    ]


def test_tags_keep_their_places_among_lines() -> None:
    text, groups = "one two six", [[(0, 3)], [(4, 7), (8, 11)]]
    for span, parts in {
        (4, 7): ["one", "<i>two</i>\nsix"],
        (8, 11): ["one", "two\n<i>six</i>"],
        (5, 9): ["one", "t<i>wo\ns</i>ix"],
        (2, 11): ["on<i>e</i>", "<i>two\nsix</i>"],
        (0, 4): ["<i>one</i>", "two\nsix"],
    }.items():
        marked = MarkedText(text, (Tag(*span, "<i>", "</i>", keep=True),))
        found = parts_of(marked, groups)
        assert [render(part) for part in found] == parts
        assert all(tag.keep for part in found for tag in part.tags)


def test_a_point_before_all_parts_goes_to_the_first_that_has_text() -> None:
    marked = MarkedText("  ab", (Tag(0, 0, "<br>"),))
    assert [render(part) for part in parts_of(marked, [[], [(2, 3)], [(3, 4)]])] == ["", "<br>a", "b"]
    assert [render(part) for part in parts_of(marked, [[], []])] == ["<br>", ""]
