"""Protected spans put back into an answer, each exactly once.

Where the answer lacks a span it is put in, at the place that it has in the source; where it has one too many,
or one that nobody asked for, that is taken out. Spaces around a span are as in the source.
"""

import re
from collections import defaultdict, deque
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from jumok.text.icu import Span
from jumok.text.marks import MARKS
from jumok.text.masks import KeptSpan, Masked
from jumok.text.protected import ProtectedKind, ProtectedSpan, protected_spans
from jumok.text.sentences import base

FORMAT = frozenset[ProtectedKind](("placeholder", "message", "tag"))
"""Kinds that a program reads: what a model makes up of them is taken out."""
ADDRESSES = frozenset[ProtectedKind](("url", "email"))
UNSPACED = frozenset({"zh", "ja", "th", "lo", "km", "my", "yue", "wuu", "lzh", "bo"})
"""Languages that put no space between words."""
DOTTED = frozenset({"tr", "az", "crh"})
"""Languages whose capital of i has a dot."""
_LATIN = re.compile(r"[A-Za-z0-9]")
_ALNUM = re.compile(r"[^\W_]")
_BORDER = re.compile(r"\A|(?<=\s)(?=\S)|(?<=\w)(?=[.!?…:;。！？]{0,3}\Z)")


@dataclass(frozen=True, slots=True)
class Restored:
    """An answer with its spans in their places."""

    text: str
    places: tuple[int, ...]
    """Where each character of what the model wrote stands now, and the end."""
    put_in: int = 0
    """Spans that the answer lacked."""

    def span(self, span: Span) -> Span:
        """Characters of what the model wrote, as characters of the text."""
        return self.places[span[0]], self.places[span[1]]


@dataclass(frozen=True, slots=True)
class Spot:
    """Characters of an answer where a span goes, or, without one, that are taken out."""

    begin: int
    end: int
    kept: int | None
    """The number of the span."""


def restore(
    masked: Masked, answer: str, texts: Sequence[str] = (), *, language: str = "", growing: bool = False
) -> Restored:
    """The answer to a masked sentence with every span; `texts` go into its holes.

    A growing answer lacks what is still to come: nothing is put in.
    """
    stray = masked.marks and any(mark in answer for mark in MARKS)
    if not (masked.kept or masked.capitals or stray):
        return Restored(answer, tuple(range(len(answer) + 1)))
    fills, rest = list[str](), list(texts)
    for kept in masked.kept:
        fills.append(kept.filled(rest[: len(kept.holes)]) if kept.holes else kept.text)
        rest = rest[len(kept.holes) :]
    spots = found_spots(masked, answer)
    missing = [] if growing else sorted(set(range(len(masked.kept))) - {spot.kept for spot in spots})
    spots = with_missing(masked, answer, spots, missing)
    return Restored(*write(masked, answer, fills, in_order(masked, spots), language), len(missing))


def restore_all(
    masks: Sequence[Masked], answers: Sequence[str], *, language: str = "", growing: bool = False
) -> list[Restored]:
    """The answers to the first of these sentences with their spans; what goes into others is empty itself.

    If they are growing, the last one is.
    """
    found, waiting = list[Restored](), list[str]()
    for number, (masked, answer) in enumerate(zip(masks, answers, strict=False)):
        first = len(waiting) - masked.holes
        last = growing and number == len(answers) - 1
        one = restore(masked, answer, waiting[first:], language=language, growing=last)
        del waiting[first:]
        if masked.inner:
            waiting.append(one.text)
            one = Restored("", (0,) * len(one.places), one.put_in)
        found.append(one)
    return found


def found_spots(masked: Masked, answer: str) -> list[Spot]:
    """Where the signs stand in an answer, and what is there too often or was made up."""
    wanted: defaultdict[str, deque[int]] = defaultdict(deque)
    for number, kept in enumerate(masked.kept):
        wanted[kept.sign].append(number)
    read, spots = sign_places(masked, masked.text), list[Spot]()
    for sign, found in sign_places(masked, answer).items():
        numbers = wanted[sign]
        if len(found) > len(numbers) == 1:  # the one that stands as far in as the span does
            place = masked.kept[numbers[0]].place * len(answer)
            found = sorted(found, key=lambda span: abs(span[0] - place))
        others = len(read.get(sign, ())) - len(numbers)  # that are text: `www.` alone is no address
        own, rest = found[: len(numbers)], found[len(numbers) :]
        spots += [Spot(*span, number) for span, number in zip(own, numbers, strict=False)]
        spots += [Spot(*span, None) for span in rest[others:]]
    spots.sort(key=lambda spot: spot.begin)
    return made_up(masked, answer, spots) if masked.kept else spots


