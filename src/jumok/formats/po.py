"""gettext catalogues: .po and .pot. Only `msgstr` is ever written; comments, contexts and old entries stay.

Every plural form is a segment, made of the singular or the plural. One entry at a time is in memory.
"""

import re
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, ClassVar

from jumok.errors import DataError
from jumok.formats.encoding import Encoding, encoding_of
from jumok.formats.messages import ask
from jumok.formats.plural_forms import singular_form
from jumok.formats.po_entries import SIGNS, PoEntry, po_entries
from jumok.formats.segments import Languages, MarkedText, Segment
from jumok.formats.walk import Walk, segments_on, write_whole

WIDTH = 77
_WRITTEN = {ord(sign): f"\\{letter}" for letter, sign in SIGNS.items()} | {
    ord("\\"): "\\\\",
    ord('"'): '\\"',
}
_FUZZY = re.compile(r",\s*fuzzy\b")


@dataclass(frozen=True)
class PoFormat:
    """Catalogues and their templates."""

    languages: Languages = Languages()
    name: ClassVar[str] = "po"
    suffixes: ClassVar[tuple[str, ...]] = (".po", ".pot")

    def read(self, path: Path) -> Iterator[Segment]:
        """The entries; those that are translated, and the fuzzy ones, have a target."""
        return segments_on(walk(path, encoding(path)))

    def write(self, path: Path, out: IO[bytes], answers: Iterator[MarkedText | None]) -> None:
        """The catalogue with other translations."""
        code = encoding(path)
        out.write(code.mark)
        write_whole(walk(path, code), lambda text: out.write(code.encode(text)), answers)


def encoding(path: Path) -> Encoding:
    """What the header says, or UTF-8. DataError: nobody knows that encoding."""
    with path.open("rb") as file:
        beginning = file.read(1 << 14)
    marked = encoding_of(beginning)
    if marked.name != "utf-8":
        raise DataError(
            f"the file is {marked.name[:6].upper()}, which no catalogue may be",
            where=str(path),
            hint="save it as UTF-8, with charset=UTF-8 in the header",
            code="encoding",
        )
    found = re.search(rb"charset=([\w.:-]+)", beginning)
    name = found[1].decode() if found and found[1] != b"CHARSET" else "utf-8"
    try:
        "".encode(name)
    except (LookupError, UnicodeError):
        hint = "write charset=UTF-8 and save it so"
        raise DataError(
            f"unknown charset {name!r} in the header", where=str(path), hint=hint, code="encoding"
        ) from None
    return Encoding(name, marked.mark)


def lines_of(path: Path, code: Encoding) -> Iterator[str]:
    """The lines with their ends."""
    with path.open("rb") as file:
        file.seek(len(code.mark))
        for number, line in enumerate(file, start=1):
            try:
                yield line.decode(code.name)
            except (UnicodeError, LookupError) as error:
                raise DataError(
                    f"the file is not {code.name.upper()}, as its header says: {error}",
                    where=f"{path}, line {number}",
                    hint="save it as UTF-8, with charset=UTF-8 in the header",
                    code="encoding",
                ) from None


def walk(path: Path, code: Encoding) -> Walk:
    """Entry by entry."""
    singular = 0
    for entry in po_entries(lines_of(path, code)):
        if entry.wrong is not None:
            raise DataError(
                f"not a line of a catalogue: {entry.lines[entry.wrong - entry.begun].strip()[:60]!r}",
                where=f"{path}, line {entry.wrong}",
                hint='it has keywords with strings in quotes: msgid "…"',
                code="broken_po",
            )
        singular = yield from one_entry(entry, singular)


def one_entry(entry: PoEntry, singular: int) -> Generator[Segment | str, MarkedText | None, int]:
    """An entry with its comments; its strings are asked for. Gives back the number of the singular form."""
    fields, lines, texts = entry.fields, entry.lines, entry.texts
    if not texts.get("msgid"):
        yield "".join(lines)
        rule = re.search(r"Plural-Forms:[^\n]*", texts.get("msgstr", ""))
        return singular_form(rule[0]) if rule else singular
    changed = False
    for field in fields:
        if not field.key.startswith("msgstr"):
            continue
        form = int(field.key[7:-1]) if field.key != "msgstr" else None
        key = "msgid" if form is None or form == singular or "msgid_plural" not in texts else "msgid_plural"
        if form == 0 and "msgid_plural" in texts and sum(one.key.startswith("msgstr") for one in fields) == 1:
            key = "msgid_plural"  # a language with one form for all numbers
        place = f"line {entry.begun + field.lines.start}"
        answer = yield from ask(texts[key], place, field.text or None)
        if answer is not None:
            source = next(one for one in fields if one.key == key)
            new = written(
                field.key, answer, wrapped=len(source.lines) > 1, end=end_of(lines[field.lines.start])
            )
            lines[field.lines.start] = new
            for other in field.lines[1:]:
                if not lines[other].lstrip().startswith("#"):
                    lines[other] = ""
            changed = True
    if changed:
        lines = [_unmarked(line) for line in lines]
    yield "".join(lines)
    return singular


def end_of(line: str) -> str:
    """How a line ends in this file."""
    return line[len(line.rstrip("\r\n")) :] or "\n"


def _unmarked(line: str) -> str:
    """A line of flags without `fuzzy`: the translation that it warned of is gone."""
    if not line.startswith("#,"):
        return line
    rest = _FUZZY.sub("", line)
    return rest if rest.strip() != "#" else ""


def written(key: str, text: str, *, wrapped: bool, end: str) -> str:
    """A keyword with its string: in one line, or wrapped as gettext does it."""
    *whole, last = text.split("\n")
    lines = [line.translate(_WRITTEN) + "\\n" for line in whole] + [last.translate(_WRITTEN)] * bool(last)
    lines = lines or [""]
    if wrapped:
        lines = [part for line in lines for part in _folded(line)]
    if len(lines) == 1 and not wrapped or (len(lines) == 1 and len(lines[0]) + len(key) < WIDTH):
        return f'{key} "{lines[0]}"{end}'
    return "".join(
        f'{start}"{line}"{end}'
        for start, line in zip([f"{key} "] + [""] * len(lines), ["", *lines], strict=True)
    )


def _folded(line: str) -> list[str]:
    """A long line cut behind spaces."""
    parts = [""]
    for word in re.findall(r"\S*\s*", line):
        if parts[-1] and len(parts[-1]) + len(word) > WIDTH:
            parts.append("")
        parts[-1] += word
    return parts
