"""CSV and TSV: the cells of chosen columns. Other columns, quotes and line ends stay as they are.

Columns are chosen behind the format's name: `--format csv:text,title` by the names in the first row, which is
a header then, or `csv:2` by number, counted from one, when every row is data.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import IO, ClassVar

from jumok.errors import ConfigError, DataError, nearest
from jumok.formats.csv_rows import HINT, CsvLines, csv_rows, delimiter_of
from jumok.formats.encoding import encoded_lines
from jumok.formats.messages import ask
from jumok.formats.segments import Languages, MarkedText, Segment
from jumok.formats.walk import Walk, segments_on, write_whole


@dataclass(frozen=True)
class CsvFormat:
    """Rows of cells with commas between them, or semicolons, tabs or bars, as the first row shows."""

    languages: Languages = Languages()
    columns: tuple[str, ...] = ()
    name: ClassVar[str] = "csv"
    suffixes: ClassVar[tuple[str, ...]] = (".csv",)
    mark: ClassVar[str] = ""

    def read(self, path: Path) -> Iterator[Segment]:
        """The cells of the chosen columns."""
        return segments_on(self.walk(path, encoded_lines(path)[1]))

    def write(self, path: Path, out: IO[bytes], answers: Iterator[MarkedText | None]) -> None:
        """The table with other cells."""
        code, lines = encoded_lines(path)
        out.write(code.mark)
        write_whole(self.walk(path, lines), lambda text: out.write(code.encode(text)), answers)

    def walk(self, path: Path, lines: Iterator[str]) -> Walk:
        """Row by row."""
        first = next(lines, "")
        mark, chosen = self.mark or delimiter_of(first), frozenset[int]()
        for number, row in rows(path, chain([first] if first else [], lines), mark, quoted=not self.mark):
            cells = cells_of(row, mark)
            if mark.join(cells) != row.rstrip("\r\n"):  # of a TSV: a quotation mark that nothing closes
                cells = row.rstrip("\r\n").split(mark)
            if not chosen:
                chosen, header = self.chosen(path, [value(cell) for cell in cells])
                if header:
                    yield row
                    continue
            yield from self.one_row(row, cells, chosen, mark, f"row {number}")

    def one_row(self, row: str, cells: list[str], chosen: frozenset[int], mark: str, where: str) -> Walk:
        """A row, in which the chosen cells are asked for."""
        end = row[len(row.rstrip("\r\n")) :]
        for place in sorted(chosen):
            if place < len(cells):
                answer = yield from ask(value(cells[place]), f"{where}, column {place + 1}")
                if answer is not None:
                    cells[place] = cell_of(answer, cells[place], mark, quotes=not self.mark)
        yield mark.join(cells) + end

    def chosen(self, path: Path, first: list[str]) -> tuple[frozenset[int], bool]:
        """Which columns are translated, and whether the first row is a header. ConfigError: nobody knows."""
        if not self.columns and len(first) == 1:
            return frozenset({0}), False
        named = [one for one in self.columns if not one.isdecimal()]
        names = {name.strip().lower(): place for place, name in reversed(list(enumerate(first)))}
        if not self.columns:
            raise self._which("which columns are to be translated?", path, first)
        wrong = [one for one in named if one.lower() not in names]
        if wrong:
            hint = nearest(wrong[0], first) if len(first) < 50 else ""
            raise ConfigError(
                f"the table has no column {wrong[0]!r}", where=str(path), hint=hint, code="no_column"
            )
        places = {names[one.lower()] if one in named else int(one) - 1 for one in self.columns}
        if min(places) < 0 or max(places) >= len(first):
            raise self._which(f"the table has {len(first)} columns, not {max(places) + 1}", path, first)
        return frozenset(places), bool(named)

    def _which(self, message: str, path: Path, first: list[str]) -> ConfigError:
        shown = ", ".join(name.strip()[:30] for name in first[:12])
        hint = f"choose by name or number: --format {self.name}:2; the first row is: {shown}"
        return ConfigError(message, where=str(path), hint=hint, code="no_column")


@dataclass(frozen=True)
class TsvFormat(CsvFormat):
    """Cells with tabs between them; they have no line breaks."""

    name: ClassVar[str] = "tsv"
    suffixes: ClassVar[tuple[str, ...]] = (".tsv", ".tab")
    mark: ClassVar[str] = "\t"


def rows(path: Path, lines: Iterable[str], mark: str, *, quoted: bool) -> Iterator[tuple[int, str]]:
    """Rows as they are written, with the numbers of their lines; a quoted cell may go over several."""
    if not quoted:
        yield from enumerate(lines, start=1)
        return
    for row in csv_rows(CsvLines(lines), mark, strict=False):
        fault, hint = row.fault, HINT
        if not fault and mark.join(cells_of(row.raw, mark)) != row.raw.rstrip("\r\n"):
            fault = "a quoted cell never ends"
            hint = 'close the quotation; a quotation mark inside of one is written ""'
        if fault:
            raise DataError(fault, where=f"{path}, line {row.line}", hint=hint, code="broken_csv")
        yield row.line, row.raw


def cells_of(row: str, mark: str) -> list[str]:
    """The cells of a row as they are written; of a quotation that never ends there is none."""
    cell = rf'"(?:[^"]|"")*"[^{mark}]*|(?!")[^{mark}]*'
    return re.findall(rf"(?:^|(?<={re.escape(mark)}))(?:{cell})", row.rstrip("\r\n"))


def value(cell: str) -> str:
    """What a cell says."""
    cell = cell.strip(" ") if cell.strip(" ").startswith('"') else cell
    return cell[1:-1].replace('""', '"') if len(cell) > 1 and cell[0] == cell[-1] == '"' else cell


def cell_of(text: str, old: str, mark: str, *, quotes: bool) -> str:
    """A text as a cell: in quotes if the old one was, or if it must be."""
    if not quotes:
        text = " ".join(text.splitlines()).replace("\t", " ")
    was = old.strip().startswith('"') and old.strip().endswith('"')
    if was or (quotes and re.search(rf'["\r\n{re.escape(mark)}]', text)):
        return '"' + text.replace('"', '""') + '"'
    return text
