"""Named arrays in one safetensors file, without torch and without a copy.

The file is 8 bytes with the size of a header, the header in JSON, and the numbers. Here every array begins at
a multiple of 64 bytes if the buffer does, so that a file can be used as it lies in memory.
"""

import json
from collections.abc import Mapping
from itertools import pairwise
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jumok.errors import ModelError

Array = NDArray[Any]

ALIGNED = 64
HEADER = 100 << 20
"""Most bytes of a header, as in the library of the format."""
TYPES = {
    "F64": "<f8",
    "F32": "<f4",
    "F16": "<f2",
    "BF16": "<u2",  # numpy has no such type; see `parse_tensors`
    "I64": "<i8",
    "I32": "<i4",
    "I16": "<i2",
    "I8": "<i1",
    "U8": "|u1",
    "BOOL": "|b1",
}
NAMES = {"<f4": "F32", "<i4": "I32", "|i1": "I8", "|u1": "U8"}
AGAIN = "copy the folder again from where it was whole"


def dump_tensors(arrays: Mapping[str, Array], metadata: Mapping[str, str]) -> bytes:
    """The bytes of a file with these arrays, of types in NAMES, each at a multiple of 64 bytes."""
    header: dict[str, Any] = {"__metadata__": dict(metadata)}
    chunks, place = list[bytes](), 0
    for name, array in arrays.items():
        data = np.ascontiguousarray(array).tobytes()
        if gap := -place % ALIGNED:  # the format leaves no holes: what fills one has a name
            header[f"{name}.gap"] = {"dtype": "U8", "shape": [gap], "data_offsets": [place, place + gap]}
            chunks.append(bytes(gap))
            place += gap
        kind = NAMES[array.dtype.str]
        header[name] = {
            "dtype": kind,
            "shape": list(array.shape),
            "data_offsets": [place, place + len(data)],
        }
        chunks.append(data)
        place += len(data)
    words = json.dumps(header, ensure_ascii=False).encode()
    words += b" " * (-(8 + len(words)) % ALIGNED)
    return b"".join((len(words).to_bytes(8, "little"), words, *chunks))


def parse_tensors(buffer: Any, where: str) -> tuple[dict[str, Array], dict[str, str]]:
    """The arrays of a file that is in memory, as views of it, and its metadata; else a ModelError.

    bfloat16 becomes float32, which takes memory of its own.
    """
    try:
        return _parse(memoryview(buffer))
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError, OverflowError) as error:
        raise ModelError(
            f"the file holds no readable tensors: {str(error)[:200]}",
            where=where,
            hint=AGAIN,
            code="damaged",
        ) from None


def check_format(metadata: Mapping[str, str], wanted: str, what: str, where: str, hint: str) -> None:
    """Refuse a file of another format than `wanted`, which is written NAME/VERSION."""
    if (said := metadata.get("format")) != wanted:
        later = str(said).split("/")[0] == wanted.split("/")[0]
        raise ModelError(
            f"{what} has the format {str(said)[:80]!r}; this jumok reads {wanted}",
            where=where,
            hint="upgrade jumok" if later else hint,
            code="newer_format",
        )


def _parse(data: memoryview) -> tuple[dict[str, Array], dict[str, str]]:
    size = int.from_bytes(data[:8], "little")
    if len(data) < 8 or size > min(HEADER, len(data) - 8):
        raise ValueError("its header is cut short")
    header = json.loads(bytes(data[8 : 8 + size]).decode())
    metadata = header.pop("__metadata__", {})
    numbers = np.frombuffer(data[8 + size :], dtype=np.uint8)
    arrays, spans = dict[str, Array](), list[tuple[int, int]]()
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        shape, kind = tuple(entry["shape"]), np.dtype(TYPES[entry["dtype"]])
        if not all(isinstance(number, int) and number >= 0 for number in (begin, end, *shape)):
            raise ValueError(f"the place of {name[:80]} is no number")
        if end > len(numbers) or end - begin != prod(shape) * kind.itemsize:
            raise ValueError(f"{name[:80]} has {end - begin} bytes, and its shape is {shape}")
        spans.append((begin, end))
        array = _typed(numbers[begin:end], kind).reshape(shape)
        if not name.endswith(".gap"):
            arrays[name] = _from_bf16(array) if entry["dtype"] == "BF16" else array
    ordered = sorted(spans)
    if any(before[1] != after[0] for before, after in pairwise([(0, 0), *ordered, (len(numbers), 0)])):
        raise ValueError("its tensors do not fill the file")
    return arrays, {str(key): str(value) for key, value in metadata.items()}


def _typed(numbers: NDArray[np.uint8], kind: np.dtype[Any]) -> Array:
    """The bytes as numbers of this kind; copied where they do not begin where such a number may."""
    aligned = numbers.ctypes.data % kind.itemsize == 0
    return (numbers if aligned else numbers.copy()).view(kind)


def _from_bf16(array: Array) -> Array:
    return (array.astype(np.uint32) << 16).view(np.float32)
