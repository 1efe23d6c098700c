"""The lists agree with themselves."""

import pytest

from jumok.text import abbreviations
from jumok.text.abbreviations import LAST, maybe, never, starters


@pytest.mark.parametrize("language", ["", *abbreviations._NEVER, *abbreviations._MAYBE])
def test_no_abbreviation_is_both(language: str) -> None:
    own = set(abbreviations._MAYBE.get(language, "").split())
    assert not (never(language) - own) & maybe(language)


@pytest.mark.parametrize("table", [abbreviations._NEVER, abbreviations._MAYBE, abbreviations._STARTERS])
def test_words_are_written_as_the_splitter_looks_them_up(table: dict[str, str]) -> None:
    words = " ".join(table.values()).split()
    assert words == [word.lower().rstrip(".") for word in words]


def test_english_titles_stand_in_every_language() -> None:
    assert {"dr", "mr"} <= never("ko") & never("") & never("de")
    assert "etc" in maybe("fr") & LAST
    assert starters("xx") == starters("en")
