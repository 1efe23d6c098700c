"""Android's strings.xml: strings, arrays and plurals. `translatable="false"` and references to others stay.

Strings have escapes of their own besides XML's; `<xliff:g>` holds what must not be translated.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, ClassVar

from jumok.errors import DataError
from jumok.formats.edges import peeled
from jumok.formats.inline import MarkupBuilder, render
from jumok.formats.messages import marked_string
from jumok.formats.ooxml import closed, opened
from jumok.formats.segments import Languages, MarkedText, Segment
from jumok.formats.walk import Walk, has_words, segments_on, write_whole
from jumok.formats.xml_stream import NamedToken, XmlStream, element, escaped, raw_of

_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.)|$)", re.DOTALL)
_SIGNS = {"n": "\n", "t": "\t"}
_CDATA = "<![CDATA["
_REFERENCE = re.compile(r"[@?][\w.:+*/-]+")


@dataclass(frozen=True)
class AndroidFormat:
    """Resources of Android."""

    languages: Languages = Languages()
    name: ClassVar[str] = "android"
    suffixes: ClassVar[tuple[str, ...]] = ("strings.xml", "plurals.xml", "arrays.xml")

    def read(self, path: Path) -> Iterator[Segment]:
        """The strings."""
        with path.open("rb") as file:
            yield from segments_on(walk(XmlStream(file, str(path)), path))

    def write(self, path: Path, out: IO[bytes], answers: Iterator[MarkedText | None]) -> None:
        """The resources with other strings."""
        with path.open("rb") as file:
            reader = XmlStream(file, str(path))
            write_whole(walk(reader, path), lambda text: out.write(reader.encode(text)), answers)


def walk(reader: XmlStream, path: Path) -> Walk:
    """String by string. DataError: these are no resources."""
    tokens, root, group, count = iter(reader), "", "", 0
    for token in tokens:
        if token.kind != "start":
            yield token.raw
            continue
        if not root and (root := token.name) != "resources":
            hint = "its first element is <resources>; name another --format"
            raise DataError(
                f"not Android's strings: <{root}>", where=str(path), hint=hint, code="wrong_format"
            )
        if token.attributes.get("translatable") == "false":
            yield raw_of(element(token, tokens))
        elif token.name in ("string-array", "plurals"):
            group, count = token.attributes.get("name", ""), 0
            yield token.raw
        elif token.name == "string" or (token.name == "item" and group):
            count += 1
            label = token.attributes.get("quantity", str(count))
            where = token.attributes.get("name", "") if token.name == "string" else f"{group}.{label}"
            yield from string(element(token, tokens), where)
        else:
            yield token.raw


def string(tokens: list[NamedToken], where: str) -> Walk:
    """One string with its inline tags."""
    start, cdata = tokens[0], raw_of(tokens[1:-1]).strip().startswith(_CDATA)
    before, marked, after = peeled(marked_of(tokens[1:-1]))
    reference = _REFERENCE.fullmatch(raw_of(tokens[1:-1]).strip())
    if not has_words(marked.text) or reference:
        yield raw_of(tokens)
        return
    answer = yield Segment(marked, where)
    if answer is None:
        yield raw_of(tokens)
        return
    quoted = raw_of(tokens[1:-1]).strip()[:1] == '"'
    elements = has_markup(tokens[1:-1])
    write = partial(android_text, quoted=quoted, cdata=cdata)
    content = (
        before + render(answer, write) + after
        if elements or cdata
        else write(before + render(answer) + after)
    )
    if not cdata and content[:1] in ("@", "?"):
        content = "\\" + content
    content = f'"{content}"' if quoted else content
    yield opened(start.raw) + (f"{_CDATA}{content}]]>" if cdata else content) + closed(start)


def has_markup(tokens: list[NamedToken]) -> bool:
    """Whether a string has elements, or entities that the file declares."""
    return any(
        token.kind == "start" or (token.kind == "other" and token.raw.startswith("&")) for token in tokens
    )


def marked_of(tokens: list[NamedToken]) -> MarkedText:
    """The text of a string, its escapes resolved; elements are tags, and entities are points."""
    reader = StringText()
    if not has_markup(tokens):
        text = reader.add("".join(token.text for token in tokens))
        return marked_string(text.rstrip(" ") if reader.spaced else text)
    builder = MarkupBuilder()
    for token in tokens:
        match token.kind:
            case "start":
                builder.open(opened(token.raw), keep=token.name == "xliff:g")
            case "end":
                builder.close(f"</{_prefixed(token, tokens)}>")
            case "other" if token.raw.startswith("&"):
                builder.point(token.raw)
                reader.spaced = False
            case "text":
                builder.add(reader.add(token.text))
    return builder.build()


def _prefixed(end: NamedToken, tokens: list[NamedToken]) -> str:
    """The name of an end tag as the file writes it; that of `<a/>` is in its start."""
    if end.raw:
        return end.raw[2:-1].strip()
    start = next(one for one in tokens if one.kind == "start" and one.name == end.name)
    return start.raw[1:].split()[0].rstrip("/>")


@dataclass
class StringText:
    """Text as the program gets it: without escapes, and outside of quotes without white space in a row."""

    quoted: bool = False
    spaced: bool = True

    def add(self, raw: str) -> str:
        """What the next stretch says."""
        return "".join(
            self._part(part) for part in re.findall(r"\\u[0-9a-fA-F]{4}|\\.|\"|[^\\\"]+|\\", raw, re.DOTALL)
        )

    def _part(self, part: str) -> str:
        if part == '"':
            self.quoted = not self.quoted
            return ""
        if part.startswith("\\"):
            self.spaced = False
            return _ESCAPE.sub(_sign, part)
        if self.quoted:
            self.spaced = False
            return part
        part = re.sub(r"\s+", " ", part)
        part = part.removeprefix(" ") if self.spaced else part
        self.spaced = part.endswith(" ") if part else self.spaced
        return part


def _sign(found: re.Match[str]) -> str:
    return chr(int(found[1], 16)) if found[1] else _SIGNS.get(found[2] or "", found[2] or "")


def android_text(text: str, *, quoted: bool, cdata: bool) -> str:
    """Text with Android's escapes and XML's; inside of quotes an apostrophe needs none."""
    text = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t")
    text = text if quoted else text.replace("'", "\\'")
    return text.replace("]]>", "]] >") if cdata else escaped(text)
