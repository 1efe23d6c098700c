"""The arrays of a Marian `.npz`: a zip of plain arrays, found by their headers and read one by one."""

import struct
import zipfile
from pathlib import Path
from tokenize import TokenError
from typing import Any, BinaryIO

import numpy as np
from numpy.lib import format as npy

from jumok.errors import ModelError
from jumok.importing.safetensors_files import damaged
from jumok.importing.stored import TYPES, Stored

SETTINGS = "special:model.yml"
MOST_SETTINGS = 1 << 20
NAMES = {np.dtype(kind).str: name for name, kind in TYPES.items() if name != "BF16"}


def read_npz(path: Path) -> tuple[dict[str, Stored], bytes]:
    """The tensors of a Marian model, and its settings."""
    try:
        with zipfile.ZipFile(path) as file:
            entries = [entry for entry in file.infolist() if entry.filename.endswith(".npy")]
        if packed := [entry for entry in entries if entry.compress_type != zipfile.ZIP_STORED]:
            raise ModelError(
                f"{packed[0].filename} is compressed in the file",
                where=str(path),
                hint="save it anew with numpy.savez, which stores arrays as they are",
                code="unsupported",
            )
        with path.open("rb") as opened:
            found = {entry.filename.removesuffix(".npy"): _array(opened, path, entry) for entry in entries}
    except (zipfile.BadZipFile, ValueError, struct.error, EOFError) as error:
        raise damaged(path, str(error)[:120]) from None
    settings = found.pop(SETTINGS, None)
    if settings is None or settings.bytes > MOST_SETTINGS:
        raise ModelError(
            f"{path.name} has no {SETTINGS}, so it is no Marian model",
            where=str(path),
            hint="Marian writes its settings into the file of the weights",
            code="foreign_model",
        )
    return found, settings.raw().tobytes().rstrip(b"\0")


def _array(file: BinaryIO, path: Path, entry: zipfile.ZipInfo) -> Stored:
    """Where the numbers of one array lie; an array of objects would be a pickle, and is refused."""
    file.seek(entry.header_offset)
    header = file.read(30)
    file.seek(entry.header_offset + 30 + sum(struct.unpack("<HH", header[26:30])))
    begin = file.tell()
    shape, columns_first, kind = _header(file)
    if kind.hasobject or kind.str not in NAMES:
        what = "is a pickle, which could run code" if kind.hasobject else f"has numbers of type {kind}"
        raise ModelError(f"{entry.filename} {what}", where=str(path), code="pickled")
    if any(size < 0 for size in shape):
        raise ValueError(f"{entry.filename} has the shape {shape}")
    if columns_first and sum(size > 1 for size in shape) > 1:
        raise ValueError(f"{entry.filename} lies column by column")
    stored = Stored(path, file.tell(), NAMES[kind.str], tuple(shape))
    if file.tell() - begin + stored.bytes > entry.file_size:
        raise ValueError(f"{entry.filename} was cut short")
    return stored


def _header(file: BinaryIO) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Shape, order and type. numpy reads the header as a Python literal, which can go wrong in many ways."""
    version = npy.read_magic(file)
    read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
    try:
        return read(file)
    except (TypeError, SyntaxError, TokenError, RecursionError, MemoryError) as error:
        raise ValueError(f"a header cannot be read ({type(error).__name__})") from None
