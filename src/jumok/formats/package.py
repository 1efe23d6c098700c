"""Documents that are zip files: some parts are rewritten, all others are copied with the bytes that they had.

Sizes are looked at before anything is unpacked. A part is read and written piece by piece.
"""

import copy
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath
from typing import IO, Self

from jumok.errors import DataError
from jumok.formats.segments import MarkedText, Segment
from jumok.formats.spliced import no_more_answers
from jumok.formats.walk import Walk, segments_on, write_walk
from jumok.formats.xml_stream import XmlStream

MOST_PARTS = 100_000
MOST_UNPACKED = 4 << 30
MOST_RATIO = 200
FREE_OF_RATIO = 64 << 20  # what unpacks to less harms nobody
CHUNK = 1 << 16
KNOWN_COMPRESSION = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA)
OLD_OFFICE = bytes.fromhex("D0CF11E0A1B11AE1")

PartWalk = Callable[[XmlStream, str], Walk]
"""How one part is walked: its tokens, and where it stands, for people."""


class PartFile:
    """A part that is being unpacked; whatever is wrong with it is said with its name."""

    def __init__(self, file: IO[bytes], where: str) -> None:
        self.file, self.where = file, where

    def read(self, size: int) -> bytes:
        """The next bytes. DataError: the zip is damaged."""
        try:
            return self.file.read(size)
        except (zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError, RuntimeError) as error:
            raise damaged(self.where, error) from None


class Package:
    """A zip file whose list of parts has been looked at. Use it in a `with`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = path.open("rb")  # parts that are open do not keep it from being closed
        try:
            self.zip = self._opened()
            self._check()
        except DataError:
            self._file.close()
            raise

    def _opened(self) -> zipfile.ZipFile:
        beginning = self._file.read(len(OLD_OFFICE))
        if beginning == OLD_OFFICE:
            raise _old(self.path, self._file.read(1 << 20))
        if not beginning:
            where, hint = str(self.path), "save the document again"
            raise DataError("the file is empty", where=where, hint=hint, code="empty")
        try:
            return zipfile.ZipFile(self._file)
        except (zipfile.BadZipFile, ValueError, NotImplementedError, OSError) as error:
            raise DataError(
                f"not a sound zip file, which such a document is: {error}",
                where=str(self.path),
                hint="copy it again, or name another --format",
                code="broken_zip",
            ) from None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    @property
    def names(self) -> list[str]:
        """The parts in their order."""
        return self.zip.namelist()

    def where(self, name: str) -> str:
        """A part, for people."""
        return f"{self.path}, part {name}"

    def open(self, name: str) -> PartFile:
        """A part to be read. DataError: it cannot be unpacked."""
        try:
            return PartFile(self.zip.open(name), self.where(name))
        except (zipfile.BadZipFile, RuntimeError, OSError, ValueError, NotImplementedError) as error:
            raise damaged(self.where(name), error) from None

    def tokens(self, name: str) -> XmlStream:
        """A part as XML."""
        return XmlStream(self.open(name), self.where(name))

    def _check(self) -> None:
        entries = self.zip.infolist()
        unpacked, packed = sum(one.file_size for one in entries), sum(one.compress_size for one in entries)
        if len(entries) > MOST_PARTS or unpacked > MOST_UNPACKED:
            raise self._bomb(
                f"{len(entries):,} parts of {unpacked:,} bytes; at most {MOST_UNPACKED:,} are read"
            )
        if unpacked > FREE_OF_RATIO and unpacked > MOST_RATIO * min(packed, self.path.stat().st_size):
            raise self._bomb(f"{unpacked:,} bytes out of {packed:,}: more than {MOST_RATIO} times as much")
        seen: set[str] = set()
        for one in entries:
            parts = PurePosixPath(one.filename).parts
            if one.filename in seen:
                raise self._unsound("two parts have one name", one.filename)
            if not parts or ".." in parts or parts[0] == "/":
                raise self._unsound("a part leads outside of the document", one.filename)
            if one.flag_bits & 1:
                raise encrypted(self.where(one.filename))
            if one.compress_type not in KNOWN_COMPRESSION:
                raise self._unsound(
                    f"a part is compressed in an unknown way, {one.compress_type}", one.filename
                )
            seen.add(one.filename)

    def _bomb(self, size: str) -> DataError:
        message = f"the document would unpack to {size}"
        return DataError(message, where=str(self.path), hint="this looks like a zip bomb", code="zip_bomb")

    def _unsound(self, message: str, name: str) -> DataError:
        return DataError(message, where=self.where(name), hint="save the document again", code="broken_zip")


def segments_in(path: Path, walks: Callable[[Package], dict[str, PartWalk]]) -> Iterator[Segment]:
    """The segments of all parts that are walked, in the order of the zip."""
    with Package(path) as package:
        of_part = walks(package)
        for name in package.names:
            if (walk := of_part.get(name)) is not None:
                yield from segments_on(walk(package.tokens(name), name))


def write_package(
    path: Path,
    out: IO[bytes],
    answers: Iterator[MarkedText | None],
    walks: Callable[[Package], dict[str, PartWalk]],
) -> None:
    """The same document with answers in the parts that are walked; all else is copied."""
    with Package(path) as package, zipfile.ZipFile(out, "w") as target:
        of_part = walks(package)
        target.comment = package.zip.comment
        for entry in package.zip.infolist():
            with target.open(like(entry), "w", force_zip64=entry.file_size > 1 << 30) as sink:
                _write_part(package, entry.filename, of_part.get(entry.filename), sink, answers)
    no_more_answers(answers)


def _write_part(
    package: Package, name: str, walk: PartWalk | None, sink: IO[bytes], answers: Iterator[MarkedText | None]
) -> None:
    if walk is not None:
        tokens = package.tokens(name)
        return write_walk(walk(tokens, name), lambda text: sink.write(tokens.encode(text)), answers)
    source = package.open(name)
    while chunk := source.read(CHUNK):
        sink.write(chunk)
    return None


def like(entry: zipfile.ZipInfo) -> zipfile.ZipInfo:
    """An entry for the new zip: name, date, rights and compression as they were."""
    new = copy.copy(entry)
    new.extra = b""  # sizes and dates of other programs, in places that have moved
    return new


def encrypted(where: str) -> DataError:
    """The error of a document that nobody can read without a password."""
    return DataError(
        "the document is protected by a password",
        where=where,
        hint="open it, take the password off and save it",
        code="encrypted",
    )


def damaged(where: str, error: Exception) -> DataError:
    """The error of a part that cannot be unpacked."""
    return DataError(
        f"the zip is damaged: {error}", where=where, hint="copy the document again", code="broken_zip"
    )


def _old(path: Path, content: bytes) -> DataError:
    """A file of Office before 2007; new ones with a password are wrapped in one."""
    if "EncryptedPackage".encode("utf-16-le") in content:
        return encrypted(str(path))
    hint = "open it and save it as .docx, .pptx or .xlsx"
    return DataError("a document of Office 97 to 2003", where=str(path), hint=hint, code="old_office")
