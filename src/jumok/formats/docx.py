"""Word documents: paragraphs of the text, of headers and footers, notes, comments and text boxes.

Deleted text of tracked changes stays as it is, inserted text is translated; fields, pictures and formulas are
points in the text, and every part that has no paragraphs is copied.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, ClassVar

from jumok.errors import DataError
from jumok.formats.ooxml import RunDialect, content_types, walk_part
from jumok.formats.package import Package, PartWalk, segments_in, write_package
from jumok.formats.segments import Languages, MarkedText, Segment
from jumok.formats.walk import Walk
from jumok.formats.xml_tokens import XmlReader

WORD = RunDialect(
    blocks=frozenset({"w:p"}),
    run="w:r",
    format="w:rPr",
    text="w:t",
    characters={"w:br": "\n", "w:cr": "\n", "w:tab": "\t", "w:noBreakHyphen": "\u2011"},
    holders=frozenset({"w:hyperlink", "w:ins", "w:moveTo", "w:smartTag", "w:dir", "w:bdo"}),
    controls=("w:sdt", "w:sdtContent"),
    first=frozenset({"w:pPr"}),
    dropped=frozenset({"w:proofErr", "w:lastRenderedPageBreak"}),
    no_difference=r"<(?:\w+:)?(?:lang|noProof|proofErr)\b[^>]*/>|<(\w+:)?rPr>\s*</(\w+:)?rPr>|<(?:\w+:)?rPr/>",
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
        return segments_in(path, parts)

    def write(self, path: Path, out: IO[bytes], answers: Iterator[MarkedText | None]) -> None:
        """The document with other paragraphs."""
        write_package(path, out, answers, parts)


def parts(package: Package) -> dict[str, PartWalk]:
    """The parts with text. DataError: this is no Word document."""
    found = [name for name, kind in content_types(package).items() if TEXTS.search(kind)]
    if not found:
        raise DataError(
            "no Word document inside", where=str(package.path), hint="name its --format", code="wrong_format"
        )
    return dict.fromkeys(found, walk)


def walk(reader: XmlReader, name: str) -> Walk:
    """One part."""
    return walk_part(WORD, reader, name, LEFT)
