"""PO, gettext's catalogues: entries with a msgid and its msgstr."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from jumok.errors import DataError
from jumok.formats.lines import Faults
from jumok.formats.units import NamedTexts

LINE = re.compile(r'(?:(msgctxt|msgid_plural|msgid|msgstr)(?:\[(\d+)\])?\s*)?"((?:[^"\\]|\\.)*)"\s*')
ESCAPE = re.compile(r"\\(x[0-9a-fA-F]{1,2}|[0-7]{1,3}|.)")
PLAIN = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}
HINT = (
    'an entry is msgid "…" and msgstr "…", each text in quotes on its own line; msgfmt -c finds such faults'
)


@dataclass
class PoEntry:
    """One entry while it is read: its fields by keyword, `msgstr[0]` and so on for plural forms."""

    number: int
    fields: dict[str, str] = field(default_factory=dict)
    fuzzy: bool = False
    fault: DataError | None = None

    @property
    def translated(self) -> bool:
        return any(key.startswith("msgstr") for key in self.fields)


def read_po(lines: Iterable[str], name: str, faults: Faults | None = None) -> Iterator[NamedTexts]:
    """The entries, each a text by language, source first; "" for a target that is missing or marked fuzzy.

    Of an entry with plurals there are two units of one number: the singular with the first form, the plural
    with the last. What is obsolete (`#~`) is not there. `faults` are those of lines, which become faults of
    their entries.
    """
    languages = ("source", "target")
    for entry in po_entries(lines, name, faults):
        if entry.number == 0:
            languages = header_languages(entry.fields.get("msgstr", ""), name)
        elif entry.fault is not None:
            yield NamedTexts(entry.number, {}, entry.fault)
        else:
            for pair in _pairs(entry):
                yield NamedTexts(entry.number, dict(zip(languages, pair, strict=True)))


def _pairs(entry: PoEntry) -> Iterator[tuple[str, str]]:
    fields, forms = entry.fields, [text for key, text in entry.fields.items() if key.startswith("msgstr")]
    if entry.fuzzy or not forms:
        forms = [""]
    yield fields["msgid"], forms[0]
    if "msgid_plural" in fields:
        yield fields["msgid_plural"], forms[-1]


def header_languages(header: str, name: str) -> tuple[str, str]:
    """The languages that the header's entry names, or plain words for what it does not say."""
    said = {
        key.strip().lower(): value.strip() for key, _, value in (x.partition(":") for x in header.split("\n"))
    }
    charset = said.get("content-type", "").lower().partition("charset=")[2]
    if charset not in ("", "charset", "utf-8", "utf8", "us-ascii", "ascii"):
        raise DataError(
            f"the file is {charset}, not UTF-8",
            where=name,
            hint="convert it: msgconv -t UTF-8",
            code="bad_utf8",
        )
    source, target = said.get("x-source-language", ""), said.get("language", "")
    if source == target:
        source = target = ""
    return source.lower().replace("_", "-") or "source", target.lower().replace("_", "-") or "target"


def po_entries(lines: Iterable[str], name: str, faults: Faults | None = None) -> Iterator[PoEntry]:
    """The entries in file order; number 0 is the header. A line that cannot be read is its entry's fault."""
    entry, last, number, count = PoEntry(0), "", 0, 0

    def finish() -> Iterator[PoEntry]:
        nonlocal count
        if not (entry.fields or entry.fault):
            return
        is_header = entry.fields.get("msgid") == "" and "msgctxt" not in entry.fields and not entry.fault
        if not is_header:
            count += 1
            entry.number = count
            if entry.fault is None and not ("msgid" in entry.fields and entry.translated):
                missing = "msgstr" if "msgid" in entry.fields else "msgid"
                entry.fault = _fault(f"an entry without {missing}", name, count, number)
        yield entry

    for number, line in enumerate(lines, start=1):
        line = line.strip()
        begins = line.startswith(("#", "msgctxt", "msgid ", 'msgid"')) and not line.startswith("#~")
        if (not line or begins) and (entry.translated or entry.fault):
            yield from finish()
            entry, last = PoEntry(0), ""
        if faults and number in faults and not line.startswith("#"):
            entry.fault = faults.pop(number)
        elif line.startswith("#"):
            entry.fuzzy = entry.fuzzy or (line.startswith("#,") and "fuzzy" in line)
        elif line and entry.fault is None:
            last = _take(entry, line, last)
            if not last:
                entry.fault = _fault(f"not a line of an entry: {line[:40]}", name, count + 1, number)
    yield from finish()


def _take(entry: PoEntry, line: str, last: str) -> str:
    """Put a line into its entry; gives the keyword that further lines go on with, "" if it is none."""
    if not (found := LINE.fullmatch(line)):
        return ""
    keyword, form, text = found.groups()
    key = last if keyword is None else keyword if form is None else f"{keyword}[{form}]"
    if not key or (keyword and key in entry.fields):
        return ""
    entry.fields[key] = entry.fields.get(key, "") + unescape(text)
    return key


def unescape(text: str) -> str:
    """A text between quotes as it is meant."""
    return ESCAPE.sub(_character, text) if "\\" in text else text


def _character(found: re.Match[str]) -> str:
    code = found[1]
    if code[0] == "x" and len(code) > 1:
        return chr(int(code[1:], 16))
    if code[0] in "01234567":
        return chr(int(code, 8))
    return PLAIN.get(code, code)


def _fault(message: str, name: str, number: int, line: int) -> DataError:
    return DataError(message, where=f"{name}, entry {number} (line {line})", hint=HINT, code="bad_unit")
