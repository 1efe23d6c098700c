"""XLIFF 1.2 and 2: units with a source, and a target where someone has translated it."""

from collections.abc import Iterable, Iterator

from jumok.errors import DataError
from jumok.formats.tmx_units import language_tag
from jumok.formats.units import NamedTexts
from jumok.formats.xml_events import TextCollector, xml_events

CODES = frozenset({"bpt", "ept", "it", "ph"})
"""Inline elements of XLIFF 1.2 that hold markup of the original; those of 2 are empty."""
ASIDE = frozenset({"alt-trans", "seg-source", "ignorable", "matches", "notes", "originalData", "glossary"})
"""Elements whose sources and targets are proposals, copies or what stands between sentences."""
NOT_DONE = frozenset({"new", "needs-translation", "needs-l10n", "initial"})


def read_xliff(blocks: Iterable[bytes], name: str) -> Iterator[NamedTexts]:
    """The units (of XLIFF 2 the segments), each a text by language, source first; "" if it is not done.

    DataError: the XML is broken from some place on.
    """
    number, aside, done = 0, 0, True
    languages, texts = ["", ""], {"source": "", "target": ""}
    collector: TextCollector | None = None

    def bad(message: str) -> DataError:
        where = f"{name}, unit {number} (line {event.line})"
        hint = "a unit has a <source>, and a <target> with its translation"
        return DataError(message, where=where, hint=hint, code="bad_unit")

    for event in xml_events(blocks, name, "xliff"):
        match event.kind, event.name:
            case "end", "source" | "target" if collector:
                texts[event.name], collector = collector.text, None
            case _ if collector:
                collector.take(event)
            case _, place if place in ASIDE:
                aside += 1 if event.kind == "start" else -1
            case _ if aside:
                pass
            case "start", "xliff" | "file":
                found = language_tag(event, "source-language", "srcLang")
                other = language_tag(event, "target-language", "trgLang")
                languages = [found or languages[0], other or languages[1]]
            case "start", "trans-unit" | "segment":
                number, done = number + 1, event.attribute("state") not in NOT_DONE
                texts = {"source": "", "target": ""}
            case "start", "source" | "target":
                done = done and event.attribute("state") not in NOT_DONE
                collector = TextCollector(CODES, bad)
            case "end", "trans-unit" | "segment":
                yield NamedTexts(number, _by_language(languages, texts, done=done))


def _by_language(languages: list[str], texts: dict[str, str], *, done: bool) -> dict[str, str]:
    source, target = languages[0] or "source", languages[1] or "target"
    if source == target:
        source, target = "source", "target"
    return {source: texts["source"], target: texts["target"] if done else ""}
