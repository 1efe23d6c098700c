"""Words of a text: all of it but the spaces, each once and in order."""

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jumok.text.word_spans import spans_by_character, word_spans, words_of

TEXTS = st.text(max_size=40) | st.text("abZ15 .,'-_!’é가漢\u0301\u200d", max_size=20)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Don't go, it's well-known!", ["Don't", "go", ",", "it's", "well-known", "!"]),
        ("2024-03-05 costs 1,000.50.", ["2024", "-", "03", "-", "05", "costs", "1,000.50", "."]),
        ("wait... (a_b) -- x", ["wait", "...", "(", "a_b", ")", "--", "x"]),
        ("東京に行く。", ["東", "京", "に", "行", "く", "。"]),
        ("안녕하세요, 세계!", ["안녕하세요", ",", "세계", "!"]),
        ("हिन्दी भाषा", ["हिन्दी", "भाषा"]),
        ("가 --a !\u0301 看看", ["가", "--", "a", "!\u0301", "看", "看"]),
        ("l’été à 5°", ["l’été", "à", "5", "°"]),
        ("", []),
        (" \u3000\n", []),
    ],
)
def test_words_as_people_see_them(text: str, words: list[str]) -> None:
    assert words_of(text) == words


def test_a_sign_at_the_beginning_is_between_nothing() -> None:
    assert spans_by_character("-ab") == word_spans("-ab") == [(0, 1), (1, 3)]


@given(TEXTS)
def test_the_words_are_all_but_the_spaces(text: str) -> None:
    spans = word_spans(text)
    assert all(begin < end for begin, end in spans)
    assert all(end <= begin for (_, end), (begin, _) in pairwise(spans))
    inside = {place for begin, end in spans for place in range(begin, end)}
    assert inside == {place for place, character in enumerate(text) if not character.isspace()}


@settings(max_examples=500)
@given(st.text("abZ15é² .,'’-_!?/…", max_size=24) | st.text(st.characters(max_codepoint=0x205E), max_size=24))
def test_the_quick_way_for_plain_text_is_the_slow_one(text: str) -> None:
    assert word_spans(text) == spans_by_character(text)
