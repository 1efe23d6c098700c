"""`neighbours.safetensors` beside a model: states of some training sentences. Bytes and JSON only, no torch.

It may be added to a model folder at any time, so no manifest has it: a seal in its header says whether header
and numbers are as they were written, and the SHA-256 of the weights whether it belongs to them.
"""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jumok.checkpoint.bundled import aliases_of, bundled
from jumok.checkpoint.calibration import weights_of
from jumok.checkpoint.folder import replace_file
from jumok.checkpoint.manifest import NEIGHBOURS, read_small
from jumok.errors import ConfigError, ModelError
from jumok.seals import SEAL

FORMAT = "jumok-neighbours/1"
AGAIN = "make it again: jumok neighbours -m MODEL --data NAME"


def has_neighbours(folder: Path) -> bool:
    """Whether there is an index, be it damaged."""
    return (folder / NEIGHBOURS).exists()


def write_neighbours(folder: Path, tensors: Mapping[str, Any], about: Mapping[str, Any]) -> Path:
    """Keep an index beside the model whose states it holds; `about` is what JSON can say of it."""
    from jumok.native.tensors import dump_tensors

    said = {"format": FORMAT, "weights": weights_of(folder), "index": json.dumps(about, ensure_ascii=False)}
    plain = dump_tensors(tensors, {**said, SEAL: ""})
    replace_file(folder / NEIGHBOURS, dump_tensors(tensors, {**said, SEAL: seal_of(plain)}))
    return folder / NEIGHBOURS


def _way_to_one(folder: Path) -> str:
    """How to come by an index; what came with the package is not written into."""
    if not aliases_of(folder):
        return f"make one, with sentences that it was trained on: jumok neighbours -m {folder} --data NAME"
    having = ", ".join(aliases_of(place)[0] for place in bundled().values() if has_neighbours(place))
    return (
        f"of the models that come with jumok {having} has one; for this one copy {folder} first, and make it "
        "for the copy, with sentences that it was trained on: jumok neighbours -m COPY --data NAME"
    )


def read_neighbours(folder: Path) -> tuple[bytes, dict[str, Any]]:
    """The bytes of an index and what it says of itself; an error if none belongs to this model."""
    where = folder / NEIGHBOURS
    if not has_neighbours(folder):
        reason = "the model has no index of training states"
        raise ConfigError(reason, hint=_way_to_one(folder), code="no_neighbours")
    data = read_small(where)
    try:
        said = header_of(data)["__metadata__"]
        form, seal, about = said["format"], said[SEAL], json.loads(said["index"])
        if form == FORMAT and seal != seal_of(data):
            raise bad_neighbours(where, "its content has changed since it was written")
    except (ValueError, LookupError, TypeError, RecursionError):
        raise bad_neighbours(where, "it has no readable header") from None
    if form != FORMAT:
        raise bad_neighbours(where, f"its format is {str(form)[:80]!r}, and this jumok reads {FORMAT}")
    if (theirs := str(said.get("weights"))) != (ours := weights_of(folder)):
        raise bad_neighbours(where, f"it was made for the weights {theirs[:12]}…, and these are {ours[:12]}…")
    return data, about


def header_of(data: bytes) -> dict[str, Any]:
    """The header of a safetensors file."""
    found: dict[str, Any] = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])
    return found


def seal_of(data: bytes) -> str:
    """SHA-256 of an index without its seal: of every header field and every number."""
    header = header_of(data)
    header["__metadata__"] = {**header["__metadata__"], SEAL: ""}
    words = json.dumps(header, sort_keys=True).encode()
    return hashlib.sha256(words + data[8 + int.from_bytes(data[:8], "little") :]).hexdigest()


def bad_neighbours(where: Path, reason: str) -> ModelError:
    """The error for an index that cannot be used."""
    message = f"{where.name} cannot be used: {reason}"
    return ModelError(message, where=str(where), hint=AGAIN, code="bad_neighbours")


def neighbours_faults(folder: Path) -> list[str]:
    """Why the index of a folder cannot be used; none is no fault."""
    if not has_neighbours(folder):
        return []
    try:
        read_neighbours(folder)
    except ModelError as error:
        return [error.message]
    return []
