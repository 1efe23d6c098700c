"""Weights in safetensors: one file, or shards with an index. Only the headers are read here."""

import json
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from jumok.errors import ModelError
from jumok.importing.brought import COPY, BroughtFolder
from jumok.importing.stored import TYPES, Stored

ONE = "model.safetensors"
INDEX = "model.safetensors.index.json"
HEADER = 100 << 20  # most bytes of a header, as in the library of the format


def read_safetensors(folder: BroughtFolder) -> dict[str, Stored]:
    """The tensors of a folder with `model.safetensors`, or with an index and its shards."""
    if folder.has(ONE):
        folder.digest(ONE)
        return tensors_of(folder.file(ONE))
    index = folder.object(INDEX)
    places = index.get("weight_map")
    if not isinstance(places, dict) or not all(isinstance(name, str) for name in places.values()):
        raise ModelError(f"{INDEX} has no weight_map", where=str(folder.path / INDEX), hint=COPY)
    names = sorted(set(places.values()))
    if absent := [name for name in names if not folder.has(name)]:
        raise ModelError(
            f"{len(absent)} of {len(names)} shards are missing: {', '.join(absent[:5])}",
            where=str(folder.path),
            hint="fetch the whole model again: its weights are in several files",
            code="missing_file",
        )
    found: dict[str, Stored] = {}
    for name in names:
        if "/" in name or "\\" in name:
            raise ModelError(f"{INDEX} names {name!r}, which is no plain name", where=str(folder.path))
        folder.digest(name)
        found |= tensors_of(folder.file(name))
    if lost := sorted(places.keys() - found.keys()):
        raise ModelError(f"no shard has the tensor {lost[0]}", where=str(folder.path / INDEX), hint=COPY)
    return found


def tensors_of(path: Path) -> dict[str, Stored]:
    """The tensors of one file, by its header."""
    size = path.stat().st_size
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        if size < 8 or length > min(HEADER, size - 8):
            raise damaged(path, "its header is cut short")
        data = file.read(length)
    try:
        header = json.loads(data.decode())
        header.pop("__metadata__", None)
        found = {name: _stored(path, name, entry, 8 + length) for name, entry in header.items()}
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise damaged(path, f"its header cannot be read ({str(error)[:100]})") from None
    end = max((one.begin + one.bytes for one in found.values()), default=8 + length)
    if end != size:
        raise damaged(path, f"it has {size:,} bytes and its header speaks of {end:,}")
    return found


def _stored(path: Path, name: str, entry: Any, first: int) -> Stored:
    kind, shape, (begin, end) = entry["dtype"], tuple(entry["shape"]), entry["data_offsets"]
    if not isinstance(kind, str) or kind not in TYPES:
        raise other_type(str(kind), name, path)
    if not all(type(number) is int and number >= 0 for number in (begin, end, *shape)):
        raise ValueError(f"{name[:80]} has no place")
    if end - begin != prod(shape) * np.dtype(TYPES[kind]).itemsize:
        raise ValueError(f"{name[:80]} has {end - begin} bytes, and its shape is {shape}")
    return Stored(path, first + begin, kind, shape)


def other_type(kind: str, name: str, path: Path) -> ModelError:
    """The error for numbers of a type that is not read, such as fp8."""
    what = f"8-bit floating point ({kind})" if kind.startswith(("F8", "float8")) else f"type {kind[:40]}"
    return ModelError(
        f"the tensor {name[:80]} has numbers of {what}, which are not read",
        where=str(path),
        hint="save the model in float32, float16 or bfloat16 first",
        code="unsupported",
    )


def damaged(path: Path, reason: str) -> ModelError:
    return ModelError(
        f"{path.name} holds no readable tensors: {reason}",
        where=str(path),
        hint="copy the file again from where it was whole",
        code="damaged",
    )
