"""XML as a stream of events in bounded memory, and never more than the file itself says.

Entities that a file declares are refused, so there is nothing to expand; what stands outside the file (a DTD,
an external entity) is never opened.
"""

from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import Literal, NamedTuple
from xml.parsers import expat

from jumok.errors import DataError
from jumok.formats.units import MOST_TEXT

MOST_MARKUP = 8 << 20  # bytes of a single tag or comment
MOST_DEPTH = 200
HINT = "export the file again, or look at that place with a text editor"


class XmlEvent(NamedTuple):
    """A tag that begins or ends, or the text between two; `name` is without a namespace's prefix."""

    kind: Literal["start", "end", "text"]
    name: str
    attributes: dict[str, str]
    line: int

    def attribute(self, *names: str) -> str:
        """The first of these attributes that there is, or ""."""
        return next((self.attributes[name] for name in names if name in self.attributes), "")


class XmlEventStream:
    """Takes in bytes and hands out events."""

    def __init__(self, name: str) -> None:
        self.name, self.events, self.depth, self.fed = name, list[XmlEvent](), 0, 0
        self.broken: DataError | None = None
        parser = self.parser = expat.ParserCreate()
        parser.buffer_text = True
        parser.StartElementHandler = self.start
        parser.EndElementHandler = self.end
        parser.CharacterDataHandler = self.text
        parser.EntityDeclHandler = self.refuse_entity
        parser.SkippedEntityHandler = self.refuse_unknown

    def feed(self, block: bytes, *, last: bool = False) -> list[XmlEvent]:
        """The events that end in this block; those before a fault, which is then in `broken`."""
        self.events, self.fed = [], self.fed + len(block)
        try:
            self.parser.Parse(block, last)
        except expat.ExpatError as error:
            what = expat.errors.messages.get(error.code, "unreadable")
            where = f"{self.name}:{error.lineno}:{error.offset + 1}"
            self.broken = DataError(f"not well-formed XML: {what}", where=where, hint=HINT, code="bad_xml")
        except DataError as error:
            self.broken = error
        except (LookupError, ValueError) as error:
            self.broken = self.fault(f"the encoding of the XML cannot be read: {error}")
        if self.fed - self.parser.CurrentByteIndex > MOST_MARKUP and not self.broken:
            self.broken = self.fault(f"a tag or comment of more than {MOST_MARKUP >> 20} MiB")
        return self.events

    def start(self, name: str, attributes: dict[str, str]) -> None:
        self.depth += 1
        if self.depth > MOST_DEPTH:
            raise self.fault(f"more than {MOST_DEPTH} tags inside one another")
        self.add("start", name, attributes)

    def end(self, name: str) -> None:
        self.depth -= 1
        self.add("end", name, {})

    def text(self, text: str) -> None:
        self.events.append(XmlEvent("text", text, {}, self.parser.CurrentLineNumber))

    def add(self, kind: Literal["start", "end"], name: str, attributes: dict[str, str]) -> None:
        local = name.rpartition(":")[2]
        self.events.append(XmlEvent(kind, local, attributes, self.parser.CurrentLineNumber))

    def refuse_entity(self, name: str, *_: object) -> None:
        raise self.fault(
            f"the file declares an entity, &{name};", "entities are not read: write the text out"
        )

    def refuse_unknown(self, name: str, *_: object) -> None:
        raise self.fault(f"&{name}; is not declared", "write the character itself, or its number: &#160;")

    def fault(self, message: str, hint: str = HINT) -> DataError:
        where = f"{self.name}:{self.parser.CurrentLineNumber}:{self.parser.CurrentColumnNumber + 1}"
        return DataError(message, where=where, hint=hint, code="bad_xml")


def xml_events(blocks: Iterable[bytes], name: str, root: str) -> Iterator[XmlEvent]:
    """The events of a file whose first tag must be `root`."""
    stream, first = XmlEventStream(name), True
    for event in _all_events(stream, blocks):
        if first and event.name != root:
            message = f"the file begins with <{event.name[:40]}>, not with <{root}>"
            raise DataError(
                message, where=f"{name}:{event.line}", hint="is it another format?", code="bad_xml"
            )
        first = False
        yield event


def _all_events(stream: XmlEventStream, blocks: Iterable[bytes]) -> Iterator[XmlEvent]:
    for block in chain(blocks, [None]):
        yield from stream.feed(block or b"", last=block is None)
        if stream.broken is not None:
            raise stream.broken


class TextCollector:
    """The text inside one element, without the codes of another format that stand between."""

    def __init__(self, codes: frozenset[str], fault: Callable[[str], DataError]) -> None:
        self.codes, self.fault, self.parts, self.hidden, self.size = codes, fault, list[str](), 0, 0

    def take(self, event: XmlEvent) -> None:
        """An event inside the element."""
        if event.kind == "text" and not self.hidden:
            self.size += len(event.name)
            if self.size > MOST_TEXT:
                raise self.fault(f"a text of more than {MOST_TEXT:,} characters")
            self.parts.append(event.name)
        elif event.kind != "text" and event.name in self.codes:
            self.hidden += 1 if event.kind == "start" else -1
        elif event.kind == "start" and event.name == "cp":  # XLIFF 2: a character that XML cannot hold
            self.parts.append(" ")

    @property
    def text(self) -> str:
        return "".join(self.parts)
