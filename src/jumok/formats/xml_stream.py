"""XML by names that mean the same in every file, as strings: for parts of packages, and for resources.

An entity that a file declares is not replaced by its content, so that none can grow; it stays as it stands.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from xml.sax.saxutils import escape

from jumok.formats.xml_tokens import Kind, SupportsRead, XmlReader

MOST_DEPTH = 200
"""Elements inside each other; documents have a few dozen."""
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

    kind: Kind
    raw: str = ""
    """As the file has it. `<a/>` is a start, and an end that is empty."""
    name: str = ""
    text: str = ""
    attributes: dict[str, str] = field(default_factory=dict)


class XmlStream:
    """The tokens of one XML file; `where` names it in errors."""

    def __init__(self, file: SupportsRead, where: str) -> None:
        self._reader = XmlReader(where, file, namespaces=True, depth=MOST_DEPTH)
        self._names: dict[str, str] = {}

    def __iter__(self) -> Iterator[NamedToken]:
        for token in self._reader.tokens():
            try:
                raw = self._reader.decode(token.raw)
            except (LookupError, ValueError) as error:
                raise self._reader.broken(
                    f"cannot read the XML: {error}", token.line, "save it as UTF-8"
                ) from None
            attributes = {self._name(key): value for key, value in token.attributes.items()}
            yield NamedToken(token.kind, raw, self._name(token.name), token.text, attributes)

    def use(self, encoding: str) -> None:
        """What is written has this encoding: of a part that is read as something else than XML."""
        self._reader.encoding = encoding

    def encode(self, text: str) -> bytes:
        """Text in the encoding of the file; a character that it lacks is written by its number."""
        return self._reader.encode(text)

    def _name(self, name: str) -> str:
        if (short := self._names.get(name)) is None:
            space, gap, local = name.rpartition(" ")
            short = self._names[name] = f"{NAMESPACES.get(space, space)}:{local}" if gap else local
        return short


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
    name = start.raw[1:].split()[0].rstrip("/>")
    return name.partition(":")[0] + ":" if ":" in name else ""


def escaped(text: str) -> str:
    """Text as XML may have it; a character that XML cannot have becomes a space."""
    if not _TEXT_ONLY.fullmatch(text):
        text = "".join(character if _TEXT_ONLY.fullmatch(character) else " " for character in text)
    return escape(text).replace("\r", "&#13;")
