"""Links between characters and between words."""

import pytest

from jumok.answers import Answer
from jumok.config import TextConfig
from jumok.decoding.links import WordAlignment, align_words, owners, text_links, word_spans
from jumok.decoding.results import Hypothesis, TextLink
from jumok.text.spans import source_spans
from jumok.text.tokenizer import EOS, Tokenizers, train_tokenizer

LINES = ["the old man sees a dog.", "der alte Mann sieht einen Hund."] * 3


@pytest.fixture(scope="module")
def tokenizers() -> Tokenizers:
    both = train_tokenizer(LINES, TextConfig(vocabulary=400))
    return Tokenizers(both, both)


def answered(tokenizers: Tokenizers, text: str, places: list[int], look: float = 0.5) -> Answer:
    ids = tuple(tokenizers.target.encode(text))
    assert len(ids) == len(places)
    return Answer(ids, (0.0,) * len(ids), finished=True, alignment=tuple(places), looks=(look,) * len(ids))


def test_each_token_is_linked_to_the_characters_it_came_from(tokenizers: Tokenizers) -> None:
    source, text = "  der  Hund.", "a dog."
    spans = source_spans(tokenizers.text_source, source)
    pieces = [source[a:b] for a, b in spans]
    ids = tokenizers.target.encode(text)
    last = len(pieces) - 1
    found = text_links(answered(tokenizers, text, [last] * len(ids)), spans, tokenizers.target)
    assert "".join(text[slice(*link.target)] for link in found) == "adog."
    assert {source[slice(*link.source)] for link in found} == {"."}
    assert {link.weight for link in found} == {0.5}


def test_tags_are_no_part_of_the_source_and_a_token_without_text_has_no_link(tokenizers: Tokenizers) -> None:
    source = [(0, 1), (2, 3)]
    for place, span in ((0, (0, 1)), (1, (0, 1)), (2, (2, 3)), (3, (2, 3)), (9, (2, 3))):
        found = text_links(answered(tokenizers, "a", [place]), source, tokenizers.target, before=1)
        assert found == (TextLink(span, (0, 1), 0.5),)
    word = tokenizers.target.encode("a")
    ends = Answer((*word, EOS), (0.0, 0.0), finished=True, alignment=(0, 1), looks=(0.5, 0.5))
    assert text_links(ends, source, tokenizers.target) == (TextLink((0, 1), (0, 1), 0.5),)


def test_an_answer_without_alignment_has_no_links(tokenizers: Tokenizers) -> None:
    ids = tuple(tokenizers.target.encode("a dog"))
    assert text_links(Answer(ids, (), finished=True), [(0, 1)], tokenizers.target) == ()
    assert text_links(answered(tokenizers, "a", [0]), [], tokenizers.target) == ()


def test_words_and_their_partners(tokenizers: Tokenizers) -> None:
    source, text = "der Hund .", "a dog."
    spans = source_spans(tokenizers.text_source, source)
    of = {source[a:b]: n for n, (a, b) in enumerate(spans)}
    first, last = 0, of["."]
    ids = tokenizers.target.encode(text)
    places = [first, *[1] * (len(ids) - 2), last]
    links = text_links(answered(tokenizers, text, places), spans, tokenizers.target)
    found = align_words(source, Hypothesis(text, 0, 0, (), finished=True, links=links), tokenizers)
    assert found == WordAlignment(("der", "Hund", "."), ("a", "dog", "."), ((0, 0), (1, 1), (2, 2)))
    assert str(found) == "0-0 1-1 2-2"


def test_a_word_that_hardly_looked_anywhere_has_no_partner(tokenizers: Tokenizers) -> None:
    faint = Hypothesis("a", 0, 0, (), finished=True, links=(TextLink((0, 3), (0, 1), 0.05),))
    assert align_words("der Hund", faint, tokenizers).pairs == ()
    clear = Hypothesis("a", 0, 0, (), finished=True, links=(TextLink((4, 8), (0, 1), 0.1),))
    assert align_words("der Hund", clear, tokenizers).pairs == ((1, 0),)
    for second, pairs in ((0.04, ()), (0.05, ((1, 0),))):  # the mean of its two tokens counts
        two = (TextLink((4, 8), (0, 1), 0.15), TextLink((4, 8), (1, 2), second))
        both = Hypothesis("ad", 0, 0, (), finished=True, links=two)
        assert align_words("der Hund", both, tokenizers).pairs == pairs
    links = tuple(TextLink(span, (0, 1), weight) for span, weight in (((0, 3), 0.5), ((4, 8), 0.6)))
    assert align_words(
        "der Hund", Hypothesis("a", 0, 0, (), finished=True, links=links), tokenizers
    ).pairs == ((1, 0),)


def test_words_of_a_text_of_several_lines(tokenizers: Tokenizers) -> None:
    text = "- the\n  man."
    assert [text[a:b] for a, b in word_spans(text, tokenizers.target)] == ["-", "the", "man", "."]
    assert list(word_spans("", tokenizers.target)) == []
    assert owners([(1, 3), (3, 4)], 5) == [-1, 0, 0, 1, -1, -1]


def test_what_stands_between_words_takes_no_part(tokenizers: Tokenizers) -> None:
    """A token that looked at a space, or wrote one, makes no word fainter."""
    links = (TextLink((3, 4), (0, 1), 0.9), TextLink((4, 8), (0, 1), 0.15), TextLink((0, 3), (1, 2), 0.9))
    found = align_words("der Hund", Hypothesis("a b", 0, 0, (), finished=True, links=links), tokenizers)
    assert found.pairs == ((1, 0),)
