"""What links say about words: which characters of the source each word of the target comes from."""

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from unicodedata import category

from jumok.decoding.results import TextLink

Span = tuple[int, int]

WORD = re.compile(r"[^\W_]+(?:['’_-][^\W_]+)*|[^\w\s]|_")
NO_SPACES = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]")
"""Scripts that write no space between words: Thai, Lao, Burmese, Khmer, kana, Han."""
SIGNS = frozenset({"Mn", "Mc", "Me", "Cf"})
"""Characters that belong to the letter before them."""
SAME = re.compile(r"[^\W_]{2,}|\d")  # words that prove something when they stand on both sides


def words_of(text: str, links: Sequence[TextLink] = ()) -> list[Span]:
    """Words and punctuation marks; where a script has no spaces, cut where the model's tokens are."""
    cuts = sorted({edge for link in links for edge in link.target})
    found = list[Span]()
    for begin, end in _runs(text):
        inside: Sequence[int] = ()
        if NO_SPACES.search(text, begin, end):
            every = range(begin + 1, end)
            inside = cuts[bisect_left(cuts, begin + 1) : bisect_left(cuts, end)] if cuts else every
        letters = (place for place in inside if category(text[place]) not in SIGNS)
        found += pairwise([begin, *letters, end])
    return found


def _runs(text: str) -> list[Span]:
    """Letters with their signs, as far as they stand together, and punctuation marks."""
    found, glued = list[Span](), False
    for match in WORD.finditer(text):
        begin, end = match.span()
        sign = category(match[0][0]) in SIGNS
        if (sign or (glued and match[0][0].isalnum())) and found and found[-1][1] == begin:
            glued = sign
            found[-1] = (found[-1][0], end)
        else:
            glued = False
            found.append((begin, end))
    return found


@dataclass(frozen=True, slots=True)
class Mention:
    """A stretch of the source that a word of the target comes from, and for how much of it."""

    begin: int
    end: int
    word: int
    share: float


class Evidence:
    """Mentions of a pair of texts, found by their place in the source."""

    def __init__(self, source: str, target: str, links: Sequence[TextLink]) -> None:
        self.words = words_of(target, links)
        """Where the words of the target stand."""
        found = [*_mentions(source, target, self.words, links)]
        self.mentions = sorted(found, key=lambda one: one.begin)
        self.known = {one.word for one in found}
        """Words that come from somewhere."""
        self._begins = [one.begin for one in self.mentions]
        self._longest = max((one.end - one.begin for one in found), default=0)

    def shares(self, begin: int, end: int) -> dict[int, float]:
        """How much of each word comes from this stretch of the source, 0 to 1, where it is more than 0."""
        shares: dict[int, float] = {}
        for one in self._near(begin, end):
            common = min(end, one.end) - max(begin, one.begin)
            if common > 0:
                part = one.share * common / (one.end - one.begin)
                shares[one.word] = shares.get(one.word, 0.0) + part
        return shares

    def _near(self, begin: int, end: int) -> Sequence[Mention]:
        first = bisect_left(self._begins, begin - self._longest)
        return self.mentions[first : bisect_left(self._begins, end)]


def _mentions(
    source: str, target: str, words: Sequence[Span], links: Sequence[TextLink]
) -> Iterator[Mention]:
    """Each word's links as shares that sum to 1. A word that stands once on both sides comes from itself."""
    same = _same_words(source, target, words)
    linked: dict[int, list[tuple[Span, float]]] = {}
    begins = [begin for begin, _ in words]
    for link in links:
        begin, end = _tight(source, link.source)
        if begin >= end:
            continue
        n = max(0, bisect_left(begins, link.target[0] + 1) - 1)
        while n < len(words) and words[n][0] < link.target[1]:
            if (common := min(words[n][1], link.target[1]) - max(words[n][0], link.target[0])) > 0:
                linked.setdefault(n, []).append(((begin, end), max(link.weight, 1e-6) * common))
            n += 1
    for n in range(len(words)):
        if n in same:
            yield Mention(*same[n], n, 1.0)
            continue
        total = sum(weight for _, weight in linked.get(n, ()))
        for (begin, end), weight in linked.get(n, ()):
            yield Mention(begin, end, n, weight / total)


def _same_words(source: str, target: str, words: Sequence[Span]) -> dict[int, Span]:
    """Words of the target that stand in the source too, once on each side: names, numbers, what was kept."""
    theirs = {span: source[slice(*span)] for span in words_of(source)}
    ours = [target[slice(*span)] for span in words]
    once, here = Counter(theirs.values()), Counter(ours)
    places = {word: span for span, word in theirs.items() if once[word] == 1 and SAME.match(word)}
    return {n: places[word] for n, word in enumerate(ours) if here[word] == 1 and word in places}


def _tight(text: str, span: Span) -> Span:
    begin, end = span
    while begin < end and text[begin].isspace():
        begin += 1
    while begin < end and text[end - 1].isspace():
        end -= 1
    return begin, end
