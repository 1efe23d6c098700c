"""Text in capitals: read in the letters that the model knows, and only where it has to be."""

from jumok.text.capitals import is_shouted, respelled, small_letters

KNOWN = {"Datei", "speichern", "unter", "save", "as", "HTML", "OK", "Save"}


def count(text: str) -> int:
    """Words that are known have one token, others one for each letter."""
    return sum(1 if word in KNOWN else len(word) for word in text.split())


def test_words_get_the_spelling_that_the_model_knows() -> None:
    assert small_letters("DATEI SPEICHERN UNTER", count) == "Datei speichern unter"
    assert small_letters("SAVE AS ⓵", count) == "Save as ⓵"
    assert small_letters("HTML SPEICHERN", count) == "HTML speichern"


def test_abbreviations_and_ordinary_text_stay() -> None:
    for text in ("HTML", "NASA", "OK", "Save As", "save as", "", "3.14", "저장", "⓵ ⓶"):
        assert small_letters(text, count) is None


def test_what_the_model_knows_in_capitals_stays() -> None:
    assert small_letters("SAVE AS", len) is None


def test_one_word_is_shouted_if_it_is_long() -> None:
    assert is_shouted("SPEICHERN", ["SPEICHERN"])
    assert not is_shouted("HTML", ["HTML"])
    assert not is_shouted("A B", ["A", "B"])
    assert respelled("DATEI", count, first=False) == "Datei"


def test_an_abbreviation_has_five_letters_at_most() -> None:
    known = {"NASAL", "UNESCO"}
    assert not is_shouted("NASAL", ["NASAL"])
    assert is_shouted("UNESCO", ["UNESCO"])
    found = [
        respelled(word, lambda text: 1 if text in known else 2, first=False) for word in ("NASAL", "UNESCO")
    ]
    assert found == ["NASAL", "unesco"]
    assert respelled("HTML", len, first=False) == "html"  # no better than without
    assert respelled("HTML", len, first=True) == "Html"


def test_signs_around_the_words_stay() -> None:
    assert small_letters("(SAVE, AS!", lambda text: 9 if text.isupper() else 2) == "(Save, as!"


def test_half_as_many_tokens_more_are_not_rare() -> None:
    found = small_letters("SAVE THIS", lambda text: 3 if text.isupper() else 2)
    rare = small_letters("SAVE THIS", lambda text: 4 if text.isupper() else 2)
    assert (found, rare) == (None, "Save this")
