"""Protected spans of a sentence as signs that a model can copy.

A sign is a mark, in a model that has learned marks, else the span's own text. `restore` puts the spans back.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from jumok.text.icu import Span, icu_messages
from jumok.text.marks import MARKS
from jumok.text.protected import ProtectedKind, ProtectedSpan, has_words, protected_spans

_BETWEEN = re.compile(r"[\s,;:/|.–-]*")


@dataclass(frozen=True, slots=True)
class KeptSpan:
    """A protected span of a sentence."""

    sign: str
    """What stands for it in what the model reads."""
    text: str
    kind: ProtectedKind
    before: str
    """The character on its left, or "" at the beginning."""
    after: str
    place: float
    """How far into the sentence it begins, from 0 to 1."""
    holes: tuple[Span, ...] = ()
    """Texts inside it that are translated by themselves: those of a message, as characters of `text`."""

    def filled(self, texts: Sequence[str]) -> str:
        """The span with other texts in its holes."""
        edges = [0, *(edge for hole in self.holes for edge in hole), len(self.text)]
        around = [self.text[a:b] for a, b in zip(edges[::2], edges[1::2], strict=True)]
        return around[0] + "".join(a + b for a, b in zip(texts, around[1:], strict=True))


@dataclass(frozen=True, slots=True)
class Masked:
    """A sentence as a model reads it, and what its signs stand for."""

    source: str
    text: str
    kept: tuple[KeptSpan, ...] = ()
    places: tuple[int, ...] = ()
    """Where each character of what is read stands in the sentence, and its end; () for the same."""
    capitals: bool = False
    """The sentence is in capitals and is read without; so is its answer to be."""
    marks: bool = False
    """The model knows marks: one in its answer that stands for nothing is taken out."""
    inner: bool = False
    """It is a text inside a span of a sentence that follows, which it goes into."""

    @property
    def holes(self) -> int:
        """How many inner sentences before this one go into it."""
        return sum(len(kept.holes) for kept in self.kept)

    @property
    def plain(self) -> bool:
        """The model reads the sentence as it stands, and its answer is the answer."""
        return not (self.kept or self.capitals or self.inner)

    def source_span(self, span: Span) -> Span:
        """Characters of what the model reads, as characters of the sentence."""
        return (self.places[span[0]], self.places[span[1]]) if self.places else span

    def with_signs(self, text: str) -> str:
        """Another text, such as a translation, with the signs in the places of the spans."""
        for kept in self.kept:
            text = text.replace(kept.text, kept.sign, 1)
        return text


def mask(sentence: str, spans: Sequence[ProtectedSpan], *, marks: bool, inner: bool = False) -> Masked:
    """A sentence with signs in the places of these spans, which lie apart and in order.

    Spans that touch become one, and of more spans than there are marks those with nothing but signs between
    them. Where that is not enough the last ones stay as they are.
    """
    if not spans:
        return Masked(sentence, sentence, marks=marks, inner=inner)
    groups = joined(sentence, spans, lambda gap: not gap)
    if marks and len(groups) > len(MARKS):
        groups = joined(sentence, spans, lambda gap: _BETWEEN.fullmatch(gap) is not None)
    signs = usable_marks(sentence, groups) if marks else ""
    text, places, kept, last = "", list[int](), list[KeptSpan](), 0
    for n, group in enumerate(groups):
        begin, end = group[0].begin, group[-1].end
        literal = sentence[begin:end]
        sign = signs[n] if n < len(signs) else literal
        places += [*range(last, begin), *(range(begin, end) if sign == literal else [begin])]
        text += sentence[last:begin] + sign
        around = sentence[begin - 1 : begin] if begin else "", sentence[end : end + 1]
        place = begin / max(1, len(sentence) - len(literal))
        kept.append(KeptSpan(sign, literal, kind_of(group), *around, place, holes_of(sentence, group)))
        last = end
    text += sentence[last:]
    places += range(last, len(sentence) + 1)
    return Masked(sentence, text, tuple(kept), tuple(places), marks=marks, inner=inner)


def joined(
    sentence: str, spans: Sequence[ProtectedSpan], near: Callable[[str], bool]
) -> list[list[ProtectedSpan]]:
    """Spans in groups: neighbours with something between them that is `near`."""
    groups = [[spans[0]]]
    for left, right in pairwise(spans):
        if near(sentence[left.end : right.begin]):
            groups[-1].append(right)
        else:
            groups.append([right])
    return groups


def usable_marks(sentence: str, groups: Sequence[Sequence[ProtectedSpan]]) -> str:
    """The marks, in order; if some spans stay as they are, those that the sentence itself does not have."""
    if len(groups) <= len(MARKS):
        return MARKS
    return "".join(mark for mark in MARKS if mark not in sentence)


def kind_of(group: Sequence[ProtectedSpan]) -> ProtectedKind:
    """The kind of spans that touch: that of the first, if it is that of all."""
    return group[0].kind if all(one.kind == group[0].kind for one in group) else "placeholder"


def holes_of(sentence: str, group: Sequence[ProtectedSpan]) -> tuple[Span, ...]:
    """The texts of the messages in a group that have words, as characters from the group's beginning on."""
    if not any(one.kind == "message" for one in group):
        return ()
    whole = sentence[group[0].begin : group[-1].end]
    return tuple(
        (a + len(part) - len(part.lstrip()), a + len(part.rstrip()))
        for one in icu_messages(whole)
        for a, b in one.texts
        if has_words(part := whole[a:b], 0, b - a, protected_spans(part))
    )
