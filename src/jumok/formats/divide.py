"""A text divided in the proportion of another: the lines of a translation are as long as the source's."""

import re
from itertools import accumulate

from jumok.formats.segments import MarkedText, Tag

Span = tuple[int, int]
_CLOSE = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\ua4cf\uf900-\ufaff\uff00-\uffef]{2}")
"""Two characters of a script that has no spaces: Chinese, Japanese, Thai, Lao, Burmese, Khmer."""


def divided(text: str, lengths: list[int]) -> list[Span]:
    """As many stretches of a text as there are lengths, cut at spaces, or anywhere in scripts without them.

    The k-th cut is the one nearest to ``len(text) · (l₁ + … + l_k) / Σ l``. With fewer words than lengths the
    last stretches are empty.
    """
    places = [at for at in range(len(text)) if text[at].isspace() or _CLOSE.fullmatch(text, at - 1, at + 1)]
    total, cuts = sum(lengths), [0]
    for share in list(accumulate(lengths))[:-1]:
        wanted = len(text) * share / total
        later = [at for at in places if at > cuts[-1]]
        cuts.append(min(later, key=lambda at: abs(at - wanted)) if later else len(text))
    cuts.append(len(text))
    return [_tight(text, begin, end) for begin, end in zip(cuts, cuts[1:], strict=False)]


def _tight(text: str, begin: int, end: int) -> Span:
    """A stretch without the space at its ends."""
    part = text[begin:end]
    left = begin + len(part) - len(part.lstrip())
    return left, left + len(part.strip())


def parts_of(marked: MarkedText, groups: list[list[Span]]) -> list[MarkedText]:
    """Stretches of a text in groups: each is a text of lines. A tag over several groups is closed in each.

    A point goes to the last group that begins before it; what stands before all of them to the first.
    """
    full = [number for number, spans in enumerate(groups) if spans]
    owner = {id(tag): _owner(tag, groups, full) for tag in marked.tags if tag.is_point}
    parts = []
    for number, spans in enumerate(groups):
        tags = []
        for tag in marked.tags:
            begin, end = _moved(tag.begin, spans), _moved(tag.end, spans)
            if owner.get(id(tag), number) == number and (tag.is_point or begin < end):
                tags.append(Tag(begin, end, tag.open, tag.close, tag.keep))
        parts.append(MarkedText("\n".join(marked.text[begin:end] for begin, end in spans), tuple(tags)))
    return parts


def _owner(tag: Tag, groups: list[list[Span]], full: list[int]) -> int:
    before = [number for number in full if groups[number][0][0] <= tag.begin]
    return before[-1] if before else full[0] if full else 0


def _moved(at: int, spans: list[Span]) -> int:
    """A place of the text in the lines of a group, with one sign between two lines."""
    place = 0
    for begin, end in spans:
        if at <= end:
            return place + max(at - begin, 0)
        place += end - begin + 1
    return max(place - 1, 0)
