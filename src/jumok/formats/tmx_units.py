"""TMX as a corpus: units with a text in each of several languages."""

from collections.abc import Iterable, Iterator

from jumok.errors import DataError
from jumok.formats.tmx import language_of, variants_of
from jumok.formats.units import NamedTexts
from jumok.formats.xml_units import CorpusXml, Element, child, children, collect, language_tag, text_of

CODES = frozenset({"bpt", "ept", "it", "ph", "ut"})
"""Inline elements that hold markup of the original, which is no text; `hi` holds text."""


def read_tmx(blocks: Iterable[bytes], name: str) -> Iterator[NamedTexts]:
    """The units of a file, each a text by language, the file's source language first.

    DataError: the XML is broken from some place on.
    """
    reader, number, source = CorpusXml(name, blocks), 0, ""
    tokens = reader.tokens_below("tmx")
    for token in tokens:
        if token.kind != "start":
            continue
        if token.local == "header":
            source = language_tag(token.attributes.get("srclang", ""))
        elif token.local == "tu":
            number += 1
            yield unit_of(collect(token, tokens, reader), number, source, reader)


def unit_of(element: Element, number: int, source: str, reader: CorpusXml) -> NamedTexts:
    """The texts of a `<tu>`."""
    texts, fault = dict[str, str](), None

    def bad(message: str, line: int) -> DataError:
        where = f"{reader.path}, unit {number} (line {line})"
        hint = 'a unit is <tu><tuv xml:lang="en"><seg>…</seg></tuv>…</tu>'
        return DataError(message, where=where, hint=hint, code="bad_unit")

    for variant in variants_of(children(element)):
        language, line = language_tag(language_of(variant)), variant[0].line
        segment = child(children(variant), "seg")
        if segment is None:
            continue
        if not language or language in texts:
            message = f"two texts in {language}" if language else "a text without xml:lang"
            fault = fault or bad(message, line)
        texts[language] = text_of(segment, CODES, reader, bad)
    first = {source: texts[source]} if source in texts else {}
    return NamedTexts(number, first | texts, fault)
