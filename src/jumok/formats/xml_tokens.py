"""XML as a stream of tokens with the bytes that they were written with, in bounded memory.

Nothing outside the file is ever read, and a file that declares entities is refused: expanding them is how a
small file becomes a large one, or someone else's. What is not changed can be written back byte by byte.
"""

from collections.abc import Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from types import MappingProxyType
from typing import Literal, NamedTuple, Protocol
from xml.parsers import expat

from jumok.errors import DataError
from jumok.formats.encoding import encoding_of

CHUNK = 1 << 16
MOST_DEPTH = 1000
MOST_MARKUP = 16 << 20
"""Bytes of a single tag or comment."""
NO_ATTRIBUTES: Mapping[str, str] = MappingProxyType({})
Kind = Literal["start", "end", "text", "cdata", "other"]


class SupportsRead(Protocol):
    """Bytes that come one after another."""

    def read(self, size: int, /) -> bytes:
        """The next ones; none at the end."""
        ...


class XmlToken(NamedTuple):
    """A tag, a stretch of text, or anything else: comments, declarations, references that nobody knows."""

    kind: Kind
    line: int
    raw: bytes = b""
    """As it stands in the file; of `<a/>` all belongs to the start, and nothing to the end."""
    name: str = ""
    attributes: Mapping[str, str] = NO_ATTRIBUTES
    text: str = ""
    """Of text, with references resolved."""

    @property
    def local(self) -> str:
        """The name without its prefix."""
        return self.name.rpartition(":")[2]


class XmlReader:
    """One pass through a file. `encoding` is known when the first token has been given.

    `file` is read instead of what is at `path`, which names it then: a part of a zip file. With `namespaces`
    names are `ADDRESS NAME`, and entities are allowed, because they stay as they are written.
    """

    def __init__(
        self,
        path: Path | str,
        file: SupportsRead | None = None,
        *,
        namespaces: bool = False,
        depth: int = MOST_DEPTH,
    ) -> None:
        self.path, self._file, self._namespaces, self._deepest = path, file, namespaces, depth
        self.encoding = "utf-8"
        self._mark = ""
        self._found: list[FoundToken] = []
        self._fault: DataError | None = None
        self._depth = 0

    def tokens(self) -> Iterator[XmlToken]:
        """Everything in the file, in order; the raw bytes of all tokens together are the file."""
        if self._file is not None:
            yield from self._tokens(self._file)
            return
        with Path(self.path).open("rb") as file:
            yield from self._tokens(file)

    def _tokens(self, file: SupportsRead) -> Iterator[XmlToken]:
        """Those before a fault, and then the fault."""
        parser = self._parser()
        waiting, first = b"", 0  # bytes that no finished token has, and where they stand in the file
        while True:
            chunk = file.read(CHUNK)
            if not first and not waiting:
                self._begin(chunk[:4])
            self._parse(parser, chunk)
            waiting += chunk
            found = self._found
            if self._fault:
                found.append(nothing(max([parser.CurrentByteIndex, *(one[0] for one in found[-1:])])))
            elif not chunk:
                found.append(nothing(first + len(waiting)))
            if found and found[0][0] > first:
                found.insert(0, nothing(first))
            for (begin, kind, line, name, attributes, text), (end, *_) in pairwise(found):
                yield XmlToken(kind, line, waiting[begin - first : end - first], name, attributes, text)
            if self._fault:
                raise self._taken_fault()
            if found:
                last = found[-1][0]
                waiting, first = waiting[last - first :], last
                del found[:-1]
            if not chunk:
                return
            if len(waiting) > MOST_MARKUP:
                size = f"a tag or comment of more than {MOST_MARKUP >> 20} MiB"
                raise self.broken(size, parser.CurrentLineNumber, HINT)

    def _taken_fault(self) -> DataError:
        """The fault, which is kept no longer: it knows the frames that it passes, and those know us."""
        fault, self._fault = self._fault, None
        assert fault is not None
        return fault

    def decode(self, raw: bytes) -> str:
        """Bytes of the file as text."""
        return raw.decode(self.encoding)

    def encode(self, text: str) -> bytes:
        """Text as bytes of the file; what its encoding has not becomes a reference."""
        return text.encode(self.encoding, "xmlcharrefreplace")

    def broken(self, message: str, line: int, hint: str = "") -> DataError:
        """An error in this file."""
        return DataError(message, where=f"{self.path}, line {line}", hint=hint, code="bad_xml")

    def _begin(self, beginning: bytes) -> None:
        found = encoding_of(beginning)
        wide = {b"<\0": "utf-16-le", b"\0<": "utf-16-be"}.get(beginning[:2], "")  # without a mark
        self._mark = found.name if found.mark else wide
        self.encoding = wide or found.name

    def _parse(self, parser: expat.XMLParserType, chunk: bytes) -> None:
        try:
            parser.Parse(chunk, not chunk)
        except expat.ExpatError as error:
            reason = expat.ErrorString(error.code)
            message = f"the XML is broken: {reason}, column {error.offset + 1}"
            if error.code == EMPTY and not parser.CurrentByteIndex > 0:
                message = "the file is empty, or has no XML in it"
            self._fault = self.broken(message, error.lineno, HINT)
        except (LookupError, ValueError) as error:
            self._fault = self.broken(f"cannot read the XML: {error}", 1, "save it as UTF-8")
        except DataError as error:  # of a handler
            self._fault = error

    def _parser(self) -> expat.XMLParserType:
        parser = expat.ParserCreate(namespace_separator=" " if self._namespaces else None)

        found = self._found

        def add(
            kind: Kind, name: str = "", attributes: Mapping[str, str] = NO_ATTRIBUTES, text: str = ""
        ) -> None:
            found.append((parser.CurrentByteIndex, kind, parser.CurrentLineNumber, name, attributes, text))

        def add_text(text: str) -> None:
            found.append((parser.CurrentByteIndex, "text", parser.CurrentLineNumber, "", NO_ATTRIBUTES, text))

        def start(name: str, attributes: dict[str, str]) -> None:
            self._depth += 1
            if self._depth > self._deepest:
                message = f"elements are nested more than {self._deepest} deep"
                raise self.broken(message, parser.CurrentLineNumber, HINT)
            add("start", name, attributes)

        def end(name: str) -> None:
            self._depth -= 1
            add("end", name)

        def declared(version: str, encoding: str | None, standalone: int) -> None:
            add("other")
            if not self._mark:
                self.encoding = (encoding or "utf-8").lower()

        def entity(name: str, *_: object) -> None:
            raise self.broken(
                f"the file declares an entity, {name!r}: that is refused",
                parser.CurrentLineNumber,
                "write what it stands for instead, and take the declaration out",
            )

        parser.StartElementHandler, parser.EndElementHandler = start, end
        parser.CharacterDataHandler = add_text
        parser.StartCdataSectionHandler = parser.EndCdataSectionHandler = lambda: add("cdata")
        parser.DefaultHandler = lambda _: add("other")
        parser.XmlDeclHandler = declared
        parser.EntityDeclHandler = None if self._namespaces else entity
        return parser


FoundToken = tuple[int, Kind, int, str, Mapping[str, str], str]
"""A token without its bytes: where they begin comes first."""


def nothing(place: int) -> FoundToken:
    """What only says where another token ends, or what stands before the first."""
    return place, "other", 1, "", NO_ATTRIBUTES, ""


HINT = "correct the file: it is not read any further"
EMPTY = expat.errors.codes[expat.errors.XML_ERROR_NO_ELEMENTS]
