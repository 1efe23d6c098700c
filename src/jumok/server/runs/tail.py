"""A growing file of JSON lines, read from where one stopped, however it is cut, replaced or broken.

Only whole lines are read: the last one waits until its end is written. A position is a byte offset at the
start of a line, so that a reader that was away goes on where it was.
"""

import json
import math
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from jumok.seals import unsealed
from jumok.systems import open_flags, read_at

LONGEST = 1 << 20  # bytes of a line; a longer one is left out
DEPTH = 16  # lists and objects inside each other
DIGITS = 300  # of a whole number, so that a float can hold it

Event = dict[str, Any]


@dataclass(frozen=True, slots=True)
class LogLine:
    """One event and where the next line begins."""

    end: int
    event: Event


class Tail:
    """Reads what is new in a file. `restarts` counts how often it had to begin again, because the file that
    it knew was cut or another one stands in its place."""

    def __init__(self, path: Path, offset: int = 0) -> None:
        self.path, self.offset = path, max(offset, 0)
        self.restarts = 0
        self._file: tuple[int, int] | None = None  # device and inode of the file that was read
        self._searched = 0  # how far a line that is too long has no end

    def read(self, limit: int = 4 * LONGEST) -> list[LogLine]:
        """The next events, from about `limit` bytes at most; none when there is nothing new.

        Lines that are no JSON object are passed over. A file that is missing or cannot be read has no lines.
        """
        try:
            with _open_plain(self.path) as file:
                self._check_same(file)
                return list(self._lines(file, limit))
        except OSError:
            return []

    def _check_same(self, file: BinaryIO) -> None:
        """Begin again unless the file still has a line that ends where the next one is expected."""
        about = os.fstat(file.fileno())
        here = (about.st_dev, about.st_ino)
        other = self._file not in (None, here)
        self._file = here
        reach = max(self.offset, self._searched)
        if (
            other
            or about.st_size < reach
            or (self.offset and read_at(file.fileno(), 1, self.offset - 1) != b"\n")
        ):
            self.offset = self._searched = 0
            self.restarts += 1

    def _lines(self, file: BinaryIO, limit: int) -> Iterator[LogLine]:
        stop = self.offset + limit
        while self.offset < stop:
            file.seek(self.offset)
            data = file.read(LONGEST + 1)
            end = data.rfind(b"\n") + 1
            if end:
                yield from self._complete_lines(data[:end])
            elif len(data) <= LONGEST or not self._skip_long_line(file):
                return

    def _complete_lines(self, data: bytes) -> Iterator[LogLine]:
        """The events of lines that are all complete."""
        for line in data[:-1].split(b"\n"):
            self.offset += len(line) + 1
            if (event := parse_event(line)) is not None:
                yield LogLine(self.offset, event)

    def _skip_long_line(self, file: BinaryIO) -> bool:
        """Go behind a line that is too long; False while its end is not written."""
        self._searched = max(self._searched, self.offset)
        file.seek(self._searched)
        while data := file.read(LONGEST):
            if (place := data.find(b"\n")) >= 0:
                self.offset, self._searched = self._searched + place + 1, 0
                return True
            self._searched += len(data)
        return False


def parse_event(line: bytes) -> Event | None:
    """The JSON object of a line as plain values that JSON can hold again; None if there is none, or
    if it was changed since it was written."""
    if not line.lstrip().startswith(b"{"):
        return None  # at once: a parser's error costs more than its work
    try:
        value = plain(unsealed(json.loads(line)))
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def plain(value: Any, depth: int = DEPTH) -> Any:
    """The same value as JSON for everyone: finite numbers, whole characters; ValueError if nested deeper."""
    if depth < 0:
        raise ValueError("too many lists and objects inside each other")
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-8", "replace").decode("utf-8")
    if isinstance(value, dict):
        return {plain(str(key)): plain(one, depth - 1) for key, one in value.items()}
    if isinstance(value, list):
        return [plain(one, depth - 1) for one in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, int) and abs(value) >= 10**DIGITS:
        return None
    return value if value is None or isinstance(value, bool | int) else str(value)


def read_small(path: Path, limit: int) -> bytes | None:
    """The bytes of a plain file of at most `limit` bytes; None if it cannot be read, or is longer."""
    try:
        with _open_plain(path) as file:
            data = file.read(limit + 1)
    except OSError:
        return None
    return data if len(data) <= limit else None


def _open_plain(path: Path) -> BinaryIO:
    """Open a file without waiting for anyone: a pipe or a device in its place is an OSError."""
    descriptor = os.open(path, open_flags("O_RDONLY", "O_NONBLOCK", "O_CLOEXEC"))
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError("not a plain file")
    return os.fdopen(descriptor, "rb")
