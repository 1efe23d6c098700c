"""Android's strings.xml: strings, arrays and plurals. `translatable="false"` and references to others stay.

Strings have escapes of their own besides XML's; `<xliff:g>` holds what must not be translated.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, ClassVar

from jumok.errors import DataError
from jumok.formats.edges import peeled
from jumok.formats.inline import MarkupBuilder, render
from jumok.formats.ooxml import closed, opened
from jumok.formats.segments import Languages, MarkedText, Segment
from jumok.formats.walk import Walk, has_words, segments_on, write_whole
from jumok.formats.xml_tokens import XmlReader, XmlToken, element, escaped, raw_of

_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.)|$)", re.DOTALL)
_SIGNS = {"n": "\n", "t": "\t"}
_CDATA = "<![CDATA["


@dataclass(frozen=True)
class AndroidFormat:
    """Resources of Android."""

    languages: Languages = Languages()
    name: ClassVar[str] = "android"
    suffixes: ClassVar[tuple[str, ...]] = ("strings.xml", "plurals.xml", "arrays.xml")

    def read(self, path: Path) -> Iterator[Segment]:
        """The strings."""
        with path.open("rb") as file:
            yield from segments_on(walk(XmlReader(file, str(path)), path))

    def write(self, path: Path, out: IO[bytes], answers: Iterator[MarkedText | None]) -> None:
        """The resources with other strings."""
        with path.open("rb") as file:
            reader = XmlReader(file, str(path))
            write_whole(walk(reader, path), lambda text: out.write(reader.encode(text)), answers)


def walk(reader: XmlReader, path: Path) -> Walk:
    """String by string. DataError: these are no resources."""
    tokens, root, group, count = iter(reader), "", "", 0
    for token in tokens:
        if token.kind != "start":
            yield token.raw
            continue
        if not root and (root := token.name) != "resources":
            hint = "its first element is <resources>; name another --format"
            raise DataError(f"not Android's strings: <{root}>", where=str(path), hint=hint, code="wrong_format")
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


def string(tokens: list[XmlToken], where: str) -> Walk:
    """One string with its inline tags."""
    start, cdata = tokens[0], raw_of(tokens[1:-1]).strip().startswith(_CDATA)
    before, marked, after = peeled(marked_of(tokens[1:-1]))
    reference = marked.text.startswith(("@", "?")) and not marked.text[1:2].isspace()
    if not has_words(marked.text) or (reference and " " not in marked.text):
        yield raw_of(tokens)
        return
    answer = yield Segment(marked, where)
    if answer is None:
        yield raw_of(tokens)
        return
    quoted = raw_of(tokens[1:-1]).strip()[:1] == '"'
    write = quoted_text if quoted else plain_text
    content = before + render(answer, lambda text: write(text, cdata=cdata)) + after
    if not (before or cdata) and content[:1] in ("@", "?"):
        content = "\\" + content
    content = f'"{content}"' if quoted else content
    yield opened(start.raw) + (f"{_CDATA}{content}]]>" if cdata else content) + closed(start)


def marked_of(tokens: list[XmlToken]) -> MarkedText:
    """The text of a string, its escapes resolved; elements are tags, and entities are points."""
    builder, kept, quoted, spaced = MarkupBuilder(), 0, False, True
    for token in tokens:
        match token.kind:
            case "start":
                kept += token.name == "xliff:g"
                builder.open(opened(token.raw), keep=token.name == "xliff:g")
            case "end":
                builder.close(f"</{_prefixed(token, tokens)}>")
            case "other" if token.raw.startswith("&"):
                builder.point(token.raw)
            case "text":
                text, quoted = unescaped(token.text, quoted=quoted)
                if not quoted:
                    text = re.sub(" +", " ", text)
                    text = text.removeprefix(" ") if spaced else text
                spaced = text.endswith((" ", "\n")) if text else spaced
                builder.add(text)
    marked = builder.build()
    ends = len(marked.text.rstrip(" ")) if not quoted else len(marked.text)
    return marked if any(tag.end > ends for tag in marked.tags) else MarkedText(marked.text[:ends], marked.tags)


def _prefixed(end: XmlToken, tokens: list[XmlToken]) -> str:
    """The name of an end tag as the file writes it; that of `<a/>` is in its start."""
    if end.raw:
        return end.raw[2:-1].strip()
    start = next(one for one in tokens if one.kind == "start" and one.name == end.name)
    return start.raw[1:].split(None, 1)[0].rstrip("/>")


def unescaped(raw: str, *, quoted: bool) -> tuple[str, bool]:
    """A string as the program gets it, and whether a quotation is still open: in one, white space counts."""
    written: list[str] = []
    for part in re.findall(r"\\u[0-9a-fA-F]{4}|\\.|\"|[^\\\"]+|\\", raw, re.DOTALL):
        if part == '"':
            quoted = not quoted
        elif part.startswith("\\"):
            written.append(_ESCAPE.sub(_sign, part))
        else:
            written.append(part if quoted else re.sub(r"\s+", " ", part))
    return "".join(written), quoted


def _sign(found: re.Match[str]) -> str:
    return chr(int(found[1], 16)) if found[1] else _SIGNS.get(found[2] or "", found[2] or "")


def plain_text(text: str, *, cdata: bool) -> str:
    """Text with Android's escapes and XML's."""
    text = text.replace("\\", "\\\\").replace("'", "\\'").replace('"', '\\"')
    text = text.replace("\n", "\\n").replace("\t", "\\t")
    return text.replace("]]>", "]] >") if cdata else escaped(text)


def quoted_text(text: str, *, cdata: bool) -> str:
    """The same inside of quotes, where an apostrophe needs none."""
    text = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t")
    return text.replace("]]>", "]] >") if cdata else escaped(text)
