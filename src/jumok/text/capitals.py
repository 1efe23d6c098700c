"""Text in capitals, for models that have rarely seen any: read in small letters, answered in capitals.

Told from the tokens: what a model has often seen in capitals has few of them in its vocabulary.
"""

import re
from collections.abc import Callable

CountTokens = Callable[[str], int]
"""How many tokens a text has."""

ABBREVIATION = 5  # letters of a word that may be one: HTML, NASA, UNESCO is one letter too long
RARELY = 1.5  # times as many tokens in capitals as without
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")


def small_letters(text: str, count: CountTokens) -> str | None:
    """A text that is all in capitals, as a model knows it; None if it is not, or the model knows it so.

    Each word gets the spelling of the fewest tokens, so that nouns which a language writes with a capital
    keep it.
    """
    words = list(_WORD.finditer(text))
    if not is_shouted(text, [word[0] for word in words]):
        return None
    small, last = "", 0
    for number, word in enumerate(words):
        small += text[last : word.start()] + respelled(word[0], count, first=number == 0)
        last = word.end()
    small += text[last:]
    return small if len(small) == len(text) and count(text) > RARELY * count(small) else None


def is_shouted(text: str, words: list[str]) -> bool:
    """Whether a text is in capitals, and more than abbreviations."""
    return (
        text.isupper()
        and any(len(word) > ABBREVIATION for word in words)
        or (text.isupper() and len([word for word in words if len(word) > 1]) > 1)
    )


def respelled(word: str, count: CountTokens, *, first: bool) -> str:
    """One word without capitals, but for its first letter where that is how the model knows it."""
    title, small = word.capitalize(), word.lower()
    best = min((title, small) if first else (small, title), key=count)
    known = count(word) < count(best) and len(word) <= ABBREVIATION
    return word if known else best
