"""The tensors of a trace: their names, where they come from, and the safetensors layout they travel in."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load, save

from jumok.decoding.inside import Inside
from jumok.edits import Kind
from jumok.errors import DataError, nearest
from jumok.explain.capture import STAGES, Array, Captured, capture, read_only
from jumok.explain.ops import bad_parameter
from jumok.explain.tokens import endless
from jumok.seals import SEAL, digest
from jumok.text.tokenizer import EOS

NEED = re.compile(r"([a-z_]{1,20}\.[a-z]{1,20})(?::(\d{1,6})(?:\.(\d{1,6}))?)?", re.ASCII)
LUONG = {"scores": "scores", "weights": "weights", "context": "context", "attentional": "out"}
"""Luong's own names for stages of cross-attention."""

Head = tuple[int, int]
"""A layer and a head in it."""


@dataclass(frozen=True)
class TensorNeed:
    """One tensor that is asked for: `cross.weights` whole, of one layer, or of one head. Counted from 0."""

    group: str
    part: str
    layer: int | None = None
    head: int | None = None


def parse_need(text: str) -> TensorNeed:
    """A need as requests write it: `name`, `name:layer` or `name:layer.head`."""
    found = NEED.fullmatch(text)
    if found is None:
        raise bad_parameter(
            f"{text[:80]!r} names no tensor",
            hint="write name, name:layer or name:layer.head, such as cross.weights:2.3",
            field="need",
        )
    name, layer, head = found.groups()
    group, part = name.split(".")
    return TensorNeed(group, part, *(None if number is None else int(number) for number in (layer, head)))


def names_of(manifest: Mapping[str, Any]) -> list[str]:
    """The names of all tensors that a trace has."""
    names = [
        f"{kind}.{part}"
        for kind, about in manifest["attention"].items()
        for part in ("atlas", *about["stages"])
    ]
    names += state_names(manifest)
    if manifest["model"]["arch"] == "luong" and "cross" in manifest["attention"]:
        held = manifest["attention"]["cross"]["stages"]
        names += [f"luong.{part}" for part, stage in LUONG.items() if stage in held]
    return names


def state_names(manifest: Mapping[str, Any]) -> list[str]:
    """The names of the states that a recurrent model has."""
    return [f"rnn.{part}" for part in ("encoder", "decoder", "bridge")] if manifest["rnn"] else []


def check_need(need: TensorNeed, manifest: Mapping[str, Any]) -> TensorNeed:
    """The need with negative numbers counted from the end; one that is not there says what is."""
    name = f"{need.group}.{need.part}"
    known = names_of(manifest)
    if name not in known:
        kinds = manifest["model"]["kinds"]
        reason = "was saved without" if need.group in kinds and need.part in STAGES else "has no tensor"
        raise bad_parameter(f"this trace {reason} {name}", hint=nearest(name, known))
    kind = manifest["attention"].get(need.group)
    if kind is None:
        if need.layer is not None:
            raise bad_parameter(f"{name} has neither layers nor heads", hint=f"ask for {name}")
        return need
    if need.layer is None and need.head is not None:
        raise bad_parameter(f"head {need.head} of which layer of {need.group}?", hint="name a layer, too")
    L, H = kind["shape"][:2]
    layer, head = _inside(need.group, "layer", need.layer, L), _inside(need.group, "head", need.head, H)
    return TensorNeed(need.group, need.part, layer, head)


def _inside(kind: str, what: str, number: int | None, count: int) -> int | None:
    if number is None or -count <= number < count:
        return None if number is None else number % count
    raise bad_parameter(
        f"{kind} has {count} {what}{'s' * (count > 1)}, and {what} {number} was asked for",
        hint=f"{what}s count from 0: " + ("only 0" if count == 1 else f"0 to {count - 1}"),
    )


class TensorStore:
    """The numbers of a trace by the names they are saved under: `cross.weights`, `rnn.encoder`, `cross.q`.

    A stage is there whole, of a layer (`cross.q:0`) or of one head (`cross.q:0.1`). With `live`, the model
    and what was captured, the stages of a layer are computed when they are first asked for.
    """

    def __init__(self, arrays: Mapping[str, Array], live: tuple[Inside, Captured] | None = None) -> None:
        self.arrays, self.live = {name: read_only(array) for name, array in arrays.items()}, live

    @classmethod
    def of(cls, model: Inside, captured: Captured) -> "TensorStore":
        """The numbers of one captured sentence."""
        states = {f"rnn.{part}": array for part, array in captured.states.items()}
        weights = {f"{kind}.weights": array for kind, array in captured.weights.items()}
        return cls(states | weights, (model, captured))

    @property
    def nbytes(self) -> int:
        """Memory that the numbers take now."""
        return sum(array.nbytes for array in list(self.arrays.values()))

    def stage(self, kind: Kind, part: str, layer: int, head: int | None) -> Array:
        """One stage of a layer, [H, …], or of one head; `out` [Q, D] joins the heads."""
        name, joined = f"{kind}.{part}", head is None or part == "out"
        if name in self.arrays:
            found: Array = self.arrays[name][layer]
        else:
            self.record([(kind, layer)])
            if f"{name}:{layer}" not in self.arrays:
                return self.find(f"{name}:{layer}" if joined else f"{name}:{layer}.{head}")
            found = self.arrays[f"{name}:{layer}"]
        return found if joined else found[head]

    def find(self, name: str) -> Array:
        """The numbers of exactly this name."""
        if name not in self.arrays:
            raise bad_parameter(
                f"the trace was saved without {name}",
                hint="make the trace again from its model, or save it with this head",
            )
        return self.arrays[name]

    def record(self, layers: Sequence[tuple[Kind, int]]) -> None:
        """Compute all stages of these layers in one pass and keep them, where the model is there for it."""
        missing = [(kind, layer) for kind, layer in layers if f"{kind}.q:{layer}" not in self.arrays]
        if self.live is None or not missing:
            return
        model, captured = self.live
        ended = captured.target[-1:] == (EOS,)
        target = captured.target[:-1] if ended else captured.target
        (again,) = capture(model, [endless(captured.source)], [target], ended=[ended], stages=missing)
        for (kind, layer), stages in again.stages.items():
            new = {f"{kind}.{part}:{layer}": array for part, array in stages.items() if part != "weights"}
            self.arrays.update(new)  # the weights are here, of all layers


