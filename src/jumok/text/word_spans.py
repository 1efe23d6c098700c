"""The words of a text as people see them, and the marks between them."""

import re
from functools import lru_cache
from unicodedata import category

from jumok.text import word_groups

INSIDE = "'’_"  # between letters or digits they are part of the word

# Latin letters and the usual signs: no combining marks, and no scripts without spaces.
_PLAIN = re.compile(r"[\0-\u02ff\u2010-\u2027\u2030-\u205e]*")
_PLAIN_WORD = re.compile(
    r"[^\W_]+(?:(?:['’_]|(?<!\d)-|-(?=[^\W\d_])|(?<=\d)[.,](?=\d))[^\W_]+)*|([^\w\s]|_)\1*"
)


def word_spans(text: str) -> list[tuple[int, int]]:
    """Where each word stands, in order. Together they are all but the white space.

    A word is a run of letters and digits, such as `well-known` or `3.5`. A sign is a word of its own, or a
    run of the same sign, and so is a character of a script that writes no spaces.
    """
    if _PLAIN.fullmatch(text):
        return [match.span() for match in _PLAIN_WORD.finditer(text)]
    return spans_by_character(text)


def spans_by_character(text: str) -> list[tuple[int, int]]:
    """`word_spans` of any text, character by character."""
    spans: list[tuple[int, int]] = []
    for place, character in enumerate(text):
        if character.isspace():
            continue
        begin, end = spans[-1] if spans else (0, -1)
        if end == place and goes_on(text, begin, place):
            spans[-1] = begin, place + 1
        else:
            spans.append((place, place + 1))
    return spans


def goes_on(text: str, begin: int, place: int) -> bool:
    """Whether the word that began at `begin` goes on with the character at `place`."""
    before, here, after = text[place - 1], text[place], text[place + 1 : place + 2]
    if category(here)[0] == "M" or (here == before and not is_letter(here)):
        return True
    if joins(here):
        return joins(before) or (place - begin > 1 and is_inside(text[place - 2], before, here))
    return is_inside(before, here, after)


def is_inside(before: str, sign: str, after: str) -> bool:
    """Whether a sign between these two is part of one word with them."""
    if before.isdecimal() and after.isdecimal():
        return sign in ".," or sign in INSIDE  # 3.5 is one word, and 2024-03-05 is three and their signs
    return sign in INSIDE + "-" and joins(before) and bool(after) and joins(after)


@lru_cache(maxsize=4096)
def joins(character: str) -> bool:
    """A letter, digit or mark of a script that separates words by spaces; texts have few different ones."""
    return word_groups.joins(character)


@lru_cache(maxsize=4096)
def is_letter(character: str) -> bool:
    """A letter, a digit or a mark upon one."""
    return category(character)[0] in "LMN"


def words_of(text: str) -> list[str]:
    """The words themselves."""
    return [text[begin:end] for begin, end in word_spans(text)]
