"""TMX, translation memories: units with a text in each of several languages."""

from collections.abc import Iterable, Iterator

from jumok.errors import DataError
from jumok.formats.units import NamedTexts
from jumok.formats.xml_events import TextCollector, XmlEvent, xml_events

CODES = frozenset({"bpt", "ept", "it", "ph", "ut"})
"""Inline elements that hold markup of the original, which is no text; `hi` holds text."""


def read_tmx(blocks: Iterable[bytes], name: str) -> Iterator[NamedTexts]:
    """The units of a file, each a text by language, the file's source language first.

    DataError: the XML is broken from some place on.
    """
    number, source, language, texts = 0, "", "", dict[str, str]()
    fault: DataError | None = None
    collector: TextCollector | None = None

    def bad(message: str) -> DataError:
        where = f"{name}, unit {number} (line {event.line})"
        hint = 'a unit is <tu><tuv xml:lang="en"><seg>…</seg></tuv>…</tu>'
        return DataError(message, where=where, hint=hint, code="bad_unit")

    for event in xml_events(blocks, name, "tmx"):
        match event.kind, event.name:
            case "end", "seg" if collector:
                if language in texts:
                    fault = fault or bad(f"two texts in {language}")
                texts[language], collector = collector.text, None
            case _ if collector:
                collector.take(event)
            case "start", "header":
                source = language_tag(event, "srclang")
            case "start", "tu":
                number, texts, fault = number + 1, {}, None
            case "start", "tuv":
                language = language_tag(event, "xml:lang", "lang")
                fault = fault or (None if language else bad("a text without xml:lang"))
            case "start", "seg":
                collector = TextCollector(CODES, bad)
            case "end", "tu":
                yield NamedTexts(number, _source_first(texts, source), fault)


def language_tag(event: XmlEvent, *names: str) -> str:
    """A language as files write it, in small letters and with hyphens."""
    return event.attribute(*names).strip().lower().replace("_", "-")


def _source_first(texts: dict[str, str], source: str) -> dict[str, str]:
    return {source: texts[source], **texts} if source in texts else texts
