"""PO as a corpus: entries with a msgid and its msgstr."""

from collections.abc import Iterable, Iterator

from jumok.errors import DataError
from jumok.formats.lines import Faults
from jumok.formats.po_entries import PoEntry, po_entries
from jumok.formats.units import NamedTexts

HINT = (
    'an entry is msgid "…" and msgstr "…", each text in quotes on its own line; msgfmt -c finds such faults'
)


def read_po(lines: Iterable[str], name: str, faults: Faults | None = None) -> Iterator[NamedTexts]:
    """The entries, each a text by language, source first; "" for a target that is missing or marked fuzzy.

    Of an entry with plurals there are two units of one number: the singular with the first form, the plural
    with the last. What is obsolete (`#~`) is not there. `faults` are those of lines, which become faults of
    their entries.
    """
    languages, number = ("source", "target"), 0
    for entry in po_entries(lines):
        fault = _line_fault(entry, faults or {})
        if not (entry.fields or fault or entry.wrong):
            continue
        if entry.is_header and fault is None:
            languages = header_languages(entry.texts.get("msgstr", ""), name)
            continue
        number += 1
        fault = fault or _entry_fault(entry, name, number)
        if fault is not None:
            yield NamedTexts(number, {}, fault)
            continue
        for pair in _pairs(entry):
            yield NamedTexts(number, dict(zip(languages, pair, strict=True)))


def _line_fault(entry: PoEntry, faults: Faults) -> DataError | None:
    """What was wrong with the bytes of one of its lines; in a comment it is no matter."""
    places = range(entry.begun, entry.begun + len(entry.lines)) if faults else ()
    found = [faults.pop(one) for one in places if one in faults and not _is_comment(entry, one)]
    return found[0] if found else None


def _is_comment(entry: PoEntry, number: int) -> bool:
    return entry.lines[number - entry.begun].strip().startswith("#")


def _entry_fault(entry: PoEntry, name: str, number: int) -> DataError | None:
    message, line = "", entry.begun + len(entry.lines) - 1
    if entry.wrong is not None:
        wrong = entry.lines[entry.wrong - entry.begun].strip()
        message, line = f"not a line of an entry: {wrong[:40]}", entry.wrong
    elif not ("msgid" in entry.texts and entry.is_filled):
        message = f"an entry without {'msgstr' if 'msgid' in entry.texts else 'msgid'}"
    if not message:
        return None
    return DataError(message, where=f"{name}, entry {number} (line {line})", hint=HINT, code="bad_unit")


def _pairs(entry: PoEntry) -> Iterator[tuple[str, str]]:
    texts = entry.texts
    forms = [text for key, text in texts.items() if key.startswith("msgstr")]
    if entry.fuzzy:
        forms = [""]
    yield texts["msgid"], forms[0]
    if "msgid_plural" in texts:
        yield texts["msgid_plural"], forms[-1]


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
