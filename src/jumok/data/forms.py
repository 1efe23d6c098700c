"""How a file holds its pairs, told from its name and its beginning: the columns, the languages, a header."""

import json
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing
from dataclasses import dataclass
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import Any

from jumok.data.columns import bad_columns, column_names, find_name, is_number, known_texts, line_reader
from jumok.data.headers import LOOKED_AT, is_header, language_of, usual_sides
from jumok.data.questions import holds_question
from jumok.errors import ConfigError, DataError, nearest
from jumok.formats.csv_rows import read_csv
from jumok.formats.files import file_blocks, split_packing
from jumok.formats.json_items import read_json
from jumok.formats.lines import Errors, Faults, lines_of
from jumok.formats.parquet import read_parquet
from jumok.formats.po_units import read_po
from jumok.formats.tmx_units import read_tmx
from jumok.formats.units import NamedTexts
from jumok.formats.xliff_units import read_xliff
from jumok.formats.zipped import member_blocks, text_members

Pair = tuple[str, str]
SUFFIXES = {".ndjson": ".jsonl", ".xlf": ".xliff", ".pot": ".po"}
UNITS = {
    ".tsv": "line",
    ".jsonl": "line",
    ".csv": "row",
    ".json": "object",
    ".tmx": "unit",
    ".xliff": "unit",
    ".po": "entry",
    ".parquet": "row",
    ".zip": "line",
}
"""Each kind of file with both sides, by its ending, and what one of its parts is called."""
UNPACKED = (".parquet", ".zip")  # are packed inside


@dataclass(frozen=True, slots=True)
class CorpusForm:
    """How a corpus is read. `kind` is "" where both sides are lines of their own."""

    kind: str = ""
    columns: str = ""
    """The columns or keys that hold source and target, where the file or someone has named them."""
    languages: Pair = ("", "")
    header: tuple[str, ...] = ()
    """The names of the columns that are read, where the first line of a TSV is no pair."""
    members: tuple[str, ...] = ()
    """The files inside a zip file that are read: both sides, or one with both."""

    @property
    def unit(self) -> str:
        """What messages call one part of the file."""
        return UNITS.get(self.kind, "line")


def kind_of(path: str) -> str:
    """How a file with both sides is written, by its name: ".tsv", ".jsonl", …, or "" for none of these."""
    plain, packing = split_packing(path)
    suffix = Path(plain).suffix.lower()
    kind = SUFFIXES.get(suffix, suffix)
    return kind if kind in UNITS and not (packing and kind in UNPACKED) else ""


def corpus_blocks(path: str, name: str, member: str = "") -> AbstractContextManager[Iterator[bytes]]:
    """The bytes of a file, or of one inside a zip file; it is closed at the end, however much was read."""
    return closing(member_blocks(path, member, name) if member else file_blocks(path, name))


def read_units(
    path: str, name: str, form: CorpusForm, errors: Errors, faults: Faults | None = None
) -> Generator[NamedTexts, None, None]:
    """The units of a file that is not read line by line."""
    if form.kind not in (".csv", ".json", ".tmx", ".xliff", ".po"):
        yield from read_parquet(path, name)
        return
    with corpus_blocks(path, name, form.members[0] if form.members else "") as blocks:
        match form.kind:
            case ".csv":
                yield from read_csv(lines_of(blocks, name, errors, faults), name, faults)
            case ".json":
                yield from read_json(blocks, name)
            case ".tmx":
                yield from _in_languages(read_tmx(blocks, name), form.columns)
            case ".xliff":
                yield from read_xliff(blocks, name)
            case ".po":
                yield from read_po(lines_of(blocks, name, errors, faults), name, faults)


def _in_languages(units: Iterator[NamedTexts], columns: str) -> Iterator[NamedTexts]:
    """The units that have the first of these languages; "" for another that is missing."""
    names = columns.split(",") if columns else []
    for unit in units:
        if unit.fault is not None or not names:
            yield unit
        elif find_name(names[0], unit.texts):
            missing = [name for name in names if not find_name(name, unit.texts)]
            yield unit._replace(texts={**unit.texts, **dict.fromkeys(missing, "")})


