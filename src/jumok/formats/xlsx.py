"""Excel workbooks: text in cells, in comments and in text boxes. Numbers, formulas and names of sheets stay.

The text of most cells stands in one list, each once; a text that is also the head of a table's column stays,
because Excel wants the two to be equal and formulas may name it.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, ClassVar

from jumok.errors import DataError
from jumok.formats.ooxml import RunDialect, block, content_types, walk_part
from jumok.formats.package import Package, PartWalk, segments_in, write_package
from jumok.formats.pptx import DRAWING
from jumok.formats.segments import Languages, MarkedText, Segment
from jumok.formats.walk import Walk
from jumok.formats.xml_stream import XmlStream, element, escaped, raw_of


def write_text(prefix: str, text: str) -> str:
    """Text without formatting."""
    return f'<{prefix}t xml:space="preserve">{escaped(text)}</{prefix}t>'


def write_run(prefix: str, text: str, format: str) -> str:
    """A run of rich text."""
    return f"<{prefix}r>{format}{write_text(prefix, text)}</{prefix}r>"


STRINGS = RunDialect(
    blocks=frozenset({"x:si", "x:is", "x:text"}),
    run="x:r",
    format="x:rPr",
    text="x:t",
    write=write_run,
    write_plain=write_text,
    dropped=frozenset({"x:rPh", "x:phoneticPr"}),
)
ESCAPE = re.compile("_x([0-9A-Fa-f]{4})_")


@dataclass(frozen=True)
class XlsxFormat:
    """Workbooks and templates, with or without macros."""

    languages: Languages = Languages()
    name: ClassVar[str] = "xlsx"
    suffixes: ClassVar[tuple[str, ...]] = (".xlsx", ".xlsm", ".xltx", ".xltm")

    def read(self, path: Path) -> Iterator[Segment]:
        """The texts of a workbook."""
        return segments_in(path, parts)

    def write(self, path: Path, out: IO[bytes], answers: Iterator[MarkedText | None]) -> None:
        """The workbook with other texts."""
        write_package(path, out, answers, parts)


def parts(package: Package) -> dict[str, PartWalk]:
    """The parts with text. DataError: this is no workbook."""
    kinds = content_types(package)
    if not any(re.search(r"(sheet|template)(\.\w+)?\.main\+xml$", kind) for kind in kinds.values()):
        raise DataError(
            "no workbook inside", where=str(package.path), hint="name its --format", code="wrong_format"
        )
    heads = frozenset(
        head for name, kind in kinds.items() if kind.endswith(".table+xml") for head in columns(package, name)
    )
    found: dict[str, PartWalk] = {}
    for name, kind in kinds.items():
        if kind.endswith((".sharedStrings+xml", ".worksheet+xml")):
            found[name] = partial(strings, heads=heads)
        elif kind.endswith("spreadsheetml.comments+xml"):
            found[name] = comments
        elif kind.endswith("officedocument.drawing+xml"):
            found[name] = drawing
    return found


def columns(package: Package, name: str) -> Iterator[str]:
    """The heads of a table's columns."""
    for token in package.tokens(name):
        if token.kind == "start" and token.name == "x:tableColumn":
            yield " ".join(ESCAPE.sub(" ", token.attributes.get("name", "")).split())


def strings(reader: XmlStream, name: str, heads: frozenset[str] = frozenset()) -> Walk:
    """Shared strings, or a sheet with strings in its cells."""
    tokens, count, cell = iter(reader), 0, ""
    for token in tokens:
        if token.kind == "start" and token.name == "x:c":
            cell = token.attributes.get("r", "")
        if token.kind != "start" or token.name not in STRINGS.blocks:
            yield token.raw
            continue
        count += 1
        found = element(token, tokens)
        text = "".join(one.text for one in found if one.kind == "text")
        if " ".join(text.split()) in heads:
            yield raw_of(found)
        else:
            place = f"{name}, cell {cell}" if cell else f"{name}, text {count}"
            yield from block(STRINGS, token, iter(found[1:]), place)


def comments(reader: XmlStream, name: str) -> Walk:
    """Comments on cells; their authors stay."""
    return walk_part(STRINGS, reader, name)


def drawing(reader: XmlStream, name: str) -> Walk:
    """Text boxes and shapes on a sheet."""
    return walk_part(DRAWING, reader, name)