def read_tensor(store: TensorStore, need: TensorNeed) -> Array:
    """The numbers of a checked need, for a kind [L, H, …] less the axes that the need picks."""
    if need.group == "rnn":
        return store.find(f"rnn.{need.part}")
    if need.group == "luong":
        return store.stage("cross", LUONG[need.part], 0, 0)
    kind: Kind = need.group  # type: ignore[assignment]  # a checked need
    part = "weights" if need.part == "atlas" else need.part
    if need.layer is not None:
        found = store.stage(kind, part, need.layer, need.head)
    elif f"{kind}.{part}" in store.arrays:
        found = store.arrays[f"{kind}.{part}"]
    else:
        layers = range(len(store.find(f"{kind}.weights")))
        found = read_only(np.stack([store.stage(kind, part, layer, None) for layer in layers]))
    return atlas(found) if need.part == "atlas" else found


def heads_of(manifest: Mapping[str, Any], kind: Kind, heads: Sequence[Head]) -> list[Head]:
    """Those of these heads that one kind of attention has."""
    L, H = manifest["attention"][kind]["shape"][:2]
    return [(layer, head) for layer, head in heads if 0 <= layer < L and 0 <= head < H]


def exact_names(manifest: Mapping[str, Any], kind: Kind, heads: Sequence[Head] | None) -> list[str]:
    """The names of all stages of one kind, or of those of some heads, as far as the kind has them."""
    about = manifest["attention"][kind]
    if heads is None:
        return [f"{kind}.{part}" for part in about["stages"]]
    mine = heads_of(manifest, kind, heads)
    parts = [part for part in about["stages"] if part != "out"]
    joined = [f"{kind}.out:{layer}" for layer in sorted({layer for layer, _ in mine})]
    return [f"{kind}.{part}:{layer}.{head}" for layer, head in mine for part in parts] + joined


def atlas(weights: NDArray[np.floating[Any]]) -> NDArray[np.uint8]:
    """Weights as bytes, 5 · round(51 · sqrt(w)): small ones stay visible, and a map takes a quarter.

    52 shades are as many as an eye tells apart, and pack in a third less than 256; exact weights are a
    tensor of their own.
    """
    depth: NDArray[np.floating[Any]] = np.sqrt(np.nan_to_num(weights, nan=0.0).clip(0, 1))
    shades: NDArray[np.uint8] = 5 * np.rint(51 * depth).astype(np.uint8)
    return shades


def pack(arrays: Mapping[str, Array], metadata: Mapping[str, str] | None = None) -> bytes:
    """Arrays in the safetensors layout; with metadata, these and the arrays are sealed by one array more."""
    plain = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    return save({**plain, SEAL: seal_of(metadata, plain)}, dict(metadata)) if metadata else save(plain)


def seal_of(metadata: Mapping[str, str], arrays: Mapping[str, Array]) -> NDArray[np.uint8]:
    """Eight bytes that change with any value, name, shape or text."""
    told = {name: [str(a.dtype), a.shape, sha256(a.tobytes()).hexdigest()] for name, a in arrays.items()}
    return np.frombuffer(bytes.fromhex(digest([dict(metadata), told])), np.uint8)


def unpack(data: bytes, where: str) -> tuple[dict[str, str], dict[str, Array]]:
    """Metadata and arrays of safetensors bytes; anything else is a DataError. Nothing in them is executed."""
    try:
        arrays = load(data)
        header = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])
        metadata = header.get("__metadata__") or {}
        seal = arrays.pop(SEAL, None)  # an earlier version wrote none
        if seal is not None and not np.array_equal(seal, seal_of(metadata, arrays)):
            raise ValueError("its content has changed since it was written")
        return metadata, arrays
    except (SafetensorError, ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
        raise bad_trace(f"it holds no readable tensors: {str(error)[:200]}", where) from None


def bad_trace(reason: str, where: str) -> DataError:
    return DataError(
        f"not a trace of jumok: {reason}",
        where=where,
        hint="the file is damaged or was made by another program: save the trace again",
        code="bad_trace",
    )
