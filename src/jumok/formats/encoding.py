"""How the bytes of a text file are characters: UTF-8, unless its first bytes say UTF-16 or UTF-32."""

import codecs
import io
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from jumok.errors import DataError

MARKS = (  # the longer ones first: UTF-32's begins as UTF-16's does
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


@dataclass(frozen=True, slots=True)
class Encoding:
    """An encoding and the mark at the beginning of the file, which stays there."""

    name: str = "utf-8"
    mark: bytes = b""

    def encode(self, text: str, errors: str = "strict") -> bytes:
        """Text as the file has it."""
        return text.encode(self.name, errors)


def encoding_of(beginning: bytes) -> Encoding:
    """What the first bytes of a file say."""
    for mark, name in MARKS:
        if beginning.startswith(mark):
            return Encoding(name, mark)
    return Encoding()


def encoded_lines(path: Path) -> tuple[Encoding, Iterator[str]]:
    """The lines of a file with their ends as they are, and its encoding. DataError: other bytes."""
    with path.open("rb") as file:
        encoding = encoding_of(file.read(4))
    return encoding, _lines(path, encoding)


def _lines(path: Path, encoding: Encoding) -> Iterator[str]:
    number = 0
    with path.open("rb") as file:
        file.seek(len(encoding.mark))
        # Only \n ends a line here: \r\n stays whole, and lines number as editors number them.
        reader = io.TextIOWrapper(file, encoding=encoding.name, newline="\n")
        try:
            for line in reader:
                number += 1
                yield line
        except UnicodeDecodeError as error:
            raise not_text(path, encoding, error, number) from None


def read_text(path: Path) -> tuple[Encoding, str]:
    """All of a file as text with its line ends as they are. DataError: other bytes."""
    data = path.read_bytes()
    encoding = encoding_of(data)
    try:
        return encoding, data[len(encoding.mark) :].decode(encoding.name)
    except UnicodeDecodeError as error:
        raise not_text(path, encoding, error) from None


def not_text(path: Path, encoding: Encoding, error: UnicodeDecodeError, lines: int = 0) -> DataError:
    """The error of a file with bytes that are no characters; so many lines stand before what was decoded."""
    line = lines + error.object[: error.start].decode(encoding.name, "replace").count("\n") + 1
    wrong = error.object[error.start : error.start + 1].hex()
    return DataError(
        f"the file is not {encoding.name.upper()}: byte 0x{wrong} is no character",
        where=f"{path}, line {line}",
        hint="save it as UTF-8: iconv -f latin1 -t utf-8 FILE",
        code="encoding",
    )
