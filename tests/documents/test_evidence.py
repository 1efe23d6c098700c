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
