"""Zip files with text inside: which members hold the two sides, and their bytes."""

import zipfile
import zlib
from collections.abc import Generator
from pathlib import PurePosixPath

from jumok.errors import DataError
from jumok.formats.files import BLOCK, grows_too_much, growth_limit, open_bytes

NO_TEXT = (".ids", ".scores", ".xml", ".info", ".md", ".html", ".pdf")
"""Endings of what stands beside the texts in the archives of OPUS and of others."""
PAPERS = ("readme", "license", "licence", "copying", "notice", "citation")


def text_members(path: str) -> list[str]:
    """The files in a zip file that may hold text, in their order."""
    with open_bytes(path) as opened, _archive(opened, path) as archive:
        names = [entry.filename for entry in archive.infolist() if not entry.is_dir()]
    return [name for name in names if not _is_paper(PurePosixPath(name))]


def _is_paper(name: PurePosixPath) -> bool:
    hidden = name.name.startswith(".") or name.parts[0] == "__MACOSX"
    return hidden or name.name.lower().startswith(PAPERS) or name.name.lower().endswith(NO_TEXT)


def member_blocks(path: str, member: str, name: str = "") -> Generator[bytes, None, None]:
    """The bytes of one file in a zip file, block by block."""
    size, where = 0, name or f"{path}/{member}"
    with open_bytes(path) as opened, _archive(opened, path) as archive:
        try:
            info = archive.getinfo(member)
            if info.flag_bits & 1:
                raise DataError(
                    "protected by a password", where=where, hint="unpack it with the password", code="bad_zip"
                )
            most = growth_limit(info.compress_size)
            with archive.open(info) as file:
                while block := file.read(BLOCK):
                    size += len(block)
                    if size > most:
                        raise grows_too_much(most, where, "zip_bomb")
                    yield block
        except (
            zipfile.BadZipFile,
            zlib.error,
            EOFError,
            OSError,
            NotImplementedError,
            RuntimeError,
        ) as error:
            raise _damaged(where, size, error) from None


def _archive(opened: object, path: str) -> zipfile.ZipFile:
    try:
        return zipfile.ZipFile(opened)  # type: ignore[call-overload,no-any-return]
    except (zipfile.BadZipFile, EOFError, OSError, ValueError, NotImplementedError) as error:
        raise _damaged(path, 0, error) from None


def _damaged(where: str, size: int, error: Exception) -> DataError:
    reason = f": {str(error)[:80]}" if str(error) else ""
    place = f"{where}, after {size:,} unpacked bytes" if size else where
    return DataError(f"not a sound zip file{reason}", where=place, hint="copy it again", code="bad_zip")
