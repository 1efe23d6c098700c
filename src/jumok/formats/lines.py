"""Bytes to lines of text: UTF-8, ended by "\\n" and nowhere else, every fault with its line and byte."""

from collections.abc import Iterator
from typing import Literal

from jumok.errors import DataError
from jumok.formats.files import STDIN, file_blocks

Errors = Literal["strict", "replace"]
Faults = dict[int, DataError]
"""What is wrong with lines, by their numbers."""

MAX_LINE = 1_000_000  # bytes; more than a block, so only a line that spans blocks can be too long
MAGIC = {b"\x1f\x8b": ("gzip", ".gz"), b"BZh": ("bzip2", ".bz2"), b"\xfd7zXZ\0": ("xz", ".xz")}
MAGIC |= {b"\x28\xb5\x2f\xfd": ("zstd", ".zst"), b"PK\3\4": ("zip", ".zip"), b"PAR1": ("parquet", ".parquet")}


def read_lines(
    path: str, *, name: str = "", encoding_errors: Errors = "strict", faults: Faults | None = None
) -> Iterator[str]:
    """The lines of a file without their ends, unpacked by its name; "-" is standard input.

    What is not text is an error; given `faults`, it is noted there by its line.
    """
    name = name or (STDIN if path == "-" else path)
    return lines_of(file_blocks(path, name), name, encoding_errors, faults)


def lines_of(
    blocks: Iterator[bytes], name: str, errors: Errors, faults: Faults | None = None
) -> Iterator[str]:
    """The lines in a stream of bytes."""
    number, rest, start = 0, b"", True
    for block in blocks:
        if start:
            check_head(block, name)
            block, start = block.removeprefix(b"\xef\xbb\xbf"), False
        whole, newline, tail = block.rpartition(b"\n")
        if not newline:
            rest += block
            _check_line(len(rest), name, number)
            continue
        whole = rest + whole
        _check_line(whole.find(b"\n") if b"\n" in whole else len(whole), name, number)
        lines = _decode(whole, name, number, errors, faults)
        yield from lines
        number, rest = number + len(lines), tail
    if rest:
        yield from _decode(rest, name, number, errors, faults)


def _decode(data: bytes, name: str, number: int, errors: Errors, faults: Faults | None) -> list[str]:
    """The lines in `data`, which follows line `number` and does not end in a line break.

    What is not text is an error; given `faults`, it is noted there, and a NUL is left to other checks.
    """
    if faults is None and b"\0" in data:
        line = number + data.count(b"\n", 0, data.index(b"\0")) + 1
        raise nul_error(f"{name}:{line}")
    try:
        text = data.decode("utf-8", errors)
    except UnicodeDecodeError as error:
        if faults is not None and b"\n" in data:
            single = enumerate(data.split(b"\n"), start=number)
            return [_decode(line, name, before, errors, faults)[0] for before, line in single]
        line = number + data.count(b"\n", 0, error.start) + 1
        byte = error.start - data.rfind(b"\n", 0, error.start)
        where = f"{name}:{line}:{byte}"
        if faults is None:
            raise _not_utf8(data[error.start], where) from None
        faults[line] = _not_utf8(data[error.start], where)
        text = data.decode("utf-8", "replace")
    lines = text.split("\n")
    return [line.removesuffix("\r") for line in lines] if "\r" in text else lines


def _not_utf8(byte: int, where: str) -> DataError:
    return DataError(
        f"byte 0x{byte:02X} is not UTF-8",
        where=where,
        hint="convert the file to UTF-8; or read on past such bytes: --errors replace, and in training "
        "--set data.encoding_errors=replace",
        code="bad_utf8",
    )


def _check_line(length: int, name: str, number: int) -> None:
    if length > MAX_LINE:
        raise DataError(
            f"the line has more than {MAX_LINE:,} bytes",
            where=f"{name}:{number + 1}",
            hint="one sentence stands on one line; is this a text file with line breaks?",
            code="line_too_long",
        )


def check_head(block: bytes, name: str) -> None:
    """Name the usual reasons why a file is not UTF-8 from its first line on."""
    if block.startswith((b"\xff\xfe", b"\xfe\xff")):
        hint = "convert it: iconv -f UTF-16 -t UTF-8"
        raise DataError("the file is UTF-16, not UTF-8", where=f"{name}:1:1", hint=hint, code="bad_utf8")
    for magic, (what, ending) in MAGIC.items():
        if block.startswith(magic):
            hint = f"give it a name that ends in {ending}"
            raise DataError(
                f"the file is packed with {what}", where=f"{name}:1:1", hint=hint, code="bad_utf8"
            )


def nul_error(where: str) -> DataError:
    """A NUL where text should be."""
    return DataError(
        "a NUL byte, which no text has", where=where, hint="the file is damaged or binary", code="nul_byte"
    )
