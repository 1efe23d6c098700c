"""The variables of a CTranslate2 `model.bin`, read by hand.

u32 version 6                        texts: u16 length with the final zero, bytes, a zero
text name, u32 revision              what kind of model it is
u32 count, then for each variable    text name, u8 rank, u32 shape, u8 type, u32 bytes, numbers
u32 count, then for each alias       text alias, text variable
"""

import struct
from math import prod
from pathlib import Path
from typing import BinaryIO

import numpy as np

from jumok.errors import ModelError
from jumok.importing.safetensors_files import damaged
from jumok.importing.stored import TYPES, Made, Numbers, Stored

KINDS = {0: "F32", 1: "I8", 2: "I16", 3: "I32", 4: "F16", 5: "BF16"}
OLDEST, NEWEST = 4, 6
MOST = 100_000  # variables


def read_variables(path: Path) -> tuple[str, dict[str, Stored]]:
    """The name of the model's specification, and its variables; an alias is another name of the same."""
    size = path.stat().st_size
    with path.open("rb") as file:
        try:
            version = _number(file, "<I")
            if not OLDEST <= version <= NEWEST:
                raise damaged(path, f"it has binary version {version}, and {OLDEST} to {NEWEST} are read")
            name, _ = _text(file), _number(file, "<I")
            found = dict(_variable(file, path, size) for _ in range(_count(file, path)))
            for _ in range(_count(file, path)):
                alias, variable = _text(file), _text(file)
                found[alias] = found[variable]
                if f"{variable}_scale" in found:
                    found[f"{alias}_scale"] = found[f"{variable}_scale"]
        except (struct.error, UnicodeDecodeError, KeyError) as error:
            raise damaged(path, f"it ends too early or is no CTranslate2 model ({error})") from None
    return name, found


def _count(file: BinaryIO, path: Path) -> int:
    if (count := _number(file, "<I")) > MOST:
        raise damaged(path, f"it speaks of {count:,} variables")
    return count


def _number(file: BinaryIO, form: str) -> int:
    (value,) = struct.unpack(form, file.read(struct.calcsize(form)))
    return int(value)


def _text(file: BinaryIO) -> str:
    length = _number(file, "<H")
    data = file.read(length)
    if len(data) < length or data[-1:] != b"\0":
        raise struct.error("a name has no end")
    return data[:-1].decode()


def _variable(file: BinaryIO, path: Path, size: int) -> tuple[str, Stored]:
    name = _text(file)
    shape = tuple(_number(file, "<I") for _ in range(_number(file, "<B")))
    kind = _number(file, "<B")
    if kind not in KINDS:
        raise ModelError(
            f"the variable {name[:80]} has numbers of type {kind}, which are not read",
            where=str(path),
            hint="convert the model without that quantization",
            code="unsupported",
        )
    length, begin = _number(file, "<I"), file.tell()
    stored = Stored(path, begin, KINDS[kind], shape)
    if stored.bytes != length or begin + length > size:
        needed = prod(shape) * np.dtype(TYPES[KINDS[kind]]).itemsize
        raise damaged(path, f"{name[:80]} has {min(length, size - begin):,} of {needed:,} bytes")
    file.seek(begin + length)
    return name, stored


def dequantised(weight: Stored, scale: Stored | None) -> Made:
    """A matrix of codes, divided by the scale of each row or of all."""
    if scale is None:
        return Made(weight.shape, weight.read)

    def make() -> Numbers:
        factors = scale.read()
        return weight.read() / (factors[:, None] if factors.ndim else factors)

    return Made(weight.shape, make)
