"""TMX: translation memories, streamed; an entry without the target language gets it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar
from xml.sax.saxutils import quoteattr

from jumok.errors import ConfigError, DataError
from jumok.formats.segments import MarkedText, Segment
from jumok.formats.spliced import Hole, Piece, SplicedFormat
from jumok.formats.xml_inline import Role, content, inline_of, opened, xml_of
from jumok.formats.xml_tokens import XmlReader, XmlToken
from jumok.formats.xml_units import Element, base, child, children, collect, raw_of, space_before

MOST_NAMED = 10  # languages in an error
ROLES: Mapping[str, Role] = {"hi": "pair", "bpt": "begin", "ept": "end"}


@dataclass(frozen=True)
class TmxFormat(SplicedFormat):
    """The variant in the model's source language is translated into its target language."""

    name: ClassVar[str] = "tmx"
    suffixes: ClassVar[tuple[str, ...]] = (".tmx",)

    def pieces(self, path: Path) -> Iterator[Piece]:
        """Entries as holes; everything else is as it was."""
        if not self.languages.target:
            raise ConfigError(
                "this model does not say which language it writes, and a TMX entry must",
                hint="train it with data.target_language, or translate another format",
            )
        reader, found = XmlReader(path), False
        tokens = reader.tokens()
        source, others, readable = self.languages.source, set[str](), False
        for token in tokens:
            found = found or (token.kind == "start" and token.local == "tmx")
            if token.kind == "start" and token.local == "header" and not source:
                source = token.attributes.get("srclang", "")
            if token.kind == "start" and token.local == "tu":
                entry = Entry(collect(token, tokens, reader), reader, source, self.languages.target)
                piece = entry.piece()
                readable = readable or isinstance(piece, Hole)
                if not readable and len(others) < MOST_NAMED:
                    others |= {base(language_of(one)) for one in variants_of(children(entry.element))}
                yield piece
            else:
                yield token.raw
        if not found:
            raise reader.broken(
                "there is no <tmx> in the file", 1, "is it another format? Name it with --format"
            )
        if others and not readable:
            theirs = ", ".join(sorted(others))
            raise DataError(
                f"no entry has a text in {source}, which the model reads; they are in {theirs}",
                where=str(path),
                hint="translate it with a model that reads one of these",
            )


@dataclass(frozen=True)
class Entry:
    """A `<tu>`: one text in several languages."""

    element: Element
    reader: XmlReader
    source: str
    target: str

    def variant(self, parts: Sequence[XmlToken | Element], language: str) -> Element | None:
        """The variant of a language, the same region first; of "*all*" or an unknown one the first."""
        variants = variants_of(parts)
        if language in ("", "*all*"):
            return variants[0] if variants else None
        fitting = [one for one in variants if base(language_of(one)) == base(language)]
        same = [one for one in fitting if language_of(one).lower() == language.lower()]
        return next(iter(same + fitting), None)

    def piece(self) -> Piece:
        """A hole, or the bytes of an entry without the source language."""
        raw, parts = raw_of(self.element), children(self.element)
        variant = self.variant(parts, self.source)
        segment = child(children(variant), "seg") if variant else None
        if segment is None:
            return raw
        known, other = None, self.variant(parts, self.target)
        if other is not None and (text := child(children(other), "seg")):
            found = inline_of(content(text), self.reader, ROLES)
            known = found if found.text.strip() else None
        marked = inline_of(content(segment), self.reader, ROLES)
        return Hole(Segment(marked, f"line {self.element[0].line}", known), raw, self.fill)

    def fill(self, answer: MarkedText) -> bytes:
        """The entry with this text in the target language."""
        parts = children(self.element)
        old, like = self.variant(parts, self.target), self.variant(parts, self.source)
        text, encode = xml_of(answer), self.reader.encode
        written = [self.element[0].raw]
        for part in parts:
            written.append(self.rewritten(old, text) if old and part is old else raw_of(part))
            if like and old is None and part is like:
                said = prop_of(answer)
                new = f"<tuv xml:lang={quoteattr(self.target)}>{said}<seg>{text}</seg></tuv>"
                written += [space_before(parts, like), encode(new)]
        return b"".join([*written, self.element[-1].raw])

    def rewritten(self, variant: Element, text: str) -> bytes:
        """A variant that was there, with another text."""
        parts, encode = children(variant), self.reader.encode
        segment = child(parts, "seg")
        begin, end = opened(variant[0], self.reader).raw, encode(f"</{variant[0].name}>")
        if segment is None:
            return b"".join([begin, *map(raw_of, parts), encode(f"<seg>{text}</seg>"), end])
        new = opened(segment[0], self.reader).raw + encode(f"{text}</{segment[0].name}>")
        return b"".join([begin, *(new if part is segment else raw_of(part) for part in parts), end])


def prop_of(answer: MarkedText) -> str:
    """How sure the model is of a text, if it says so."""
    if answer.confidence is None:
        return ""
    return f'<prop type="x-confidence">{answer.confidence:.2f}</prop>'


def variants_of(parts: Sequence[XmlToken | Element]) -> list[Element]:
    """An entry's text in each language."""
    elements = [one for one in parts if not isinstance(one, XmlToken)]
    return [one for one in elements if one[0].local == "tuv"]


def language_of(variant: Element) -> str:
    """The language of a variant; before TMX 1.4 the attribute had no prefix."""
    return variant[0].attributes.get("xml:lang") or variant[0].attributes.get("lang", "")
