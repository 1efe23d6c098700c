"""Write a model folder tensor by tensor, so that no more than one lies in memory."""

import hashlib
import json
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from jumok.checkpoint.contents import WEIGHTS
from jumok.checkpoint.folder import dump_manifest, write_file
from jumok.checkpoint.manifest import MANIFEST
from jumok.errors import ModelError, RunError
from jumok.importing.stored import Made
from jumok.progress import Progress
from jumok.systems import sync_folder

ALIGNED = 64


def write_model(
    work: Path, files: Mapping[str, bytes], tensors: Mapping[str, Made], progress: Progress
) -> None:
    """Fill an empty folder with these files, the weights and a manifest."""
    need = sum(map(len, files.values())) + sum(4 * int(np.prod(made.shape)) for made in tensors.values())
    if (free := shutil.disk_usage(work).free) < 1.1 * need:
        raise RunError(
            f"the disk is full: {need:,} bytes are needed and {free:,} are free",
            where=str(work.parent),
            hint="make room, or choose another folder",
            code="disk_full",
        )
    entries: dict[str, tuple[int, str]] = {}
    for name, data in files.items():
        write_file(work / name, data)
        entries[name] = len(data), hashlib.sha256(data).hexdigest()
    entries[WEIGHTS] = write_weights(work / WEIGHTS, tensors, progress)
    write_file(work / MANIFEST, dump_manifest(entries))
    sync_folder(work)


def write_weights(path: Path, tensors: Mapping[str, Made], progress: Progress) -> tuple[int, str]:
    """A safetensors file of float32; its size and SHA-256."""
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    place = 0
    for name, made in tensors.items():
        size = 4 * int(np.prod(made.shape))
        header[name] = {"dtype": "F32", "shape": list(made.shape), "data_offsets": [place, place + size]}
        place += size
    words = json.dumps(header, separators=(",", ":")).encode()
    words += b" " * (-(8 + len(words)) % ALIGNED)
    digest = hashlib.sha256()
    with path.open("xb") as file:
        for data in (len(words).to_bytes(8, "little"), words):
            _write(file, data, digest)
        for n, (name, made) in enumerate(tensors.items()):
            progress("writing the weights", n, len(tensors))
            _write(file, checked(name, made), digest)
        file.flush()
        os.fsync(file.fileno())
    progress("writing the weights", len(tensors), len(tensors))
    return 8 + len(words) + place, digest.hexdigest()


def checked(name: str, made: Made) -> memoryview:
    """The numbers of a tensor, which must all be finite."""
    numbers = np.ascontiguousarray(made.make(), dtype="<f4")
    if numbers.shape != made.shape:
        raise RunError(f"{name} has the shape {numbers.shape}, not {made.shape}")
    if not np.isfinite(numbers).all():
        raise ModelError(
            f"{int((~np.isfinite(numbers)).sum()):,} of {numbers.size:,} numbers of {name} are not finite",
            hint="the model is damaged or was saved while it diverged",
            code="non_finite",
        )
    return numbers.reshape(-1).view(np.uint8).data


def _write(file: BinaryIO, data: Any, digest: Any) -> None:
    file.write(data)
    digest.update(data)