def tell_form(path: str, name: str, columns: str = "", errors: Errors = "strict") -> CorpusForm:
    """How the file with both sides at `path` is read; `columns` is what the user says of it.

    ConfigError: it cannot be told, or the columns are not there.
    """
    kind, members = kind_of(path), tuple[str, ...]()
    if kind == ".zip":
        form = _zip_form(path, name, columns)
        if len(form.members) == 2:
            return form
        kind, members, name = form.kind, form.members, f"{name}/{form.members[0]}"
    if kind == ".tsv":
        with corpus_blocks(path, name, members[0] if members else "") as blocks:
            first = list(islice(lines_of(blocks, name, errors, Faults()), LOOKED_AT + 1))
        return _tsv_form(first, columns, members)
    form = CorpusForm(kind, columns, members=members)
    if kind == ".jsonl":
        line_reader(kind, columns)  # what cannot work is found now
        with corpus_blocks(path, name, members[0] if members else "") as blocks:
            values = [_object(line) for line in islice(lines_of(blocks, name, errors, Faults()), 1)]
        return form if columns else _named_form(form, [value for value in values if value])
    with closing(read_units(path, name, CorpusForm(kind, members=members), errors, Faults())) as units:
        return _named_form(form, _first_texts(units))


def _first_texts(units: Iterator[NamedTexts]) -> list[Mapping[str, Any]]:
    """What the first units hold; a file that is broken behind them is read as far as it goes."""
    found: list[Mapping[str, Any]] = []
    try:
        for unit in islice(units, LOOKED_AT):
            found += [unit.texts] if unit.fault is None else []
    except DataError:
        if not found:
            raise
    return found


def _object(line: str) -> Mapping[str, Any]:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _tsv_form(lines: Sequence[str], columns: str, members: tuple[str, ...]) -> CorpusForm:
    """A first line that names the columns is none of the pairs, and tells what they are."""
    cells, below = lines[0].split("\t") if lines else [], [line.split("\t") for line in lines[1:]]
    names = column_names(columns) if columns else []
    by_name = any(not is_number(name.removesuffix("+")) for name in names)
    if by_name:
        columns = ",".join(_number(name, cells, columns) for name in names)
    line_reader(".tsv", columns)  # what cannot work is found now
    if not (by_name or is_header(cells, below)):
        return CorpusForm(".tsv", columns, members=members)
    if not columns:
        places = [cells.index(side) + 1 for side in usual_sides(cells)]
        columns = "" if places == [1, 2] and len(cells) == 2 else ",".join(map(str, places))
    first = [int(place.removesuffix("+")) - 1 for place in (columns or "1,2").split(",")[:2]]
    header = tuple(cells[place] for place in first if place < len(cells))
    languages = [language_of(name) for name in header]
    source, target = languages if len(languages) == 2 else ("", "")
    return CorpusForm(".tsv", columns, (source, target), header, members)


def _number(name: str, cells: Sequence[str], columns: str) -> str:
    """The number of a column, with the "+" that may follow its name."""
    plain, more = (name[:-1], "+") if name.endswith("+") and name not in cells else (name, "")
    if is_number(plain):
        return name
    if found := find_name(plain, cells):
        return f"{cells.index(found) + 1}{more}"
    head = ", ".join(repr(cell[:40]) for cell in cells[:8])
    raise bad_columns(columns, f"no column is called {plain!r}; the first line has {head or 'nothing'}")


def _named_form(form: CorpusForm, values: Sequence[Mapping[str, Any]]) -> CorpusForm:
    """Which of the named texts are source and target, by the first of them."""
    names = list(dict.fromkeys(name for value in values for name in _text_names(value)))
    if form.columns:
        sides = [_known(name, names, form) for name in column_names(form.columns)]
    elif form.kind in (".json", ".jsonl"):
        sides = _sides_of_object(values[0]) if values else []
    else:
        sides = _two_of(names, form) if names else []
    if len(sides) < 2 or any("," in side for side in sides):
        return form
    languages = language_of(sides[0]), language_of(sides[1])
    objects = form.kind in (".json", ".jsonl") and not any(languages)  # their usual forms may be mixed
    columns = form.columns if objects else ",".join(sides)
    return CorpusForm(form.kind, columns, languages, members=form.members)


