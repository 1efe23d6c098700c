"""PowerPoint presentations: text of slides, tables and diagrams on them, speaker's notes and comments.

Masters and layouts, charts, pictures and media are copied.
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
from jumok.formats.xml_stream import XmlStream, escaped


def write_run(prefix: str, text: str, format: str) -> str:
    """Runs, with line breaks between them."""
    lines = [
        f"<{prefix}r>{format}<{prefix}t>{escaped(line)}</{prefix}t></{prefix}r>" if line else ""
        for line in text.split("\n")
    ]
    return f"<{prefix}br>{format}</{prefix}br>".join(lines)


def write_comment(prefix: str, text: str) -> str:
    """The text of a comment."""
    return f"<{prefix}text>{escaped(text)}</{prefix}text>"


DRAWING = RunDialect(
    blocks=frozenset({"a:p"}),
    run="a:r",
    format="a:rPr",
    text="a:t",
    write=write_run,
    characters={"a:br": "\n"},
    first=frozenset({"a:pPr"}),
    last=frozenset({"a:endParaRPr"}),
    no_difference=r"\s(?:lang|altLang|dirty|err|noProof|smtClean)=(?:\"[^\"]*\"|'[^']*')",
)
COMMENT = RunDialect(
    blocks=frozenset({"p:cm"}),
    run="",
    format="",
    text="p:text",
    write=lambda prefix, text, _: write_comment(prefix, text),
    write_plain=write_comment,
)
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
        return segments_in(path, self.parts)

    def write(self, path: Path, out: IO[bytes], answers: Iterator[MarkedText | None]) -> None:
        """The presentation with other paragraphs."""
        write_package(path, out, answers, self.parts)

    def parts(self, package: Package) -> dict[str, PartWalk]:
        """The parts with text. DataError: this is no presentation."""
        kinds, target = content_types(package), self.languages.target
        if not any("presentation" in kind and ".main+xml" in kind for kind in kinds.values()):
            raise DataError(
                "no presentation inside",
                where=str(package.path),
                hint="name its --format",
                code="wrong_format",
            )
        language = (r"""(\slang=)(["'])[^"']*\2""", rf"\g<1>\g<2>{target}\g<2>") if target else ("(?!)", "")
        walk = partial(slide, replace(DRAWING, language=language))
        found: dict[str, PartWalk] = {name: walk for name, kind in kinds.items() if SLIDES.search(kind)}
        return found | {name: comments for name, kind in kinds.items() if COMMENTS.search(kind)}


def slide(dialect: RunDialect, reader: XmlStream, name: str) -> Walk:
    """A slide, its notes or a diagram on it."""
    found = re.search(r"(slide|notesSlide)(\d+)\.xml$", name)
    titles = {"slide": "slide", "notesSlide": "notes of slide"}
    return walk_part(dialect, reader, f"{titles[found[1]]} {found[2]}" if found else name)


def comments(reader: XmlStream, name: str) -> Walk:
    """What people have remarked."""
    return walk_part(COMMENT, reader, name)
