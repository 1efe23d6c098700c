"""OpenDocument: texts, sheets and presentations of LibreOffice and others.

Paragraphs and headings with everything that is nested in them: notes, comments, frames. Spaces, tabs and line
breaks are elements in these files. Deleted text of tracked changes stays, and so do fields and
cells with numbers or formulas.
"""

import re
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import IO, ClassVar

from jumok.errors import DataError
from jumok.formats.edges import joined, peeled
from jumok.formats.inline import MarkupBuilder, render
from jumok.formats.ooxml import closed, opened
from jumok.formats.package import Package, PartWalk, encrypted, segments_in, write_package
from jumok.formats.segments import Languages, MarkedText, Segment
from jumok.formats.walk import Walk, gathered, has_words
from jumok.formats.xml_stream import NamedToken, XmlStream, element, escaped, prefix_of, raw_of, recorded

PARAGRAPHS = frozenset({"text:p", "text:h"})
SPANS = frozenset({"text:span", "text:a", "text:meta"})
LEFT = frozenset({"text:tracked-changes", "office:forms", "office:scripts", "office:font-face-decls"})
CONTENT, STYLES = "content.xml", "styles.xml"
MANIFEST = "META-INF/manifest.xml"
LISTED = 4 << 20  # bytes of it
LOCKED = re.compile(rb"<(?:[\w.-]+:)?encryption-data\b")
SPACE = re.compile(r"[ \t\r\n]+")
Collecting = Generator[Segment, MarkedText | None, None]


@dataclass(frozen=True)
class OdtFormat:
    """Texts of LibreOffice and others."""

    languages: Languages = Languages()
    name: ClassVar[str] = "odt"
    suffixes: ClassVar[tuple[str, ...]] = (".odt", ".ott")

    def read(self, path: Path) -> Iterator[Segment]:
        """The paragraphs of a document."""
        return segments_in(path, self.parts)

    def write(self, path: Path, out: IO[bytes], answers: Iterator[MarkedText | None]) -> None:
        """The document with other paragraphs."""
        write_package(path, out, answers, self.parts)

    def parts(self, package: Package) -> dict[str, PartWalk]:
        """Content, and styles, which have headers and footers. DataError: not one, or one with a password."""
        if CONTENT not in package.names:
            raise DataError(
                "no OpenDocument content inside",
                where=str(package.path),
                hint="name its --format",
                code="wrong_format",
            )
        # Old templates of LibreOffice have a list that is not XML with namespaces, so it is read as bytes.
        if MANIFEST in package.names and LOCKED.search(package.open(MANIFEST).read(LISTED)):
            raise encrypted(str(package.path))
        found: PartWalk = partial(walk, self.languages.target)
        return {name: found for name in (CONTENT, STYLES) if name in package.names}


@dataclass(frozen=True)
class OdsFormat(OdtFormat):
    """Sheets."""

    name: ClassVar[str] = "ods"
    suffixes: ClassVar[tuple[str, ...]] = (".ods", ".ots")


@dataclass(frozen=True)
class OdpFormat(OdtFormat):
    """Presentations."""

    name: ClassVar[str] = "odp"
    suffixes: ClassVar[tuple[str, ...]] = (".odp", ".otp")


def walk(target: str, reader: XmlStream, name: str) -> Walk:
    """One part; formattings that say a language say the one that it is translated into."""
    tokens, count, inside = iter(reader), 0, name == CONTENT
    for token in tokens:
        if name == STYLES and token.name.startswith(("style:header", "style:footer")):
            inside = token.kind == "start"  # and not the samples of a presentation's masters
        if token.name == "style:text-properties":
            yield with_language(token.raw, target)
        elif token.kind != "start" or not inside:
            yield token.raw
        elif stays(token):
            yield raw_of(element(token, tokens))
        elif token.name in PARAGRAPHS:
            count += 1
            yield from paragraph(token, tokens, f"{name}, paragraph {count}")
        else:
            yield token.raw


def with_language(raw: str, target: str) -> str:
    """Formatting with the language that the text has now, so that its spelling is checked in it."""
    base, _, country = target.partition("-")
    kind = "-asian" if base in ("ja", "ko", "zh") else "-complex" if base in ("ar", "fa", "he", "ur") else ""
    space = "style" if kind else "fo"
    if not target or f'{space}:language{kind}="' not in raw or f'{space}:language{kind}="zxx"' in raw:
        return raw
    raw = re.sub(rf'({space}:language{kind}=")[^"]*', rf"\g<1>{base}", raw)
    return re.sub(rf'({space}:country{kind}=")[^"]*', rf"\g<1>{country or 'none'}", raw)