def _sides_of_object(value: Mapping[str, Any]) -> list[str]:
    inner = value.get("translation")
    if holds_question(value):
        return []
    return list(inner) if isinstance(inner, dict) else list(usual_sides(_text_names(value)))


def _text_names(value: Mapping[str, Any]) -> list[str]:
    return [name for name, text in known_texts(value).items() if isinstance(text, str)]


def _known(name: str, names: Sequence[str], form: CorpusForm) -> str:
    if form.kind == ".csv" and is_number(name) and int(name) <= len(names):
        return names[int(name) - 1]
    if found := find_name(name, names) if names else name:
        return found
    raise ConfigError(
        f"columns={form.columns} cannot work: there is no {name!r}",
        hint=nearest(name, names, f"there are {', '.join(names[:12])}"),
        code="bad_columns",
    )


def _two_of(names: Sequence[str], form: CorpusForm) -> list[str]:
    """Source and target among named columns or languages."""
    sides = usual_sides(names)
    if not sides and len(names) > 2 and form.kind == ".tmx":  # en and en-us, of different units, are one
        sides = tuple(dict.fromkeys(language_of(name) for name in names))
    if len(sides) != 2 and len(names) == 2:
        sides = tuple(names)
    if len(sides) == 2:
        return list(sides)
    listed = ", ".join(names[:12]) + ", …" * (len(names) > 12)
    pair = ",".join(names[:2]) if len(names) > 1 else "SOURCE,TARGET"
    raise ConfigError(
        f"which texts are source and target cannot be told: there is {listed}",
        hint=f"name them: --columns {pair}",
        code="bad_columns",
    )


def _zip_form(path: str, name: str, columns: str) -> CorpusForm:
    """Two aligned files in an archive, as those of OPUS have; or one file with both sides."""
    members = text_members(path)
    shown = ", ".join(members[:6]) + ", …" * (len(members) > 6)
    wanted = column_names(columns) if columns and len(members) != 1 else []
    if len(members) == 1 and kind_of(members[0]) not in ("", ".zip", ".parquet"):
        return CorpusForm(kind_of(members[0]), members=tuple(members))
    if wanted:
        found = [one for name in wanted for one in members if name in (one, PurePosixPath(one).name)]
        found = found or [one for side in wanted for one in members if _member_language(one) == side]
        if len(found) == len(wanted) == 2:
            return _moses(found)
        raise ConfigError(
            f"columns={columns} cannot work: the zip file has {shown}",
            hint="name two files in it, or their languages: --columns de,en",
            code="bad_columns",
        )
    groups: dict[str, list[str]] = {}
    for member in members:
        if _member_language(member):
            groups.setdefault(member.rpartition(".")[0], []).append(member)
    pairs = [pair for pair in groups.values() if len(pair) == 2] or ([members] if len(members) == 2 else [])
    if len(pairs) == 1:
        return _moses(_in_order(pairs[0]))
    raise DataError(
        f"{len(members)} files, and which two are the sides cannot be told: {shown or 'none'}",
        where=name,
        hint="name them: --columns FILE1,FILE2; a zip file of OPUS has NAME.de-en.de and NAME.de-en.en",
        code="bad_zip",
    )


def _moses(members: Sequence[str]) -> CorpusForm:
    source, target = map(_member_language, members)
    return CorpusForm("", "", (source, target), members=tuple(members))


def _member_language(member: str) -> str:
    return language_of(PurePosixPath(member).suffix.removeprefix("."))


def _in_order(pair: Sequence[str]) -> list[str]:
    """Source first, where the common part of the names says it: NAME.de-en."""
    both = pair[0].rpartition(".")[0].rpartition(".")[2]
    first = both.partition("-")[0]
    return sorted(pair, key=lambda one: one.rpartition(".")[2] != first)
