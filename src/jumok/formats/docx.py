"""Word documents: paragraphs of the text, of headers and footers, notes, comments and text boxes.

Deleted text of tracked changes stays as it is, inserted text is translated; fields, pictures and formulas are
points in the text, and every part that has no paragraphs is copied.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import IO, ClassVar

from jumok.errors import DataError
from jumok.formats.ooxml import RunDialect, content_types, walk_part
from jumok.formats.package import Package, PartWalk, segments_in, write_package
from jumok.formats.segments import Languages, MarkedText, Segment
from jumok.formats.walk import Walk
from jumok.formats.word_fields import join_fields
from jumok.formats.xml_stream import XmlStream, escaped


def write_run(prefix: str, text: str, format: str) -> str:
    """A run; line breaks and tabs are elements."""
    signs = {"\n": f"<{prefix}br/>", "\t": f"<{prefix}tab/>"}
    parts = [
        signs.get(part) or f'<{prefix}t xml:space="preserve">{escaped(part)}</{prefix}t>'
        for part in re.split("([\n\t])", text)
        if part
    ]
    return f"<{prefix}r>{format}{''.join(parts)}</{prefix}r>"


WORD = RunDialect(
    blocks=frozenset({"w:p"}),
    run="w:r",
    format="w:rPr",
    text="w:t",
    write=write_run,
    characters={"w:br": "\n", "w:cr": "\n", "w:tab": "\t", "w:noBreakHyphen": "\u2011"},
    holders=frozenset({"w:hyperlink", "w:ins", "w:moveTo", "w:smartTag", "w:dir", "w:bdo"}),
    controls=("w:sdt", "w:sdtContent"),
    first=frozenset({"w:pPr"}),
    dropped=frozenset({"w:proofErr", "w:lastRenderedPageBreak"}),
    no_difference=r"<(?:\w+:)?(?:lang|noProof)\b[^>]*/>",
    arranged=join_fields,
)
TEXTS = re.compile(
    r"(wordprocessingml|ms-word)\."
    r"(document(\.macroEnabled)?\.main|template(\.macroEnabledTemplate)?\.main|document\.glossary"
    r"|header|footer|footnotes|endnotes|comments)\+xml$"
)
LEFT = frozenset({"w:del", "w:moveFrom"})


@dataclass(frozen=True)
class DocxFormat:
    """Word documents, templates too, with or without macros."""

    languages: Languages = Languages()
    name: ClassVar[str] = "docx"
    suffixes: ClassVar[tuple[str, ...]] = (".docx", ".docm", ".dotx", ".dotm")

    def read(self, path: Path) -> Iterator[Segment]:
        """The paragraphs of a document."""
        return segments_in(path, self.parts)

    def write(self, path: Path, out: IO[bytes], answers: Iterator[MarkedText | None]) -> None:
        """The document with other paragraphs."""
        write_package(path, out, answers, self.parts)

    def parts(self, package: Package) -> dict[str, PartWalk]:
        """The parts with text, and styles, which say the language. DataError: this is no Word document."""
        kinds, language = content_types(package), said_language(self.languages.target)
        texts = [name for name, kind in kinds.items() if TEXTS.search(kind)]
        if not texts:
            raise DataError(
                "no Word document inside",
                where=str(package.path),
                hint="name its --format",
                code="wrong_format",
            )
        walk: PartWalk = partial(walk_part, replace(WORD, language=language), left=LEFT)
        styles = [name for name, kind in kinds.items() if kind.endswith(".styles+xml")] if language[1] else []
        return dict.fromkeys(texts, walk) | dict.fromkeys(styles, partial(walk_styles, language))


def said_language(target: str) -> tuple[str, str]:
    """Where Word says the language of text that the spelling is checked of, and what is written there."""
    base = target.lower()[:2]
    kind = "eastAsia" if base in ("ja", "ko", "zh") else "bidi" if base in ("ar", "fa", "he", "ur") else "val"
    return (
        rf"""(<(?:\w+:)?lang\b[^>]*?\b{kind}=)(["'])[^"']*\2""" if target else "(?!)",
        rf"\g<1>\g<2>{target}\g<2>" if target else "",
    )


def walk_styles(language: tuple[str, str], reader: XmlStream, name: str) -> Walk:
    """Styles: the same but for the language that they say."""
    del name
    for token in reader:
        yield re.sub(*language, token.raw) if token.name == "w:lang" else token.raw
