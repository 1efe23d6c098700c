"""The bytes of a file, unpacked by its name: plain, gzip, bzip2, xz or zstd; never more than the text can be.

A file that unpacks to far more than any text would is refused, and so is one that is cut short.
"""

import bz2
import gzip
import lzma
import os
import stat
import sys
import zlib
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from io import BufferedReader, BytesIO
from pathlib import Path
from typing import Any, Protocol, cast

from jumok.errors import ConfigError, DataError, nearest

STDIN = "standard input"
BLOCK = 1 << 19
GROWTH_FREE, GROWTH_RATIO = 64 << 20, 200  # beyond the first bytes, how much a file may grow when unpacked
PACKINGS = {".gz": "gzip", ".bz2": "bzip2", ".xz": "xz", ".zst": "zstd", ".zstd": "zstd"}
ZSTD_PIECE = 1 << 10  # packed bytes that `zstandard` gets at once: they unpack to 32 MiB at most
ZSTD_WINDOW = 1 << 27  # bytes that a zstd file may look back


class ByteReader(Protocol):
    """What hands out bytes, some at a time; nothing at the end."""

    def read(self, size: int, /) -> bytes: ...


def split_packing(path: str) -> tuple[str, str]:
    """A name without the ending that says how it is packed, and that ending: `a.tsv.xz` is `a.tsv`, `.xz`."""
    for ending in PACKINGS:
        if path.lower().endswith(ending):
            return path[: -len(ending)], path[-len(ending) :]
    return path, ""


def file_blocks(path: str, name: str = "") -> Generator[bytes, None, None]:
    """The unpacked bytes of a file, block by block; `name` is what messages call it."""
    _, ending = split_packing(path)
    with open_bytes(path) as file:
        name = name or path
        yield from _unpacked(file, name, PACKINGS[ending.lower()]) if ending else raw_blocks(file, name)


def raw_blocks(file: BufferedReader, name: str) -> Iterator[bytes]:
    """The bytes as they are; from a pipe what there is, without waiting for a full block."""
    try:
        yield from iter(lambda: file.read1(BLOCK), b"")
    except OSError as error:
        raise unreadable_file(error, name) from None


def unreadable_file(error: OSError, where: str) -> DataError:
    """A file that can be found and not be read."""
    reason = (error.strerror or "unknown reason").lower()
    hint = "check who may read it: ls -l" if isinstance(error, PermissionError) else "give a text file"
    return DataError(f"cannot read the file: {reason}", where=where, hint=hint, code="unreadable")


def _unpacked(file: BufferedReader, name: str, packing: str) -> Iterator[bytes]:
    """Blocks of the unpacked bytes; refuses a file that is damaged, cut short, or grows without measure."""
    size, unpacked = 0, _unpacker(file, packing)
    is_file = stat.S_ISREG(os.fstat(file.fileno()).st_mode)
    most = growth_limit(os.fstat(file.fileno()).st_size)
    try:
        while block := unpacked.read(BLOCK):
            size += len(block)
            if size > most and is_file:
                raise grows_too_much(most, name, f"{packing}_bomb")
            yield block
    except OSError as error:
        if error.errno is not None:
            raise unreadable_file(error, name) from None
        raise _damaged(packing, name, size) from None  # of gzip and bzip2
    except EOFError:
        raise _damaged(packing, name, size, f"the {packing} file is cut short") from None
    except (zlib.error, lzma.LZMAError, ZstdFault):
        raise _damaged(packing, name, size) from None


def growth_limit(packed: int) -> int:
    """How many bytes so many packed ones may become."""
    return max(GROWTH_FREE, GROWTH_RATIO * packed)


def grows_too_much(most: int, where: str, code: str) -> DataError:
    """A packed file that becomes larger than any text would."""
    return DataError(
        f"unpacks to more than {most >> 20:,} MiB, over {GROWTH_RATIO} times its size",
        where=where,
        hint="no text shrinks that much; if this one does, unpack it yourself",
        code=code,
    )


