"""XML as a stream of tokens with the bytes that they were written with, in bounded memory.

Nothing outside the file is ever read, and a file that declares entities is refused: expanding them is how a
small file becomes a large one, or someone else's. What is not changed can be written back byte by byte.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal, Protocol
from xml.parsers import expat

from jumok.errors import DataError
from jumok.formats.encoding import encoding_of

CHUNK = 1 << 16
MOST_DEPTH = 1000
Kind = Literal["start", "end", "text", "cdata", "other"]


class SupportsRead(Protocol):
    """Bytes that come one after another."""

    def read(self, size: int, /) -> bytes:
        """The next ones; none at the end."""
        ...


@dataclass(frozen=True, slots=True)
class XmlToken:
    """A tag, a stretch of text, or anything else: comments, declarations, references that nobody knows."""

    kind: Kind
    line: int
    raw: bytes = b""
    """As it stands in the file; of `<a/>` all belongs to the start, and nothing to the end."""
    name: str = ""
    attributes: Mapping[str, str] = field(default_factory=dict)
    text: str = ""
    """Of text, with references resolved."""

    @property
    def local(self) -> str:
        """The name without its prefix."""
        return self.name.rsplit(":", 1)[-1]


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
        self._found: list[tuple[int, XmlToken]] = []
        self._depth = 0

    def tokens(self) -> Iterator[XmlToken]:
        """Everything in the file, in order; the raw bytes of all tokens together are the file."""
        if self._file is not None:
            yield from self._tokens(self._file)
            return
        with Path(self.path).open("rb") as file:
            yield from self._tokens(file)

    def _tokens(self, file: SupportsRead) -> Iterator[XmlToken]:
        parser = self._parser()
        waiting, first = b"", 0  # bytes that no finished token has, and where they stand in the file
        while True:
            chunk = file.read(CHUNK)
            if not first and not waiting:
                self._begin(chunk[:4])
            self._parse(parser, chunk)
            waiting += chunk
            found = self._found
            if not chunk:
                found.append((first + len(waiting), XmlToken("other", 0)))
            if found and found[0][0] > first:
                found.insert(0, (first, XmlToken("other", 1)))
            for (begin, token), (end, _) in zip(found, found[1:], strict=False):
                yield replace(token, raw=waiting[begin - first : end - first])
            if found:
                last = found[-1][0]
                waiting, first = waiting[last - first :], last
                del found[:-1]
            if not chunk:
                return

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
            raise self.broken(message, error.lineno, "correct the file: it is not read any further") from None
        except (LookupError, ValueError) as error:
            raise self.broken(f"cannot read the XML: {error}", 1, "save it as UTF-8") from None

    def _parser(self) -> expat.XMLParserType:
        parser = expat.ParserCreate(namespace_separator=" " if self._namespaces else None)

        def add(
            kind: Kind, name: str = "", attributes: Mapping[str, str] | None = None, text: str = ""
        ) -> None:
            token = XmlToken(kind, parser.CurrentLineNumber, b"", name, attributes or {}, text)
            self._found.append((parser.CurrentByteIndex, token))

        def start(name: str, attributes: dict[str, str]) -> None:
            self._depth += 1
            if self._depth > self._deepest:
                message = f"elements are nested more than {self._deepest} deep"
                raise self.broken(message, parser.CurrentLineNumber)
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
        parser.CharacterDataHandler = lambda text: add("text", text=text)
        parser.StartCdataSectionHandler = parser.EndCdataSectionHandler = lambda: add("cdata")
        parser.DefaultHandler = lambda _: add("other")
        parser.XmlDeclHandler = declared
        parser.EntityDeclHandler = None if self._namespaces else entity
        return parser


EMPTY = expat.errors.codes[expat.errors.XML_ERROR_NO_ELEMENTS]
