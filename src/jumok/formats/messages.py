"""Strings of catalogues, whatever file they stand in: messages with inline tags, cases of ICU messages.

`{n, plural, one {# file} other {# files}}` is a message of two texts; what stands around its cases stays.
Simple placeholders (`{name}`, `%s`) are the translator's to keep.
"""

import re
from collections.abc import Generator, Sequence
from pathlib import Path

from jumok.errors import DataError
from jumok.formats.edges import peeled
from jumok.formats.encoding import Encoding, read_text
from jumok.formats.inline import MarkupBuilder, render, stripped
from jumok.formats.segments import MarkedText, Segment
from jumok.formats.walk import has_words

MOST_BYTES = 64 << 20
"""Of a catalogue that is read whole."""
DEEPEST = 8  # cases inside cases
Asking = Generator[Segment, MarkedText | None, str | None]

_TAG = re.compile(r"<(?P<end>/?)(?P<name>[A-Za-z][\w:.-]*)(?:\s[^<>]*)?(?P<empty>/?)>")
_ALONE = frozenset({"br", "hr", "img", "wbr", "input"})
_KEPT = frozenset({"code", "kbd", "samp", "var", "pre"})
_CHOICE = re.compile(r"\s*\{\s*[\w.-]+\s*,\s*(?:plural|select|selectordinal)\s*,\s*(?:offset:\d+\s*)?")
_CASE = re.compile(r"\s*(?:=\d+|[\w-]+)\s*\{")


def ask(text: str, where: str, target: str | None = None) -> Asking:
    """Ask for the translation of one string; None if it stays. `target` is the one that it has already."""
    if not has_words(text):
        return None
    if target is None and (parts := cases(text)):
        return (yield from _ask_cases(parts, where))
    before, marked, after = stripped(marked_string(text))
    left, marked, right = peeled(marked)
    if not has_words(marked.text):
        return None
    known = None if not target else marked_string(target)
    answer = yield Segment(marked, where, known)
    if answer is None:
        return None
    if answer == marked:
        return text
    return before + left + render(answer) + right + after


def _ask_cases(parts: Sequence[str], where: str) -> Asking:
    written, changed = list(parts), False
    for place in range(1, len(parts), 2):
        label = parts[place - 1].strip(" \n\t{},").rpartition(" ")[2] or "case"
        answer = yield from ask(parts[place], f"{where}, {label}")
        if answer is not None:
            written[place], changed = answer, True
    return "".join(written) if changed else None


def marked_string(text: str) -> MarkedText:
    """Tags of HTML in a string: pairs, and those that stand alone. What only looks like one is text."""
    tags = list(_TAG.finditer(text))
    partner: dict[int, int] = {}
    waiting: list[int] = []
    for number, tag in enumerate(tags):
        if tag["end"]:
            place = next((one for one in reversed(waiting) if tags[one]["name"] == tag["name"]), None)
            if place is not None:
                partner[place], partner[number] = number, place
                del waiting[waiting.index(place) :]
        elif not tag["empty"] and tag["name"].lower() not in _ALONE:
            waiting.append(number)
    builder, done = MarkupBuilder(), 0
    for number, tag in enumerate(tags):
        alone = bool(tag["empty"]) or tag["name"].lower() in _ALONE
        if not alone and number not in partner:
            continue
        _add(builder, text[done : tag.start()])
        done = tag.end()
        if alone:
            builder.point(tag[0])
        elif tag["end"]:
            builder.close(tag[0])
        else:
            builder.open(tag[0], keep=tag["name"].lower() in _KEPT)
    _add(builder, text[done:])
    return builder.build()


def _add(builder: MarkupBuilder, text: str) -> None:
    """Text, in which a choice among other words stays as it is: a point."""
    while (found := _CHOICE.search(text)) and (end := _closing(text, text.index("{", found.start()) + 1)):
        begin = text.index("{", found.start())
        builder.add(text[:begin])
        builder.point(text[begin : end + 1])
        text = text[end + 1 :]
    builder.add(text)


def cases(text: str, depth: int = 0) -> list[str]:
    """An ICU message that is a choice as a whole: what stays and the cases, in turn; else nothing."""
    head = _CHOICE.match(text)
    if head is None or depth > DEEPEST or text.count("{") > 1000:
        return []
    parts, place = [head[0]], head.end()
    while case := _CASE.match(text, place):
        end = _closing(text, case.end())
        if end is None:
            return []
        inner = text[case.end() : end]
        parts[-1] += case[0]
        deeper = cases(inner, depth + 1)
        if deeper:
            parts[-1] += deeper[0]
            parts += deeper[1:]
        else:
            parts += [inner, ""]
        parts[-1] += "}"
        place = end + 1
    tail = text[place:]
    if len(parts) == 1 or tail.strip() != "}":
        return []
    parts[-1] += tail
    return parts


def _closing(text: str, place: int) -> int | None:
    """The brace that closes the one before this place; an apostrophe takes the sense from braces."""
    depth = 1
    while place < len(text):
        sign = text[place]
        if sign == "'" and text[place + 1 : place + 2] in ("{", "}"):
            place = text.find("'", place + 2)
            if place < 0:
                return None
        elif sign in "{}":
            depth += 1 if sign == "{" else -1
            if not depth:
                return place
        place += 1
    return None


def read_catalogue(path: Path) -> tuple[Encoding, str]:
    """A catalogue as text. DataError: it is too large to be one, or is no text."""
    check_size(path)
    return read_text(path)


def check_size(path: Path) -> None:
    """DataError: a file is too large to be read whole."""
    size = path.stat().st_size
    if size > MOST_BYTES:
        raise DataError(
            f"the file has {size:,} bytes; a catalogue is read whole, up to {MOST_BYTES:,}",
            where=str(path),
            hint="divide it into several files",
            code="too_large",
        )
