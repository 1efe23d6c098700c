"""Where a text has the terms of a glossary: whole words, in any case, with the endings that words get.

There are no lemmas. A word of five letters or more also matches with an ending of up to three letters (in
English -s and -es), in languages whose endings replace a vowel without that vowel, and a Korean word with
particles behind it. Scripts without spaces are searched anywhere. The longest match goes first, and no two
overlap.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from jumok.text.normalize import nfc

LEAST, KEY = 5, 4
"""Letters of a word that may get an ending, and by how many of them a term is looked up."""
REPLACING = frozenset(
    ("be", "bg", "bs", "cs", "el", "es", "hr", "it", "la", "lt")
    + ("lv", "mk", "pl", "pt", "ro", "ru", "sk", "sl", "sr", "uk")
)
"""Languages whose endings take the place of a final vowel."""
VOWELS = "aeiouyąęéíóúáàèìòùýаеёиоуыэюяіїєыαεηιουω"
PARTICLES = (
    "(?:은|는|이|가|을|를|의|에|에서|에게|에게서|한테|께|께서|으로|로|으로서|로서|으로써|로써|와|과|랑|이랑|도|만|"
    "까지|부터|마저|조차|처럼|보다|마다|이나|나|이며|며|이고|고|이란|란|이라는|라는|이라고|라고|이다|다|입니다|인|들)"
)
NO_SPACES = re.compile(
    r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff]"
)
"""Kana, ideographs, Thai, Lao, Khmer and Burmese: written without spaces between words."""
HANGUL = re.compile(r"[가-힣]")
WORD = re.compile(r"\w+|[^\w\s]")


@dataclass(frozen=True, slots=True)
class TermMatch:
    """A term in a text: where, as which words, and what may stand for it in the answer."""

    span: tuple[int, int]
    text: str
    targets: tuple[str, ...]
    also: tuple[str, ...] = ()
    """What counts too if the model writes it of its own accord: with a capital at the beginning."""


class TermCandidate(NamedTuple):
    """A term that may stand at some place."""

    pattern: re.Pattern[str]
    source: str
    targets: tuple[str, ...]


class TermIndex:
    """Terms to look for in texts of one language."""

    def __init__(self, terms: Iterable[tuple[str, Sequence[str]]], language: str = "") -> None:
        self.words: defaultdict[str, list[TermCandidate]] = defaultdict(list)
        """By the first word, or its first letters."""
        self.anywhere: defaultdict[str, list[TermCandidate]] = defaultdict(list)
        """By the first character, for scripts without spaces."""
        code = language.lower().replace("_", "-").split("-")[0]
        for source, targets in terms:
            one = TermCandidate(term_pattern(source, code), source, tuple(targets))
            if NO_SPACES.match(source):
                self.anywhere[source[0].lower()].append(one)
            else:
                self.words[key_of(source)].append(one)

    def find(self, text: str) -> list[TermMatch]:
        """The matches in a text, in its order."""
        text, taken = nfc(text), list[tuple[int, int, TermCandidate]]()
        found = sorted(self._all(text), key=lambda one: (one[0] - one[1], one[0]))
        for begin, end, term in found:
            if not any(begin < b and a < end for a, b, _ in taken):
                taken.append((begin, end, term))
        return [
            TermMatch((begin, end), text[begin:end], *in_case(text, (begin, end), term))
            for begin, end, term in sorted(taken, key=lambda one: one[:2])
        ]

    def _all(self, text: str) -> Iterator[tuple[int, int, TermCandidate]]:
        for place, terms in self._places(text):
            for term in terms:
                if (match := term.pattern.match(text, place)) is not None:
                    yield (*match.span(), term)

    def _places(self, text: str) -> Iterator[tuple[int, list[TermCandidate]]]:
        for word in WORD.finditer(text) if self.words else ():
            lower = word[0].lower()
            for key in dict.fromkeys([*(lower[:n] for n in range(1, KEY + 1)), lower]):
                if key in self.words:
                    yield word.start(), self.words[key]
        for place, letter in enumerate(text) if self.anywhere else ():
            if letter.lower() in self.anywhere:
                yield place, self.anywhere[letter.lower()]


def key_of(source: str) -> str:
    """What the term's first word begins with however it ends."""
    first = next(WORD.finditer(source)).group().lower()
    return first[:KEY] if len(first) >= LEAST else first


def term_pattern(source: str, language: str) -> re.Pattern[str]:
    """What matches a term at a place. A term in capitals matches capitals only: IT is not it."""
    words = [word_pattern(word, language) for word in source.split()]
    before = r"(?<!\w)" if source[0].isalnum() and not NO_SPACES.match(source[0]) else ""
    after = r"(?!\w)" if source[-1].isalnum() and not NO_SPACES.match(source[-1]) else ""
    capitals = source.isupper() and len(source) > 1
    return re.compile(before + r"\s+".join(words) + after, 0 if capitals else re.IGNORECASE)


def word_pattern(word: str, language: str) -> str:
    """What matches one word of a term, with its endings."""
    plain, letters = re.escape(word), len(word)
    if HANGUL.match(word[-1]):
        return f"{plain}{PARTICLES}{{0,3}}" if letters > 1 else plain
    if letters < LEAST or not word[-1].isalpha() or NO_SPACES.search(word):
        return plain
    if language == "en":
        return f"{plain}(?:e?s)?"
    ending = r"[^\W\d_]{0,3}"
    if language in REPLACING and word[-1].lower() in VOWELS:
        return f"{re.escape(word[:-1])}{ending}"
    return plain + ending


def first_upper(text: str) -> str:
    """The text with a capital at its beginning."""
    return text[:1].upper() + text[1:]


def in_case(text: str, span: tuple[int, int], term: TermCandidate) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The targets as they are written for a term that stands so in a text, and what counts as well.

    A text in capitals asks for capitals. Else a target is written as the glossary has it. A capital at the
    beginning, which the start of a sentence asks for, counts anywhere, and is offered if the term begins the
    text.
    """
    found, targets = text[slice(*span)], term.targets
    if sum(map(str.isalpha, found)) > 1 and found.isupper() and not term.source.isupper():
        return tuple(dict.fromkeys(target.upper() for target in targets)), ()
    capital = tuple(one for one in map(first_upper, targets) if one not in targets)
    begins = not any(map(str.isalnum, text[: span[0]]))
    return ((*targets, *capital), ()) if begins else (targets, capital)
