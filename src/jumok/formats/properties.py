"""Java's .properties: the values. Keys, comments, blank lines and separators stay as they are.

A file of ASCII alone, or one that is not UTF-8, is read as Java did before version 9: Latin-1 with `\\uXXXX`.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, ClassVar

from jumok.errors import DataError
from jumok.formats.messages import ask, check_size
from jumok.formats.segments import Languages, MarkedText, Segment
from jumok.formats.walk import Walk, segments_on, write_whole

_ENTRY = re.compile(
    r"(?P<head>[ \t\f]*(?P<key>(?:[^\\\s:=]|\\(?:\r\n|.))+)(?:[ \t\f]*[:=][ \t\f]*|[ \t\f]+|(?=[\r\n]|$)))"
    r"(?P<value>(?:[^\\\r\n]|\\(?:\r\n|.))*)",
    re.DOTALL,
)
_LINE = re.compile(r"[ \t\f]*(?:[#!][^\r\n]*)?(?:\r\n|\n|\r|$)|[^\r\n]*(?:\r\n|\n|\r|$)")
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(\r\n|\n|\r)[ \t\f]*|(.)|$)", re.DOTALL)
_SIGNS = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_WRITTEN = {ord(sign): f"\\{letter}" for letter, sign in _SIGNS.items()} | {ord("\\"): "\\\\"}


@dataclass(frozen=True)
class PropertiesFormat:
    """Values of keys, one to a line or over several that end with a backslash."""

    languages: Languages = Languages()
    name: ClassVar[str] = "properties"
    suffixes: ClassVar[tuple[str, ...]] = (".properties",)

    def read(self, path: Path) -> Iterator[Segment]:
        """The values."""
        text, _ = text_of(path)
        return segments_on(walk(text))

    def write(self, path: Path, out: IO[bytes], answers: Iterator[MarkedText | None]) -> None:
        """The file with other values."""
        text, encode = text_of(path)
        write_whole(walk(text), lambda part: out.write(encode(part)), answers)


def text_of(path: Path) -> tuple[str, Callable[[str], bytes]]:
    """The file as text, and how text becomes bytes of it. DataError: too large, or with zero bytes."""
    check_size(path)
    data = path.read_bytes()
    if b"\0" in data:
        hint = "save it as UTF-8 or Latin-1: no other encoding is known of such files"
        raise DataError(
            "the file is UTF-16, or no text: it has zero bytes", where=str(path), hint=hint, code="encoding"
        )
    if not data.isascii():
        try:
            return data.decode("utf-8"), lambda text: text.encode("utf-8", "surrogatepass")
        except UnicodeDecodeError:
            return data.decode("latin-1"), lambda text: text.translate(_Numbered(0xFF)).encode("latin-1")
    return data.decode("ascii"), lambda text: text.translate(_Numbered(0x7F)).encode("ascii")


class _Numbered(dict[int, str]):
    """Characters above a limit as `\\uXXXX`, in two halves where Java has them in two."""

    def __init__(self, limit: int) -> None:
        super().__init__()
        self.limit = limit

    def __missing__(self, code: int) -> str:
        if code <= self.limit:
            return chr(code)
        units = chr(code).encode("utf-16-be", "surrogatepass")
        return "".join(f"\\u{units[place]:02X}{units[place + 1]:02X}" for place in range(0, len(units), 2))


def walk(text: str) -> Walk:
    """Line by line; an entry takes as many as it needs."""
    place = 0
    while place < len(text):
        entry = None if _is_note(text, place) else _ENTRY.match(text, place)
        if entry is None:
            line = _LINE.match(text, place)
            assert line is not None
            yield line[0]
            place = line.end()
            continue
        answer = yield from ask(unescaped(entry["value"]), unescaped(entry["key"]))
        yield entry["head"]
        yield entry["value"] if answer is None else escaped_value(answer)
        place = entry.end()


def _is_note(text: str, place: int) -> bool:
    line = _LINE.match(text, place)
    return line is None or not line[0].strip() or line[0].lstrip(" \t\f")[:1] in ("#", "!")


def unescaped(raw: str) -> str:
    """A value as the program gets it."""

    def sign(found: re.Match[str]) -> str:
        if found[1]:
            return chr(int(found[1], 16))
        return _SIGNS.get(found[3], found[3]) if found[3] else ""  # of a line that goes on, nothing

    text = _ESCAPE.sub(sign, raw)
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")  # halves become one character


def escaped_value(text: str) -> str:
    """A value as the file has it; spaces at its beginning need a backslash."""
    lead = len(text) - len(text.lstrip(" "))
    return "\\ " * lead + text[lead:].translate(_WRITTEN)
