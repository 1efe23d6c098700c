"""JSON and ARB catalogues: strings that are values. Keys, numbers, order and layout stay as they are.

In ARB, entries whose name begins with `@` describe others and stay.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, ClassVar

from jumok.errors import DataError
from jumok.formats.messages import ask, read_catalogue
from jumok.formats.segments import Languages, MarkedText, Segment
from jumok.formats.walk import Walk, segments_on, write_whole

_WORD = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\]:,]|[^\s{}\[\]:,"]+')


@dataclass(frozen=True)
class JsonFormat:
    """Any JSON; each string that is a value is a message."""

    languages: Languages = Languages()
    name: ClassVar[str] = "json"
    suffixes: ClassVar[tuple[str, ...]] = (".json",)
    notes: ClassVar[str] = ""
    """Keys that begin so stay with all they have."""

    def read(self, path: Path) -> Iterator[Segment]:
        """The strings of a catalogue."""
        return segments_on(walk(path, read_catalogue(path)[1], self.notes))

    def write(self, path: Path, out: IO[bytes], answers: Iterator[MarkedText | None]) -> None:
        """The catalogue with other strings."""
        code, text = read_catalogue(path)
        out.write(code.mark)
        write_whole(walk(path, text, self.notes), lambda part: out.write(code.encode(part)), answers)


@dataclass(frozen=True)
class ArbFormat(JsonFormat):
    """Catalogues of Flutter."""

    name: ClassVar[str] = "arb"
    suffixes: ClassVar[tuple[str, ...]] = (".arb",)
    notes: ClassVar[str] = "@"


@dataclass(slots=True)
class Level:
    """An object or a list that is open."""

    listed: bool
    key: str = ""
    count: int = 0
    wants_key: bool = True


def walk(path: Path, text: str, notes: str) -> Walk:
    """Value by value; the file has been parsed before, so that it is sound."""
    check(path, text)
    ascii_only = text.isascii() and "\\u" in text
    levels: list[Level] = []
    done = 0
    for word in _WORD.finditer(text):
        sign, level = word[0], levels[-1] if levels else None
        if sign in ("{", "["):
            levels.append(Level(sign == "["))
        elif sign in ("}", "]"):
            levels.pop()
        elif sign == ",":
            if level:
                level.count, level.wants_key = level.count + 1, True
        elif sign[0] == '"' and level and not level.listed and level.wants_key:
            level.key, level.wants_key = json.loads(sign), False
        elif sign[0] == '"' and not any(notes and one.key.startswith(notes) for one in levels):
            where = ".".join(str(one.count) if one.listed else one.key for one in levels) or "the value"
            answer = yield from ask(json.loads(sign), where)
            if answer is not None:
                yield text[done : word.start()] + json.dumps(answer, ensure_ascii=ascii_only)
                done = word.end()
    yield text[done:]


def check(path: Path, text: str) -> None:
    """DataError: this is no JSON."""
    if not text.strip():
        hint = "a catalogue without texts is {}"
        raise DataError("the file is empty", where=str(path), hint=hint, code="empty")
    hint = "mend it there; comments and commas at the end of a list are no JSON"
    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        where = f"{path}, line {error.lineno}, column {error.colno}"
        raise DataError(f"broken JSON: {error.msg}", where=where, hint=hint, code="broken_json") from None
    except RecursionError:
        raise DataError(
            "the JSON is nested too deeply", where=str(path), hint="flatten it", code="broken_json"
        ) from None
    except ValueError as error:  # a number of thousands of digits
        raise DataError(f"broken JSON: {error}", where=str(path), hint=hint, code="broken_json") from None