def stays(start: NamedToken) -> bool:
    """Deleted text, and cells that show a number or a formula's result."""
    if start.name in ("table:table-cell", "table:covered-table-cell"):
        kind = start.attributes.get("office:value-type", "string")
        return (
            kind != "string"
            or "table:formula" in start.attributes
            or "office:string-value" in start.attributes
        )
    return start.name in LEFT


@dataclass
class ParagraphReader:
    """One paragraph, as it is read: its text with single spaces where the file has any white space."""

    tokens: Iterator[NamedToken]
    where: str
    original: list[str] = field(default_factory=list)
    builder: MarkupBuilder = field(default_factory=MarkupBuilder)
    changed: list[tuple[str, str]] = field(default_factory=list)
    """What is inside and has got answers of its own: as tags have it, and as it is written."""
    spaced: bool = True
    """Whether white space has just been: what follows of it is nothing."""

    def content(self, end: str) -> Collecting:
        """Everything up to an end tag."""
        for token in self.tokens:
            name = token.name
            if token.kind == "start" and name not in SPANS:
                yield from self.other(token)
                continue
            self.original.append(token.raw)
            if token.kind == "end" and name == end:
                return
            if token.kind == "text":
                self.add(token.text)
            elif token.kind == "start":
                self.builder.open(opened(token.raw))
                yield from self.content(name)
                self.builder.close(closed(token))

    def add(self, text: str) -> None:
        """Text of the file."""
        text = SPACE.sub(" ", text)
        if self.spaced:
            text = text.removeprefix(" ")
        if text:
            self.spaced = text.endswith(" ")
            self.builder.add(text)

    def other(self, start: NamedToken) -> Collecting:
        """An element in the text: a character, or something that stays, with paragraphs inside perhaps."""
        signs = {"text:s": " ", "text:tab": "\t", "text:line-break": "\n"}
        if start.name in signs:
            self.original.append(raw_of(element(start, self.tokens)))
            count = start.attributes.get("text:c", "1")
            self.builder.add(signs[start.name] * min(int(count) if count.isdecimal() else 1, 1000))
            self.spaced = start.name == "text:line-break"
            return
        seen = [start.raw]
        new = start.raw + (yield from gathered(self.inside(recorded(self.tokens, seen))))
        self.original.append(new)
        self.spaced = False
        self.builder.point("".join(seen))
        if new != "".join(seen):
            self.changed.append(("".join(seen), new))

    def inside(self, tokens: Iterator[NamedToken]) -> Walk:
        """What an element holds, to its end tag."""
        depth = 1
        for token in tokens:
            if token.kind == "start" and token.name in PARAGRAPHS:
                yield from paragraph(token, tokens, f"{self.where}, inside")
                continue
            yield token.raw
            depth += (token.kind == "start") - (token.kind == "end")
            if not depth:
                return


def paragraph(start: NamedToken, tokens: Iterator[NamedToken], where: str) -> Walk:
    """A paragraph or heading: asked for if it has words."""
    reader = ParagraphReader(tokens, where)
    yield from reader.content(start.name)
    original = start.raw + "".join(reader.original)
    before, marked, after = peeled(joined(reader.builder.build()))
    answer = (yield Segment(marked, where)) if has_words(marked.text) else None
    if answer is None:
        yield original
        return
    text = before + render(answer, spacing(prefix_of(start))) + after
    for old, new in reader.changed:
        text = text.replace(old, new, 1)
    yield opened(start.raw) + text + closed(start)


def spacing(prefix: str) -> Callable[[str], str]:
    """How text is written: spaces in a row, at the beginning, tabs and breaks are elements."""
    spaced = True

    def sign(found: re.Match[str]) -> str:
        nonlocal spaced
        text = found[0]
        if text in ("\t", "\n"):
            spaced = text == "\n"
            return f"<{prefix}tab/>" if text == "\t" else f"<{prefix}line-break/>"
        if not text.isspace() or text[0] not in " ":
            spaced = False
            return escaped(text)
        plain, count = (0, len(text)) if spaced else (1, len(text) - 1)
        spaced = True
        return " " * plain + (f'<{prefix}s {prefix}c="{count}"/>' if count else "")

    return lambda text: re.sub(r" +|\t|\n|[^ \t\n]+", sign, text)
