"""Training pairs with marks: what stands on both sides of a pair and is no language becomes a mark on both.

So models learn what marks are from any corpus. Where a pair has nothing to protect, a share of the pairs gets
marks for words and numbers that both sides have once. All of it follows from the pair and the seed.
"""

import re
from dataclasses import dataclass
from hashlib import blake2b
from random import Random

from jumok.text.marks import MARKS
from jumok.text.masks import joined
from jumok.text.protected import ProtectedSpan, apart, overlapping, protected_spans

SHARE = 0.1
"""Of the pairs with words that both sides have, so many get marks for some of them."""
MOST = 3  # words of a pair that become marks without being protected
NAME = 4  # letters of a small word that is worth a mark
_WORD = re.compile(r"[^\W_]+(?:[-.,:/][^\W_]+)*")


@dataclass(frozen=True, slots=True)
class PairMarker:
    """Puts marks into pairs of tidy texts."""

    seed: int
    share: float = SHARE
    """Of the pairs with nothing to protect that get marks all the same."""

    def __call__(self, pair: tuple[str, str]) -> tuple[str, str]:
        """The pair with marks for what both sides have, in the order of the source."""
        source, target = pair
        spans = protected_spans(source)
        if not spans and not self.share:
            return pair
        key = blake2b(f"{self.seed}\0{source}\0{target}".encode(), digest_size=8).digest()
        draw = Random(int.from_bytes(key, "little"))
        spans = [one for one in spans if one.kind != "message"]
        if draw.random() < self.share:
            spans = apart([*spans, *self.shared_words(source, target, spans, draw)])
        twins = matched(source, target, touching(source, spans))
        return with_marks(source, target, twins, draw) if twins else pair

    def shared_words(
        self, source: str, target: str, spans: list[ProtectedSpan], draw: Random
    ) -> list[ProtectedSpan]:
        """A few words of the source that stand on both sides once, at random."""
        there = _WORD.findall(target)
        found = [
            ProtectedSpan(*match.span(), "keep")
            for match in _WORD.finditer(source)
            if there.count(match[0]) == 1 and is_name(match[0]) and not overlapping(spans, *match.span())
        ]
        words = [source[one.begin : one.end] for one in found]
        once = [one for one, word in zip(found, words, strict=True) if words.count(word) == 1]
        return draw.sample(once, min(len(once), draw.randint(1, MOST)))


def is_name(word: str) -> bool:
    """Whether a word may be a name or a number, which languages share; short ones are alike by chance."""
    return len(word) >= NAME or not word.islower()


def touching(source: str, spans: list[ProtectedSpan]) -> list[ProtectedSpan]:
    """The spans with those that touch as one, as they are when a model translates."""
    groups = joined(source, spans, lambda gap: not gap) if spans else []
    return [ProtectedSpan(group[0].begin, group[-1].end, group[0].kind) for group in groups]


Twins = list[tuple[tuple[int, int], tuple[int, int]]]
"""Where something stands in the source and in the target."""


def matched(source: str, target: str, spans: list[ProtectedSpan]) -> Twins:
    """The spans of a source that its target has as often, each with its place there."""
    texts = [source[one.begin : one.end] for one in spans]
    places = {text: places_of(text, target) for text in dict.fromkeys(texts)}
    found, taken = list[tuple[tuple[int, int], tuple[int, int]]](), list[tuple[int, int]]()
    for one, text in zip(spans, texts, strict=True):
        if len(places[text]) != texts.count(text):
            continue
        place = places[text][sum((source[a:b] == text) for (a, b), _ in found)]
        if all(place[1] <= a or b <= place[0] for a, b in taken):
            taken.append(place)
            found.append(((one.begin, one.end), place))
    return found[: len(MARKS)]


def places_of(text: str, target: str) -> list[tuple[int, int]]:
    """Where a text stands, not as a part of a longer word."""
    before = r"(?<![A-Za-z0-9])" if re.match(r"[A-Za-z0-9]", text) else ""
    after = r"(?![A-Za-z0-9])" if re.search(r"[A-Za-z0-9]\Z", text) else ""
    return [match.span() for match in re.finditer(before + re.escape(text) + after, target)]


def with_marks(source: str, target: str, twins: Twins, draw: Random) -> tuple[str, str]:
    """Both texts with marks: from the first on, as in translation, or from a later one, to know all."""
    first = draw.choice((0, draw.randint(0, len(MARKS) - len(twins))))
    signs = MARKS[first : first + len(twins)]
    return tuple(
        replaced(text, [(pair[side], sign) for pair, sign in zip(twins, signs, strict=True)])
        for side, text in enumerate((source, target))
    )  # type: ignore[return-value]  # there are two


def replaced(text: str, signs: list[tuple[tuple[int, int], str]]) -> str:
    """A text with signs in the places of some spans."""
    for (begin, end), sign in sorted(signs, reverse=True):
        text = text[:begin] + sign + text[end:]
    return text
