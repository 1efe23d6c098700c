"""XLIFF as a corpus: units with a source, and a target where someone has translated it."""

from collections.abc import Iterable, Iterator

from jumok.errors import DataError
from jumok.formats.units import NamedTexts
from jumok.formats.xliff import SIDES, is_done, parts_of
from jumok.formats.xml_tokens import XmlToken
from jumok.formats.xml_units import CorpusXml, Element, child, children, collect, language_tag, text_of

CODES = frozenset({"bpt", "ept", "it", "ph"})
"""Inline elements of XLIFF 1.2 that hold markup of the original; those of 2 are empty."""


def read_xliff(blocks: Iterable[bytes], name: str) -> Iterator[NamedTexts]:
    """The units (of XLIFF 2 the segments), each a text by language, source first; "" if it is not done.

    DataError: the XML is broken from some place on.
    """
    reader, number, languages = CorpusXml(name, blocks), 0, ("", "")
    tokens = reader.tokens_below("xliff")
    for token in tokens:
        if token.kind != "start":
            continue
        if token.local in SIDES:
            names = SIDES[token.local]
            source, target = (language_tag(token.attributes.get(one, "")) for one in names)
            languages = source or languages[0], target or languages[1]
        elif token.local in ("unit", "trans-unit"):
            for part in parts_of(collect(token, tokens, reader)):
                if not isinstance(part, XmlToken):
                    number += 1
                    yield NamedTexts(number, texts_of(part, languages, number, reader))


def texts_of(element: Element, languages: tuple[str, str], number: int, reader: CorpusXml) -> dict[str, str]:
    """The source and the target of a unit or a segment."""

    def bad(message: str, line: int) -> DataError:
        where = f"{reader.path}, unit {number} (line {line})"
        hint = "a unit has a <source>, and a <target> with its translation"
        return DataError(message, where=where, hint=hint, code="bad_unit")

    parts = children(element)
    source, target = child(parts, "source"), child(parts, "target")
    texts = [text_of(one, CODES, reader, bad) if one else "" for one in (source, target)]
    names = languages[0] or "source", languages[1] or "target"
    if names[0] == names[1]:
        names = "source", "target"
    return {names[0]: texts[0], names[1]: texts[1] if target and is_done(element, target) else ""}
