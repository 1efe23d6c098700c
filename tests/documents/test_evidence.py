import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.documents.copying import link

from jumok.decoding.results import TextLink
from jumok.documents.evidence import Evidence, words_of


def parts(text: str, links: list[TextLink] | None = None) -> list[str]:
    return [text[slice(*span)] for span in words_of(text, links or [])]


def test_words_and_marks() -> None:
    assert parts("Don't stop, e-mail me: 3_a!") == ["Don't", "stop", ",", "e-mail", "me", ":", "3_a", "!"]


def test_signs_belong_to_their_letters() -> None:
    assert parts("हिन्दी भाषा") == ["हिन्दी", "भाषा"]


def test_scripts_without_spaces_are_cut_at_tokens_or_at_every_character() -> None:
    assert parts("今日は", [link((0, 1), (0, 2)), link((0, 1), (2, 3))]) == ["今日", "は"]
    assert parts("今日は") == ["今", "日", "は"]


def test_shares_of_a_word_are_those_of_its_tokens() -> None:
    links = [link((0, 2), (0, 3)), link((3, 5), (3, 4))]  # three letters from one, one from the other
    evidence = Evidence("ab cd", "wxyz", links)
    assert evidence.shares(0, 2) == {0: 0.75}
    assert evidence.shares(3, 5) == {0: 0.25}
    assert evidence.shares(0, 1) == {0: 0.375}
    assert evidence.shares(2, 3) == {}


def test_a_word_that_stands_once_on_both_sides_comes_from_itself() -> None:
    evidence = Evidence("Ubuntu 22 ist da", "da ist Ubuntu", [link((0, 6), (0, 2))])
    assert evidence.shares(0, 6) == {2: 1.0}
    assert evidence.shares(14, 16) == {0: 1.0}
    assert Evidence("a a", "a", [link((0, 1), (0, 1))]).shares(0, 1) == {0: 1.0}
    assert Evidence("ab ab", "ab", []).mentions == []
    assert Evidence("x x y", "x y", []).mentions == []  # a single letter proves nothing
    assert Evidence("a 7 b", "x 7", []).shares(2, 3) == {1: 1.0}


def test_signs_without_a_letter_before_them_stand_alone() -> None:
    assert parts("\u0301a") == ["\u0301", "a"]
    assert parts("a \u0301b") == ["a", "\u0301", "b"]
    assert parts("क\u094d\u0937म a") == ["क\u094d\u0937म", "a"]
    assert parts("क\u094d, b") == ["क\u094d", ",", "b"]


def test_words_are_cut_only_inside_and_only_where_no_spaces_are() -> None:
    assert parts("今日は", [link((0, 1), (0, 1))]) == ["今", "日は"]
    assert parts("今日は", [link((0, 1), (2, 3))]) == ["今日", "は"]
    assert parts("a今日", [link((0, 1), (0, 1)), link((0, 1), (1, 3))]) == ["a", "今日"]
    assert parts("word 今日", [link((0, 1), (0, 2)), link((0, 1), (5, 7))]) == ["word", "今日"]


def test_signs_of_such_a_script_belong_to_their_letters_too() -> None:
    assert parts("สวัสดี") == ["ส", "วั", "ส", "ดี"]
    assert parts("สวัสดีครับ", [link((0, 1), (0, 6)), link((0, 1), (6, 10))]) == ["สวัสดี", "ครับ"]
    assert parts("สวัสดี", [link((0, 1), (0, 2)), link((0, 1), (2, 6))]) == ["สวัสดี"]


WEIGHTS = st.sampled_from([0.0, 0.125, 0.5, 1.0])
SOURCE, TARGET = " ab  cde f ", "uv, wxyz\n-z"


def spans(text: str) -> st.SearchStrategy[tuple[int, int]]:
    places = st.integers(0, len(text))
    return st.tuples(places, places).map(lambda two: (min(two), max(two)))


@settings(max_examples=60)
@given(
    links=st.lists(st.builds(TextLink, spans(SOURCE), spans(TARGET), WEIGHTS), max_size=6), part=spans(SOURCE)
)
def test_shares_are_those_of_the_twin_that_counts_characters(
    links: list[TextLink], part: tuple[int, int]
) -> None:
    """A link counts for a word by its weight and their common characters; white space at its ends is none."""
    expected: dict[int, float] = {}
    for n, (begin, end) in enumerate(words_of(TARGET)):
        total, mine = 0.0, 0.0
        for one in links:
            told = [place for place in range(*one.source) if SOURCE[slice(*one.source)].strip()]
            while told and SOURCE[told[0]].isspace():
                told.pop(0)
            while told and SOURCE[told[-1]].isspace():
                told.pop()
            weight = (
                max(one.weight, 1e-6) * len({*range(*one.target)} & {*range(begin, end)}) if told else 0.0
            )
            total += weight
            mine += weight * len({*told} & {*range(*part)}) / len(told) if told else 0.0
        if mine:
            expected[n] = mine / total
    assert Evidence(SOURCE, TARGET, links).shares(*part) == pytest.approx(expected)
