"""The entries of a gettext catalogue, with the lines that they were read from, one at a time."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

LINE = re.compile(
    r'(?P<key>msgctxt|msgid_plural|msgid|msgstr(?:\[\d{1,2}\])?)?\s*"(?P<text>(?:[^"\\]|\\.)*)"\s*'
)
ESCAPE = re.compile(r"\\(?:x([0-9a-fA-F]{1,2})|([0-7]{1,3})|(.))", re.DOTALL)
SIGNS = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}


@dataclass(slots=True)
class PoField:
    """A keyword of an entry, and its string; `lines` is where it stands among those of the entry."""

    key: str
    text: str
    lines: range


@dataclass(slots=True)
class PoEntry:
    """What stands between two others: comments and fields, or a blank line."""

    begun: int
    """The number of the first line."""
    lines: list[str] = field(default_factory=list)
    """With their ends, where they had any."""
    fields: list[PoField] = field(default_factory=list)
    fuzzy: bool = False
    wrong: int | None = None
    """The number of the first line that does not belong into an entry."""

    @property
    def texts(self) -> dict[str, str]:
        """The strings by keyword."""
        return {field.key: field.text for field in self.fields}

    @property
    def is_filled(self) -> bool:
        """Whether a translation has begun, or nothing good follows: what comes then is another entry."""
        return self.wrong is not None or any(field.key.startswith("msgstr") for field in self.fields)

    @property
    def is_header(self) -> bool:
        """Whether it says what the catalogue is."""
        texts = self.texts
        return self.wrong is None and texts.get("msgid") == "" and "msgctxt" not in texts

    def take(self, line: str) -> None:
        """A further line."""
        place, stripped = len(self.lines), line.strip()
        self.lines.append(line)
        if stripped.startswith("#"):
            self.fuzzy = self.fuzzy or (stripped.startswith("#,") and "fuzzy" in stripped)
        elif stripped and self.wrong is None and not self._read(stripped, place):
            self.wrong = self.begun + place

    def _read(self, line: str, place: int) -> bool:
        """Whether it is a field or goes on with one."""
        if (match := LINE.fullmatch(line)) is None:
            return False
        key, text = match["key"], unescaped(match["text"])
        if key is None and self.fields:
            last = self.fields[-1]
            last.text, last.lines = last.text + text, range(last.lines.start, place + 1)
        elif key is None or any(field.key == key for field in self.fields):
            return False
        else:
            self.fields.append(PoField(key, text, range(place, place + 1)))
        return True


def po_entries(lines: Iterable[str]) -> Iterator[PoEntry]:
    """Every line of a catalogue, as entries; a blank line is one without fields."""
    entry = PoEntry(1)
    for number, line in enumerate(lines, start=1):
        stripped = line.strip()
        begins = stripped.startswith(("#", "msgctxt", "msgid"))
        begins = begins and not stripped.startswith(("#~", "msgid_plural"))
        if entry.lines and (not stripped or (begins and entry.is_filled)):
            yield entry
            entry = PoEntry(number)
        entry.take(line)
        if not stripped:
            yield entry
            entry = PoEntry(number + 1)
    if entry.lines:
        yield entry


def unescaped(text: str) -> str:
    """A string without its backslashes."""

    def sign(found: re.Match[str]) -> str:
        if found[1] or found[2]:
            return chr(int(found[1], 16) if found[1] else int(found[2], 8))
        return SIGNS.get(found[3], found[3])

    return ESCAPE.sub(sign, text) if "\\" in text else text
