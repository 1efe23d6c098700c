"""The rows of CSV, as spreadsheets write it: a text with commas or line breaks stands in quotes."""

import csv
from collections import deque
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from jumok.errors import DataError
from jumok.formats.lines import Faults
from jumok.formats.units import NamedTexts

DELIMITERS = "\t;|,"
HINT = "a text with a comma, a quote or a line break stands in quotes, and a quote inside it is doubled"


class CsvRow(NamedTuple):
    """One row, or why there is none at that place."""

    line: int
    """The number of its first line."""
    raw: str
    """As the file has it."""
    cells: list[str]
    fault: str = ""


class CsvLines:
    """The lines of a file for the csv module, which can be given back when they turn out to be no row."""

    def __init__(self, lines: Iterable[str]) -> None:
        self.lines, self.again, self.taken, self.number = iter(lines), deque[str](), list[str](), 0

    def __iter__(self) -> "CsvLines":
        return self

    def __next__(self) -> str:
        line = self.again.popleft() if self.again else next(self.lines)
        self.taken.append(line)
        self.number += 1
        return line if line.endswith("\n") else line + "\n"

    def begin(self) -> int:
        """Begin a row; the number of its first line."""
        self.taken = []
        return self.number + 1

    def give_back(self) -> None:
        """All lines of this row but the first: what follows a stray quote is read as rows of their own."""
        self.again.extendleft(reversed(self.taken[1:]))
        self.number -= len(self.taken) - 1


def csv_rows(source: CsvLines, delimiter: str, *, strict: bool) -> Iterator[CsvRow]:
    """The rows from here on. `strict` refuses text behind a closing quote."""
    rows = csv.reader(source, delimiter=delimiter, strict=strict)
    while True:
        line = source.begin()
        try:
            cells = next(rows)
        except StopIteration:
            return
        except csv.Error as error:
            yield CsvRow(line, "".join(source.taken), [], f"not a row of CSV: {error}")
            source.give_back()
        else:
            yield CsvRow(line, "".join(source.taken), cells)


def read_csv(lines: Iterable[str], name: str, faults: Faults | None = None) -> Iterator[NamedTexts]:
    """The rows below the header, each a text by column; the header is row 1, as in a spreadsheet.

    `faults` are those of lines, which become faults of their rows.

    DataError: there is no usable header.
    """
    source = CsvLines(lines)
    header = next(source, "").rstrip("\n")
    columns = _columns(header, name)
    for number, row in enumerate(csv_rows(source, delimiter_of(header), strict=True), start=2):
        if row.fault:
            yield _fault(row.fault, name, number, row.line)
            continue
        places = range(row.line, source.number + 1) if faults else ()
        broken = [faults.pop(one) for one in places if one in faults] if faults else []
        if broken:
            yield NamedTexts(number, {}, broken[0])
        elif len(row.cells) == len(columns):
            yield NamedTexts(number, dict(zip(columns, row.cells, strict=True)))
        elif row.cells:  # else a blank line
            count = len(row.cells)
            message = f"{count} cell{'s' * (count > 1)}, and the header has {len(columns)}"
            yield _fault(message, name, number, row.line)


def _fault(message: str, name: str, number: int, line: int) -> NamedTexts:
    where = f"{name}, row {number} (line {line})"
    return NamedTexts(number, {}, DataError(message, where=where, hint=HINT, code="bad_unit"))


def delimiter_of(header: str) -> str:
    """What stands between the columns: the first of the usual ones that the header has most of."""
    bare = "".join(header.split('"')[::2])  # without what is quoted
    return max(DELIMITERS, key=bare.count) if any(one in bare for one in DELIMITERS) else ","


def _columns(header: str, name: str) -> list[str]:
    """The names in the header; refuses one that does not tell columns apart."""
    message, columns = "", list[str]()
    try:
        cells = next(csv.reader([header], delimiter=delimiter_of(header), strict=True), [])
        columns = [cell.strip() for cell in cells]
    except csv.Error as error:
        message = f"the header is not a row of CSV: {error}"
    if len(set(columns)) < len(columns):
        message = f"two columns are called {next(one for one in columns if columns.count(one) > 1)!r}"
    elif not message and len(columns) < 2:
        named = f": {columns[0][:60]}" if columns else ""
        message = f"the header names {len(columns)} column{'s' * (len(columns) != 1)}{named}"
    if message:
        hint = "the first row of a CSV file names its columns, such as source,target or en,de"
        raise DataError(message, where=f"{name}:1", hint=hint, code="bad_header")
    return columns