def sign_places(masked: Masked, text: str) -> dict[str, list[Span]]:
    """Where each sign of a sentence, and each mark if the model knows them, stands in a text."""
    signs = sorted({*(kept.sign for kept in masked.kept), *(MARKS if masked.marks else ())}, key=len)
    free = {kept.sign for kept in masked.kept if kept.kind in FORMAT}  # `%s` is one wherever it stands
    inside = {f"{kept.sign}<" for kept in masked.kept if kept.sign in free or _LATIN.match(kept.before)}
    inside |= {f"{kept.sign}>" for kept in masked.kept if kept.sign in free or _LATIN.match(kept.after)}
    places: defaultdict[str, list[Span]] = defaultdict(list)
    if signs:
        for match in re.finditer("|".join(bounded(sign, inside) for sign in reversed(signs)), text):
            places[match[0]].append(match.span())
    return places


def bounded(sign: str, inside: Collection[str]) -> str:
    """The pattern of a sign, which is no part of a longer number or word, unless it is one `inside` the
    source: on its left (`<` behind the sign) or right (`>`)."""
    before, after = like(sign[:1]), like(sign[-1:])
    left = f"(?<!{before})" if before and f"{sign}<" not in inside else ""
    right = f"(?!{after})" if after and f"{sign}>" not in inside else ""
    return left + re.escape(sign) + right


def like(character: str) -> str:
    """What goes on with a digit, or with a letter; "" with anything else."""
    if not _LATIN.match(character):
        return ""
    return "[0-9]" if character.isdigit() else "[A-Za-z]"


def made_up(masked: Masked, answer: str, spots: list[Spot]) -> list[Spot]:
    """The spots, and those of formats, or of kinds that the source has, which the model did not read: taken
    for spans that are missing."""
    taken = {spot.kept for spot in spots}
    missing = [number for number in range(len(masked.kept)) if number not in taken]
    kinds, outside = FORMAT | {kept.kind for kept in masked.kept}, text_outside(masked)
    for span in protected_spans(answer):
        text = answer[span.begin : span.end]
        if span.kind not in kinds or text in outside:
            continue
        if span.kind in ADDRESSES:
            spots = widened(masked, spots, span)
        if all(span.end <= spot.begin or spot.end <= span.begin for spot in spots):
            missing.sort(key=lambda number: masked.kept[number].text != text)
            spots = [*spots, Spot(span.begin, span.end, missing.pop(0) if missing else None)]
    return sorted(spots, key=lambda spot: spot.begin)


def widened(masked: Masked, spots: list[Spot], span: ProtectedSpan) -> list[Spot]:
    """The spots, that of an address with all that the model wrote on to it: `a.org` in `a.org/made/up`."""
    inside = [spot for spot in spots if spot.begin < span.end and span.begin < spot.end]
    match inside:
        case [Spot(kept=int(number)) as one] if masked.kept[number].kind == span.kind:
            return [Spot(span.begin, span.end, number) if spot is one else spot for spot in spots]
    return spots


def text_outside(masked: Masked) -> str:
    """What the model reads besides signs."""
    text, rest = "", masked.text
    for kept in masked.kept:
        before, _, rest = rest.partition(kept.sign)
        text += before + "\n"
    return text + rest


def fragments(masked: Masked) -> frozenset[str]:
    """Characters of formats that only spans have: elsewhere in an answer they are pieces of such."""
    if not any(kept.kind in FORMAT or "{" in kept.text for kept in masked.kept):
        return frozenset()
    texts, outside = "".join(kept.text for kept in masked.kept), text_outside(masked)
    return frozenset(one for one in "<>{}%" if one in texts and one not in outside)


def with_missing(masked: Masked, answer: str, spots: list[Spot], missing: Sequence[int]) -> list[Spot]:
    """The spots with one for each span that is missing, between words and as far in as in the source."""
    if not missing:
        return spots
    free = [match.start() for match in _BORDER.finditer(answer)] + [len(answer)]
    free = [place for place in free if not any(spot.begin < place < spot.end for spot in spots)]
    for number in missing:
        target = masked.kept[number].place * len(answer)
        place = min(free, key=lambda one: abs(one - target))
        spots = [*spots, Spot(place, place, number)]
    return sorted(spots, key=lambda spot: (spot.begin, spot.end))


