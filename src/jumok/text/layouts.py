"""Texts laid out for translation with what must survive masked: sentences, gaps, what the model reads."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum

from jumok.text.capitals import CountTokens, small_letters
from jumok.text.icu import Span, icu_messages
from jumok.text.marks import MARKS, is_question
from jumok.text.masks import Masked, mask
from jumok.text.normalize import tidy
from jumok.text.protected import ProtectedSpan, apart, overlapping, protected_spans
from jumok.text.sentences import TextLayout, from_spans, is_sentence, lay_out, sentences_of, tight, whole


class Protection(Enum):
    """How what must survive is protected."""

    NONE = 0
    SIGNS = 1
    """It stands as it is, for a model that knows no marks."""
    MARKS = 2
    """Marks stand for it."""

    def __bool__(self) -> bool:
        return self is not Protection.NONE


@dataclass(frozen=True, slots=True)
class TextMasker:
    """How texts are laid out, and what of them a model reads."""

    language: str
    split: bool
    """Each sentence by itself; else a text is one."""
    protect: Protection
    count: CountTokens

    def lay_out(self, text: str, keep: Sequence[Span] = ()) -> TextLayout:
        """The layout of a text, of which these spans are kept besides what is always protected."""
        if not (self.protect or keep):
            return lay_out(text, self.language) if self.split and not is_question(tidy(text)) else whole(text)
        spans = all_spans(text, keep) if self.protect else named(text, keep)
        sentences, inside = self.find(text, spans)
        kept = (
            self.split or not sentences or any(text[slice(*one)].strip() != text.strip() for one in sentences)
        )
        laid = from_spans(text, sentences, kept=kept)
        return self.with_masks(
            laid,
            [
                self.masks_of(one, within(inside, span))
                for one, span in zip(laid.sentences, laid.spans(), strict=True)
            ],
        )

    def find(self, text: str, spans: Sequence[ProtectedSpan]) -> tuple[list[Span], list[ProtectedSpan]]:
        """Where the sentences of a text stand, and its spans: a message that is no part of a sentence has
        sentences inside."""
        if is_question(tidy(text)):
            return [tight(text, (0, len(text)))], []
        if self.split:
            found = sentences_of(text, self.language, spans)
        else:
            found = [(0, len(text))] if is_sentence(text, (0, len(text)), spans) else []
        covered = {one for a, b in found for one in overlapping(spans, a, b)}
        outside = {one for one in spans if one.kind == "message"} - covered
        if not outside:
            return found, list(spans)
        inner = [one for one in spans if one not in outside]
        for one in sorted(outside):
            for message in icu_messages(text[one.begin : one.end]):
                for a, b in message.texts:
                    part = text[one.begin + a : one.begin + b]
                    own = text_spans(part, counts=message.counts)
                    more, below = self.find(part, own)
                    found += [(one.begin + a + c, one.begin + a + d) for c, d in more]
                    inner += [
                        replace(x, begin=one.begin + a + x.begin, end=one.begin + a + x.end) for x in below
                    ]
        return sorted(found), sorted(inner)

    def masks_of(self, sentence: str, spans: Sequence[ProtectedSpan], *, inner: bool = False) -> list[Masked]:
        """What the model reads for a sentence, last, and before it the texts inside its messages."""
        own = mask(sentence, spans, marks=self.protect is Protection.MARKS, inner=inner)
        signs = any(kept.sign not in MARKS for kept in own.kept)  # they must not become small
        small = small_letters(own.text, self.count) if self.protect and not signs else None
        if small is not None:
            own = replace(own, text=small, capitals=True)
        found = list[Masked]()
        for kept in own.kept:
            messages = icu_messages(kept.text) if kept.holes else []
            for a, b in kept.holes:
                part, counts = kept.text[a:b], any(one.begin < a < one.end and one.counts for one in messages)
                found += self.masks_of(part, text_spans(part, counts=counts), inner=True)
        return [*found, own]

    def with_masks(self, layout: TextLayout, masks: Sequence[Sequence[Masked]]) -> TextLayout:
        """The layout with these masks, if one says anything; inner ones become sentences of their own."""
        flat = tuple(one for own in masks for one in own)
        if all(one.plain for one in flat) and self.protect is not Protection.MARKS:
            return layout
        gaps = [layout.gaps[0]]
        for own, gap in zip(masks, layout.gaps[1:], strict=True):
            gaps += [*[""] * (len(own) - 1), gap]
        return TextLayout(tuple(one.source for one in flat), tuple(gaps), layout.kept, flat)


def all_spans(text: str, keep: Sequence[Span] = ()) -> list[ProtectedSpan]:
    """What is protected in a text, and these spans, which come first."""
    if not keep:
        return protected_spans(text)
    wanted = named(text, keep)
    others = [one for one in protected_spans(text) if not overlapping(wanted, one.begin, one.end)]
    return sorted([*wanted, *others])


def named(text: str, keep: Sequence[Span]) -> list[ProtectedSpan]:
    """The spans that a caller named, without the white space around them."""
    inside = (tight(text, (min(a, len(text)), min(b, len(text)))) for a, b in keep)
    return apart(ProtectedSpan(a, b, "keep") for a, b in inside)


def text_spans(text: str, *, counts: bool) -> list[ProtectedSpan]:
    """What is protected in a text inside a message; `#` is its number if it counts."""
    spans = protected_spans(text)
    if not counts or "#" not in text:
        return spans
    signs = (ProtectedSpan(n, n + 1, "placeholder") for n, one in enumerate(text) if one == "#")
    return apart([*spans, *signs])


def within(spans: Sequence[ProtectedSpan], span: Span) -> list[ProtectedSpan]:
    """The spans inside a sentence, as characters of it."""
    begin, end = span
    return [
        replace(one, begin=one.begin - begin, end=one.end - begin) for one in overlapping(spans, begin, end)
    ]
