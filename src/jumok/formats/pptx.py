"""PowerPoint presentations: text of slides, tables and diagrams on them, speaker's notes and comments.

Masters and layouts, charts, pictures and media are copied.
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

DRAWING = RunDialect(
    blocks=frozenset({"a:p"}),
    run="a:r",
    format="a:rPr",
    text="a:t",
    characters={"a:br": "\n"},
    first=frozenset({"a:pPr"}),
    last=frozenset({"a:endParaRPr"}),
    no_difference=r"\s(?:lang|altLang|dirty|err|noProof|smtClean)=(?:\"[^\"]*\"|'[^']*')|\s*/?>(?:</(\w+:)?rPr>)?$",
)
COMMENT = RunDialect(blocks=frozenset({"p:cm"}), run="", format="", text="p:text", plain=True)
SLIDES = re.compile(r"presentationml\.(slide|notesSlide)\+xml$|drawingml\.diagram(Data|Drawing)\+xml$")
COMMENTS = re.compile(r"presentationml\.comments\+xml$")


@dataclass(frozen=True)
class PptxFormat:
    """Presentations, shows and templates, with or without macros."""

    languages: Languages = Languages()
    name: ClassVar[str] = "pptx"
    suffixes: ClassVar[tuple[str, ...]] = (".pptx", ".pptm", ".ppsx", ".ppsm", ".potx", ".potm")

    def read(self, path: Path) -> Iterator[Segment]:
        """The paragraphs of all slides and notes."""
        return segments_in(path, parts)

    def write(self, path: Path, out: IO[bytes], answers: Iterator[MarkedText | None]) -> None:
        """The presentation with other paragraphs."""
        write_package(path, out, answers, parts)


def parts(package: Package) -> dict[str, PartWalk]:
    """The parts with text. DataError: this is no presentation."""
    kinds = content_types(package)
    if not any("presentation" in kind and ".main+xml" in kind for kind in kinds.values()):
        raise DataError(
            "no presentation inside", where=str(package.path), hint="name its --format", code="wrong_format"
        )
    found: dict[str, PartWalk] = {name: slide for name, kind in kinds.items() if SLIDES.search(kind)}
    return found | {name: comments for name, kind in kinds.items() if COMMENTS.search(kind)}


def slide(reader: XmlReader, name: str) -> Walk:
    """A slide, its notes or a diagram on it."""
    found = re.search(r"(slide|notesSlide)(\d+)\.xml$", name)
    titles = {"slide": "slide", "notesSlide": "notes of slide"}
    return walk_part(DRAWING, reader, f"{titles[found[1]]} {found[2]}" if found else name)


def comments(reader: XmlReader, name: str) -> Walk:
    """What people have remarked."""
    return walk_part(COMMENT, reader, name)