def in_order(masked: Masked, spots: list[Spot]) -> list[Spot]:
    """The spots with tags in the order of the source, if they would not be nested otherwise."""
    tags = [spot.kept for spot in spots if spot.kept is not None and masked.kept[spot.kept].kind == "tag"]
    if is_nested([masked.kept[number].text for number in tags]):
        return spots
    ordered = iter(sorted(tags))
    return [Spot(spot.begin, spot.end, next(ordered)) if spot.kept in tags else spot for spot in spots]


def is_nested(tags: Sequence[str]) -> bool:
    """Whether every closing tag has its opening one before it; those that stand alone do not matter."""
    names = [re.match(r"</?([^\s/>]*)", tag) for tag in tags]
    closed = {name[1] for tag, name in zip(tags, names, strict=True) if name and tag.startswith("</")}
    waiting = list[str]()
    for tag, name in zip(tags, names, strict=True):
        if not name or name[1] not in closed or tag.endswith("/>"):
            continue
        if not tag.startswith("</"):
            waiting.append(name[1])
        elif not waiting or waiting.pop() != name[1]:
            return False
    return True


@dataclass(slots=True)
class RestoredText:
    """An answer as it is written, with spans in their places."""

    masked: Masked
    fills: Sequence[str]
    language: str
    text: str = ""
    last: KeptSpan | None = None
    """The span that was written last, if nothing stands behind it yet."""
    put_in: bool = False
    """And whether the answer had lacked it."""

    def character(self, character: str, following: str) -> None:
        """One character that the model wrote, and the one after it."""
        if (last := self.last) is not None:
            self.last = None
            if character == " " and following.strip() and following == last.after:
                return
            runs_on = runs_together(self.text[-1:], character) and character != last.after
            if runs_on or self.apart(last.after, _ALNUM.match(character) is not None, put_in=self.put_in):
                self.text += " "
        self.text += self.cased(character)

    def span(self, number: int, *, put_in: bool) -> None:
        """A span, with a space before it if the source has one there."""
        kept, text = self.masked.kept[number], self.text
        if text[-1:] == " " and kept.before.strip() and text[-2:-1] == kept.before:
            self.text = text[:-1]
        elif text:
            near = self.last is not None or _ALNUM.match(text[-1]) is not None
            runs_on = runs_together(text[-1], self.fills[number]) and text[-1] != kept.before
            if runs_on or self.apart(kept.before, near, put_in=put_in):
                self.text += " "
        self.text += self.fills[number]
        self.last, self.put_in = kept, put_in

    def apart(self, side: str, near: bool, *, put_in: bool) -> bool:  # noqa: FBT001
        """Whether a space is missing between a span and what stands near it."""
        return near and base(self.language) not in UNSPACED and (put_in or not side.strip())

    def cased(self, character: str) -> str:
        if not self.masked.capitals:
            return character
        return "İ" if character == "i" and base(self.language) in DOTTED else character.upper()


def runs_together(left: str, right: str) -> bool:
    """Whether two texts would become one word, such as `%PRODUCTNAME` and what follows it."""
    return _LATIN.match(left) is not None and _LATIN.match(right) is not None


def write(
    masked: Masked, answer: str, fills: Sequence[str], spots: Sequence[Spot], language: str
) -> tuple[str, tuple[int, ...]]:
    """The answer with spans in these spots, and where its characters went."""
    writer, places, last = RestoredText(masked, fills, language), list[int](), 0
    removed, stray = False, fragments(masked)
    for spot in [*spots, Spot(len(answer), len(answer), None)]:
        for place in range(last, spot.begin):
            places.append(len(writer.text))
            if answer[place] in stray:
                continue
            if not (removed and answer[place] == " " and writer.text[-1:] in ("", " ")):
                writer.character(answer[place], answer[place + 1 : place + 2])
            removed = False
        last = spot.end
        before = len(writer.text)
        if spot.kept is None:
            removed = True
        else:
            writer.span(spot.kept, put_in=spot.begin == spot.end)
        places += [before] * (spot.end - spot.begin)
    text = writer.text if all(spot.kept is not None for spot in spots) else writer.text.rstrip()
    return text, tuple(min(place, len(text)) for place in (*places, len(text)))