def _damaged(packing: str, name: str, size: int, what: str = "") -> DataError:
    return DataError(
        what or f"not a sound {packing} file",
        where=f"{name}, after {size:,} unpacked bytes",
        hint="copy it again",
        code=f"bad_{packing}",
    )


def _unpacker(file: BufferedReader, packing: str) -> ByteReader:
    match packing:
        case "gzip":
            return gzip.GzipFile(fileobj=file)
        case "bzip2":
            return bz2.BZ2File(file)
        case "xz":
            return lzma.LZMAFile(file)
        case _:
            return ZstdStream(file)


class ZstdFault(Exception):
    """The bytes are no zstd."""


class ZstdStream:
    """Unpacks zstd with the standard library, from Python 3.14 on, or with the package zstandard."""

    def __init__(self, file: ByteReader) -> None:
        self.file, self.unpacker, self.begun = file, _zstd_decompressor(), False
        self.ready = BytesIO()  # what is unpacked and not yet read

    def read(self, size: int, /) -> bytes:
        """Up to `size` bytes; b"" at the end. EOFError: the file is cut short."""
        found, left = list[bytes](), size
        while left:
            if part := self.ready.read(left):
                found.append(part)
                left -= len(part)
            elif piece := self.file.read(ZSTD_PIECE):
                self.ready = BytesIO(b"".join(self._parts(piece)))
            elif self.begun:
                raise EOFError
            else:
                break
        return b"".join(found)

    def _parts(self, piece: bytes) -> Iterator[bytes]:
        while piece:
            yield self._unpack(piece)
            piece = b""
            if self.unpacker.eof:  # another frame may follow
                piece = self.unpacker.unused_data
                self.unpacker, self.begun = _zstd_decompressor(), False

    def _unpack(self, piece: bytes) -> bytes:
        self.begun = True
        try:
            return cast(bytes, self.unpacker.decompress(piece))
        except Exception as error:  # each of the two libraries has an error class of its own
            raise ZstdFault from error


def _zstd_decompressor() -> Any:
    if sys.version_info >= (3, 14):
        from compression.zstd import DecompressionParameter, ZstdDecompressor

        return ZstdDecompressor(options={DecompressionParameter.window_log_max: ZSTD_WINDOW.bit_length() - 1})
    try:
        import zstandard
    except ImportError:
        raise ConfigError(
            "zstd files need Python 3.14, or the package zstandard",
            hint='install it: pip install "jumok[corpora]"; or unpack the file: zstd -d FILE',
            code="not_installed",
        ) from None
    return zstandard.ZstdDecompressor(max_window_size=ZSTD_WINDOW).decompressobj()


@contextmanager
def open_bytes(path: str) -> Iterator[BufferedReader]:
    """The bytes of a file or of standard input, or an error that says what stands at that path."""
    if path == "-":
        yield cast(BufferedReader, sys.stdin.buffer)
        return
    try:
        mode = os.stat(path).st_mode
        if stat.S_ISDIR(mode):
            raise DataError("a folder, not a file", where=path, hint=_inside(path), code="is_folder")
        if not (stat.S_ISREG(mode) or stat.S_ISFIFO(mode)):
            what = "a socket" if stat.S_ISSOCK(mode) else "a device"
            raise DataError(f"{what}, not a file", where=path, hint="give a text file", code="not_a_file")
        file = open(path, "rb")  # noqa: SIM115
    except FileNotFoundError:
        raise DataError("no such file", where=path, hint=_neighbour(path), code="no_file") from None
    except OSError as error:
        raise unreadable_file(error, path) from None
    with file:
        yield file


def _inside(path: str) -> str:
    try:
        files = sorted(entry.name for entry in os.scandir(path) if entry.is_file())
    except OSError:
        files = []
    return f"name a file in it: {', '.join(files[:5])}" if files else "name a file"


def _neighbour(path: str) -> str:
    folder = Path(path).parent
    try:
        names = [entry.name for entry in os.scandir(folder) if entry.is_file()]
    except OSError:
        return f"there is no folder {folder} either"
    hint = nearest(Path(path).name, names)
    return hint if hint.startswith("did you mean") else "check the path"
