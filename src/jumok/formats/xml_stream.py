"""XML as a stream of tokens that know their own spelling: put together again they are the file.

expat reads a piece at a time. It fetches nothing from outside, and an entity that a file declares is not
replaced by its content, so that none can grow; it stays in the file as it stands.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import IO, Literal
from xml.parsers import expat
from xml.sax.saxutils import escape

from jumok.errors import DataError

CHUNK = 1 << 16
NAMESPACES = {
    "http://schemas.openxmlformats.org/wordprocessingml/2006/main": "w",
    "http://purl.oclc.org/ooxml/wordprocessingml/main": "w",
    "http://schemas.openxmlformats.org/drawingml/2006/main": "a",
    "http://purl.oclc.org/ooxml/drawingml/main": "a",
    "http://schemas.openxmlformats.org/spreadsheetml/2006/main": "x",
    "http://purl.oclc.org/ooxml/spreadsheetml/main": "x",
    "http://schemas.openxmlformats.org/presentationml/2006/main": "p",
    "http://purl.oclc.org/ooxml/presentationml/main": "p",
    "urn:oasis:names:tc:opendocument:xmlns:office:1.0": "office",
    "urn:oasis:names:tc:opendocument:xmlns:text:1.0": "text",
    "urn:oasis:names:tc:opendocument:xmlns:table:1.0": "table",
    "urn:oasis:names:tc:opendocument:xmlns:style:1.0": "style",
    "urn:oasis:names:tc:opendocument:xmlns:manifest:1.0": "manifest",
    "http://www.w3.org/XML/1998/namespace": "xml",
    "http://purl.org/dc/elements/1.1/": "dc",
    "http://www.idpf.org/2007/opf": "opf",
    "urn:oasis:names:tc:xliff:document:1.2": "xliff",
}
"""The names that we give to namespaces, whatever a file calls them; of others the address is the name."""
_TEXT_ONLY = re.compile("[^\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]*")


@dataclass(frozen=True, slots=True)
class NamedToken:
    """A tag, a stretch of text, or anything else: a comment, a declaration, a mark of CDATA, an entity."""

    kind: Literal["start", "end", "text", "other"]
    raw: str = ""
    """As the file has it. `<a/>` is a start, and an end that is empty."""
    name: str = ""
    text: str = ""
    attributes: dict[str, str] = field(default_factory=dict)


class XmlStream:
    """The tokens of one XML file; `where` names it in errors."""

    def __init__(self, file: IO[bytes], where: str) -> None:
        self._file, self._where = file, where
        self.encoding = "utf-8"
        self._names: dict[str, str] = {}
        self._ready: list[NamedToken] = []
        self._buffer, self._offset = b"", 0  # bytes that may still belong to a token, and where they begin
        self._begun, self._pending = 0, NamedToken("other")
        self._parser = expat.ParserCreate(namespace_separator=" ")
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = lambda name: self._event(NamedToken("end", name=self._name(name)))
        self._parser.CharacterDataHandler = lambda text: self._event(NamedToken("text", text=text))
        self._parser.DefaultHandler = lambda _: self._event(NamedToken("other"))
        self._parser.XmlDeclHandler = self._declaration

    def __iter__(self) -> Iterator[NamedToken]:
        final = False
        while not final:
            chunk = self._file.read(CHUNK)
            final = not chunk
            if self._offset == 0 and not self._buffer:
                self.encoding = _wide(chunk) or self.encoding
            self._buffer += chunk
            try:
                self._parser.Parse(chunk, final)
                if final:
                    self._finish(self._offset + len(self._buffer))
            except expat.ExpatError as error:
                raise self._broken(expat.ErrorString(error.code) or "unknown", error.lineno) from None
            except (ValueError, LookupError) as error:  # an encoding that nobody knows, or wrong bytes
                raise self._broken(str(error), self._parser.CurrentLineNumber) from None
            yield from self._ready
            self._ready.clear()
            self._buffer = self._buffer[self._begun - self._offset :]
            self._offset = self._begun

    def line(self) -> int:
        """About where we are: the line of the last token that has been read ahead."""
        return self._parser.CurrentLineNumber

    def encode(self, text: str) -> bytes:
        """Text in the encoding of the file; a character that it lacks is written by its number."""
        return text.encode(self.encoding, "xmlcharrefreplace")

    def _broken(self, reason: str, line: int) -> DataError:
        return DataError(
            f"broken XML: {reason}",
            where=f"{self._where}, line {line}",
            hint="save the file again",
            code="broken_xml",
        )

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        named = {self._name(key): value for key, value in attributes.items()}
        self._event(NamedToken("start", name=self._name(name), attributes=named))

    def _declaration(self, version: str, encoding: str | None, standalone: int) -> None:
        del version, standalone
        if encoding and self.encoding == "utf-8":
            self.encoding = encoding
        self._event(NamedToken("other"))

    def _name(self, name: str) -> str:
        if (short := self._names.get(name)) is None:
            space, gap, local = name.rpartition(" ")
            short = self._names[name] = f"{NAMESPACES.get(space, space)}:{local}" if gap else local
        return short

    def _event(self, token: NamedToken) -> None:
        self._finish(self._parser.CurrentByteIndex)
        self._pending = token

    def _finish(self, until: int) -> None:
        """The token that was pending ends where the next begins."""
        raw = self._buffer[self._begun - self._offset : until - self._offset].decode(self.encoding)
        one = self._pending
        if raw or one.kind != "other":
            self._ready.append(NamedToken(one.kind, raw, one.name, one.text, one.attributes))
        self._begun = until


def _wide(beginning: bytes) -> str | None:
    """UTF-16 by its mark or its first character."""
    if beginning.startswith((b"\xff\xfe", b"<\0")):
        return "utf-16-le"
    return "utf-16-be" if beginning.startswith((b"\xfe\xff", b"\0<")) else None


def element(start: NamedToken, tokens: Iterator[NamedToken]) -> list[NamedToken]:
    """All tokens of an element, whose first one has been taken."""
    found, depth = [start], 1
    while depth:
        token = next(tokens)
        depth += (token.kind == "start") - (token.kind == "end")
        found.append(token)
    return found


def recorded(tokens: Iterator[NamedToken], seen: list[str]) -> Iterator[NamedToken]:
    """The same tokens; what the file has for them is put into `seen` as they are taken."""
    for token in tokens:
        seen.append(token.raw)
        yield token


def raw_of(found: list[NamedToken]) -> str:
    """Tokens as the file has them."""
    return "".join(token.raw for token in found)


def prefix_of(start: NamedToken) -> str:
    """What the file puts before the names of this namespace: `w:`, or nothing."""
    name = start.raw[1:].split(None, 1)[0].rstrip("/>")
    return name.partition(":")[0] + ":" if ":" in name else ""


def escaped(text: str) -> str:
    """Text as XML may have it; a character that XML cannot have becomes a space."""
    if not _TEXT_ONLY.fullmatch(text):
        text = "".join(character if _TEXT_ONLY.fullmatch(character) else " " for character in text)
    return escape(text).replace("\r", "&#13;")
