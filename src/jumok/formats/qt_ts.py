"""Qt's .ts: translations of messages. Unfinished ones are filled; obsolete and vanished ones stay.

What is written into an unfinished message stays unfinished, for a person to look at: `lrelease` takes it.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, ClassVar

from jumok.errors import DataError
from jumok.formats.messages import ask
from jumok.formats.ooxml import closed, opened
from jumok.formats.segments import Languages, MarkedText, Segment
from jumok.formats.walk import Walk, segments_on, write_whole
from jumok.formats.xml_stream import NamedToken, XmlStream, element, escaped, raw_of

GONE = ("obsolete", "vanished")


@dataclass(frozen=True)
class TsFormat:
    """Translation sources of Qt Linguist."""

    languages: Languages = Languages()
    name: ClassVar[str] = "ts"
    suffixes: ClassVar[tuple[str, ...]] = (".ts",)

    def read(self, path: Path) -> Iterator[Segment]:
        """The messages; those that have a translation have a target."""
        with path.open("rb") as file:
            yield from segments_on(walk(XmlStream(file, str(path)), path))

    def write(self, path: Path, out: IO[bytes], answers: Iterator[MarkedText | None]) -> None:
        """The file with other translations."""
        with path.open("rb") as file:
            reader = XmlStream(file, str(path))
            write_whole(walk(reader, path), lambda text: out.write(reader.encode(text)), answers)


def walk(reader: XmlStream, path: Path) -> Walk:
    """Message by message. DataError: this is no such file."""
    tokens, root, source, line = iter(reader), "", "", ""
    for token in tokens:
        if token.kind != "start":
            yield token.raw
            continue
        if not root and (root := token.name) != "TS":
            hint = "its first element is <TS>; name another --format"
            raise DataError(
                f"not a translation source of Qt: <{root}>", where=str(path), hint=hint, code="wrong_format"
            )
        if token.name == "message":
            source, line = "", token.attributes.get("id", "")
        if token.name == "location":
            line = f"{token.attributes.get('filename', '')}:{token.attributes.get('line', '')}"
        if token.name not in ("source", "translation"):
            yield token.raw
            continue
        found = element(token, tokens)
        if token.name == "source":
            source = text_of(found)
            yield raw_of(found)
        else:
            yield from translation(found, source, line or source[:40])


def translation(tokens: list[NamedToken], source: str, where: str) -> Walk:
    """The translation of a message, or each of its plural forms."""
    start = tokens[0]
    plain = all(one.name in ("", "translation", "numerusform") for one in tokens)  # no bytes, no lengths
    if start.attributes.get("type") in GONE or not plain:
        yield raw_of(tokens)
        return
    if not any(one.name == "numerusform" for one in tokens):
        answer = yield from ask(source, where, text_of(tokens) or None)
        yield raw_of(tokens) if answer is None else opened(start.raw) + escaped(answer) + closed(start)
        return
    yield start.raw
    rest, form = iter(tokens[1:]), 0
    for token in rest:
        if token.kind != "start":
            yield token.raw
            continue
        found = element(token, rest)
        answer = yield from ask(source, f"{where}, form {form}", text_of(found) or None)
        yield raw_of(found) if answer is None else opened(token.raw) + escaped(answer) + closed(token)
        form += 1


def text_of(tokens: list[NamedToken]) -> str:
    """The text of an element."""
    return "".join(token.text for token in tokens if token.kind == "text")
