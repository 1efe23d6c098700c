"""XLIFF 1.2 and 2: units with a source and a target, as translators exchange them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from jumok.formats.segments import MarkedText, Segment
from jumok.formats.spliced import Hole, Piece, SplicedFormat
from jumok.formats.xml_inline import Role, content, inline_of, opened, with_attributes, xml_of
from jumok.formats.xml_tokens import XmlReader, XmlToken
from jumok.formats.xml_units import (
    Element,
    check_language,
    child,
    children,
    collect,
    raw_of,
    space_before,
)

ROLES: Mapping[str, Role] = {
    "g": "pair",
    "mrk": "pair",
    "pc": "pair",
    "bx": "begin",
    "bpt": "begin",
    "sc": "begin",
    "sm": "begin",
    "ex": "end",
    "ept": "end",
    "ec": "end",
    "em": "end",
}
ITS = "http://www.w3.org/2005/11/its"
UNTRANSLATED = frozenset({"new", "needs-translation", "needs-l10n", "initial"})
"""States of a target that is none yet."""
SIDES: Mapping[str, tuple[str, str]] = {
    "file": ("source-language", "target-language"),
    "xliff": ("srcLang", "trgLang"),
}
"""Which element says which languages a file has: of version 1, and of 2."""


@dataclass(frozen=True)
class XliffFormat(SplicedFormat):
    """What has a target is left alone; what has none gets one, with a state that says where it is from."""

    name: ClassVar[str] = "xliff"
    suffixes: ClassVar[tuple[str, ...]] = (".xlf", ".xliff", ".mxliff", ".sdlxliff")

    def pieces(self, path: Path) -> Iterator[Piece]:
        """Targets as holes; everything else is as it was."""
        reader = XmlReader(path)
        tokens = reader.tokens()
        version, shut = "", list[bool]()
        for token in tokens:
            if token.kind == "start" and token.local == "xliff":
                version = token.attributes.get("version", "")
                check_version(version, reader, token)
            if token.kind == "start" and token.local == ("unit" if version[:1] == "2" else "trans-unit"):
                unit = collect(token, tokens, reader)
                if True in shut or is_shut(token):
                    yield raw_of(unit)
                else:
                    yield from unit_pieces(unit, reader)
                continue
            if token.kind == "start":
                shut.append(is_shut(token))
                yield self.with_languages(token, reader)
                continue
            if token.kind == "end":
                shut.pop()
            yield token.raw
        if not version:
            raise reader.broken(
                "there is no <xliff> in the file", 1, "is it another format? Name it with --format"
            )

    def with_languages(self, token: XmlToken, reader: XmlReader) -> bytes:
        """The start of a file, which says from which language into which."""
        source, target = SIDES.get(token.local, ("", ""))
        if source not in token.attributes:  # not the element, or not the version, that says so
            return token.raw
        check_language(reader, token, source, self.languages.source)
        check_language(reader, token, target, self.languages.target)
        if token.attributes.get(target) or not self.languages.target:
            return token.raw
        return with_attributes(token, reader, {target: self.languages.target})


def check_version(version: str, reader: XmlReader, token: XmlToken) -> None:
    """Refuse what neither version describes."""
    if not version.startswith(("1.", "2.")):
        raise reader.broken(
            f"this is XLIFF of version {version!r}", token.line, "versions 1.2, 2.0 and 2.1 can be translated"
        )


def is_shut(token: XmlToken) -> bool:
    """Whether an element says that nothing in it is to be translated."""
    return token.attributes.get("translate") == "no"


def unit_pieces(unit: Element, reader: XmlReader) -> Iterator[Piece]:
    """A unit of either version: 2 has its segments inside."""
    where = f"unit {unit[0].attributes.get('id', '?')}, line {unit[0].line}"
    for part in parts_of(unit):
        yield part.raw if isinstance(part, XmlToken) else XliffUnit(part, reader, where).piece()


def parts_of(unit: Element) -> Iterator[XmlToken | Element]:
    """What has a source and a target in a unit, whole, and the tokens of everything else."""
    if unit[0].local == "trans-unit":
        yield unit
        return
    yield unit[0]
    for part in children(unit):
        if isinstance(part, XmlToken) or part[0].local == "segment":
            yield part
        else:
            yield from part
    yield unit[-1]


def is_done(element: Element, target: Element) -> bool:
    """Whether a target is a translation already, by what is said of it and of its unit or segment."""
    return not {one[0].attributes.get("state") for one in (element, target)} & UNTRANSLATED


@dataclass(frozen=True)
class XliffUnit:
    """A `<trans-unit>` of version 1, or a `<segment>` of version 2: a source, and perhaps a target."""

    element: Element
    reader: XmlReader
    where: str

    def piece(self) -> Piece:
        """A hole, or the bytes of a unit without a source."""
        parts = children(self.element)
        source, target = child(parts, "source"), child(parts, "target")
        raw = raw_of(self.element)
        if source is None:
            return raw
        marked, known = inline_of(content(source), self.reader, ROLES), None
        if target is not None:
            found = inline_of(content(target), self.reader, ROLES)
            known = found if found.text.strip() and is_done(self.element, target) else None
        return Hole(Segment(marked, self.where, known), raw, self.fill)

    def fill(self, answer: MarkedText) -> bytes:
        """The unit with this target."""
        first, last = self.element[0], self.element[-1]
        parts = children(self.element)
        source, old = child(parts, "source"), child(parts, "target")
        assert source is not None
        behind = child(parts, "seg-source") or source
        new = self.target(answer, source, old)
        begin = first.raw
        if first.local == "segment":
            states = {"state": "translated"}
            if answer.confidence is not None:
                states["subState"] = f"jumok:confidence-{answer.confidence:.2f}"
            begin = with_attributes(first, self.reader, states)
        written = [begin]
        for part in parts:
            written.append(new if part is old else raw_of(part))
            if old is None and part is behind:
                written += [space_before(parts, source), new]
        return b"".join([*written, last.raw])

    def target(self, answer: MarkedText, source: Element, old: Element | None) -> bytes:
        """The element of the target."""
        name = source[0].name.replace("source", "target")
        states = {"state": "needs-review-translation", "state-qualifier": "mt-suggestion"}
        if answer.confidence is not None:
            states |= {"xmlns:its": ITS, "its:mtConfidence": f"{answer.confidence:.2f}"}
        encode = self.reader.encode
        start = encode(f"<{name}>") if old is None else opened(old[0], self.reader).raw
        if self.element[0].local != "segment":
            begun = XmlToken("start", 0, start) if old is None else opened(old[0], self.reader)
            start = with_attributes(begun, self.reader, states)
        return start + encode(xml_of(answer)) + encode(f"</{name}>")
