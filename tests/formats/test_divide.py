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
