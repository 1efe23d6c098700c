from hypothesis import given
from hypothesis import strategies as st

from jumok.decoding.parts import split_text
from jumok.text.normalize import tidy


def test_short_text_is_one_part() -> None:
    assert split_text("One. Two.", lambda part: True) == ["One. Two."]


def test_sentence_ends_come_first() -> None:
    text = "This one is rather long. Short one. The end!"
    assert split_text(text, lambda part: len(part) <= 24) == [
        "This one is rather long.",
        "Short one. The end!",
    ]


def test_sentences_without_spaces_between() -> None:
    assert split_text("私は猫です。名前はない。", lambda part: len(part) <= 6) == [
        "私は猫です。",
        "名前はない。",
    ]


def test_then_spaces_and_then_anywhere() -> None:
    assert split_text("one two three four", lambda part: len(part) <= 10) == ["one two", "three four"]
    assert split_text("abcdef", lambda part: len(part) <= 2) == ["a", "bc", "d", "ef"]


def test_a_character_that_does_not_fit_is_left_whole() -> None:
    assert split_text("ab", lambda part: False) == ["a", "b"]


@given(st.text("ab. !?。…", max_size=60).map(tidy), st.integers(1, 9))
def test_parts_fit_and_nothing_but_spaces_is_lost(text: str, most: int) -> None:
    parts = split_text(text, lambda part: len(part) <= most)
    assert all(len(part) <= most for part in parts)
    assert "".join(parts).replace(" ", "") == text.replace(" ", "")
    assert all(part == part.strip() for part in parts)
