"""The tensors of a trace: their names, where they come from, and the safetensors layout they travel in."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load, save

from jumok.backends.values import Kind
from jumok.errors import ConfigError, DataError, nearest
from jumok.explain.capture import STAGES, Array, Captured, capture, read_only
from jumok.explain.pictures import endless
from jumok.models.interface import Seq2Seq
from jumok.text.tokenizer import EOS

NEED = re.compile(r"([a-z_]{1,20}\.[a-z]{1,20})(?::(\d{1,6})(?:\.(\d{1,6}))?)?", re.ASCII)
LUONG = {"scores": "scores", "weights": "weights", "context": "context", "attentional": "out"}
"""Luong's own names for stages of cross-attention."""


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
        raise ConfigError(
            f"{text[:80]!r} names no tensor",
            hint="write name, name:layer or name:layer.head, such as cross.weights:2.3",
            code="bad_parameter",
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
    if manifest["rnn"]:
        names += [f"rnn.{part}" for part in ("encoder", "decoder", "bridge")]
    if manifest["model"]["arch"] == "luong" and "cross" in manifest["attention"]:
        held = manifest["attention"]["cross"]["stages"]
        names += [f"luong.{part}" for part, stage in LUONG.items() if stage in held]
    return names


def check_need(need: TensorNeed, manifest: Mapping[str, Any]) -> TensorNeed:
    """The need with negative numbers counted from the end; one that is not there says what is."""
    name = f"{need.group}.{need.part}"
    known = names_of(manifest)
    if name not in known:
        kinds = manifest["model"]["kinds"]
        reason = "was saved without" if need.group in kinds and need.part in STAGES else "has no tensor"
        raise ConfigError(f"this trace {reason} {name}", hint=nearest(name, known), code="bad_parameter")
    kind = manifest["attention"].get(need.group)
    if kind is None:
        if need.layer is not None:
            raise ConfigError(
                f"{name} has neither layers nor heads", hint=f"ask for {name}", code="bad_parameter"
            )
        return need
    if need.layer is None and need.head is not None:
        raise ConfigError(
            f"head {need.head} of which layer of {need.group}?",
            hint="name a layer, too",
            code="bad_parameter",
        )
    L, H = kind["shape"][:2]
    layer, head = _inside(need.group, "layer", need.layer, L), _inside(need.group, "head", need.head, H)
    return TensorNeed(need.group, need.part, layer, head)


def _inside(kind: str, what: str, number: int | None, count: int) -> int | None:
    if number is None or -count <= number < count:
        return None if number is None else number % count
    raise ConfigError(
        f"{kind} has {count} {what}{'s' * (count > 1)}, and {what} {number} was asked for",
        hint=f"{what}s count from 0: " + ("only 0" if count == 1 else f"0 to {count - 1}"),
        code="bad_parameter",
    )


class TensorStore(Protocol):
    """Where a trace's numbers come from."""

    def weights(self, kind: Kind) -> Array:
        """[L, H, Q, K] of one kind."""
        ...

    def stage(self, kind: Kind, part: str, layer: int, head: int | None) -> Array:
        """One stage of a layer, [H, …], or of one head; `out` [Q, D] joins the heads."""
        ...

    def state(self, part: str) -> Array:
        """The states of a recurrent model: encoder, decoder or bridge."""
        ...

    @property
    def nbytes(self) -> int:
        """Memory that the numbers take now."""
        ...


class LiveStore:
    """The numbers of one captured sentence; stages of a layer are computed when they are first asked for."""

    def __init__(self, model: Seq2Seq, captured: Captured) -> None:
        self.model, self.captured = model, captured
        self.layers: dict[tuple[Kind, int], Mapping[str, Array]] = dict(captured.stages)

    def weights(self, kind: Kind) -> Array:
        return self.captured.weights[kind]

    def stage(self, kind: Kind, part: str, layer: int, head: int | None) -> Array:
        found: Array
        if part == "weights":
            found = self.captured.weights[kind][layer]
        else:
            if (kind, layer) not in self.layers:
                self.record([(kind, layer)])
            found = self.layers[kind, layer][part]
        return found if head is None or part == "out" else found[head]

    def state(self, part: str) -> Array:
        return self.captured.states[part]

    def record(self, layers: Sequence[tuple[Kind, int]]) -> None:
        """Compute all stages of these layers in one pass, and keep them."""
        source, target = self.captured.source, self.captured.target
        ended = target[-1:] == (EOS,)
        (again,) = capture(
            self.model,
            [endless(source)],
            [target[:-1] if ended else target],
            ended=[ended],
            stages=layers,
        )
        self.layers.update(again.stages)

    @property
    def nbytes(self) -> int:
        kept = [*self.captured.weights.values(), *self.captured.states.values()]
        kept += [array for layer in list(self.layers.values()) for array in layer.values()]
        return sum(array.nbytes for array in kept)


class FileStore:
    """The numbers of a file, by the names they were saved under."""

    def __init__(self, arrays: Mapping[str, Array]) -> None:
        self.arrays = {name: read_only(array) for name, array in arrays.items()}

    def weights(self, kind: Kind) -> Array:
        return self.find(f"{kind}.weights")

    def stage(self, kind: Kind, part: str, layer: int, head: int | None) -> Array:
        name = f"{kind}.{part}"
        if name in self.arrays:
            found: Array = self.arrays[name][layer]
            return found if head is None or part == "out" else found[head]
        return self.find(f"{name}:{layer}" if head is None or part == "out" else f"{name}:{layer}.{head}")

    def state(self, part: str) -> Array:
        return self.find(f"rnn.{part}")

    def find(self, name: str) -> Array:
        if name not in self.arrays:
            raise ConfigError(
                f"the trace was saved without {name}",
                hint="make the trace again from its model, or save it with this head",
                code="bad_parameter",
            )
        return self.arrays[name]

    @property
    def nbytes(self) -> int:
        return sum(array.nbytes for array in self.arrays.values())


def read_tensor(store: TensorStore, manifest: Mapping[str, Any], need: TensorNeed) -> Array:
    """The numbers of a checked need, for a kind [L, H, …] less the axes that the need picks."""
    if need.group == "rnn":
        return store.state(need.part)
    if need.group == "luong":
        return store.stage("cross", LUONG[need.part], 0, 0)
    kind: Kind = need.group  # type: ignore[assignment]  # a checked need
    if need.part in ("atlas", "weights") and need.layer is None:
        weights = store.weights(kind)
        return atlas(weights) if need.part == "atlas" else weights
    part = "weights" if need.part == "atlas" else need.part
    if need.layer is None:
        layers = range(manifest["attention"][kind]["shape"][0])
        return read_only(np.stack([store.stage(kind, part, layer, None) for layer in layers]))
    found = store.stage(kind, part, need.layer, need.head)
    return atlas(found) if need.part == "atlas" else found


def to_save(
    store: TensorStore, manifest: Mapping[str, Any], heads: Sequence[tuple[int, int]] | None
) -> Iterator[tuple[str, Array]]:
    """Name and numbers of all that a file keeps: weights, states, and the stages of all or some heads."""
    for part in ("encoder", "decoder", "bridge") if manifest["rnn"] else ():
        yield f"rnn.{part}", store.state(part)
    for kind, about in manifest["attention"].items():
        yield f"{kind}.weights", store.weights(kind)
        parts = [part for part in about["stages"] if part != "weights"]
        for part in parts:
            if heads is None:
                yield f"{kind}.{part}", read_tensor(store, manifest, TensorNeed(kind, part))
                continue
            L, H = about["shape"][:2]
            for layer, head in heads:
                if layer < L and head < H:
                    name = f"{kind}.{part}:{layer}" if part == "out" else f"{kind}.{part}:{layer}.{head}"
                    yield name, store.stage(kind, part, layer, head)


def atlas(weights: NDArray[np.floating[Any]]) -> NDArray[np.uint8]:
    """Weights as bytes, 5 · round(51 · sqrt(w)): small ones stay visible, and a map takes a quarter.

    52 shades are as many as an eye tells apart, and pack in a third less than 256; exact weights are a
    tensor of their own.
    """
    depth: NDArray[np.floating[Any]] = np.sqrt(np.nan_to_num(weights, nan=0.0).clip(0, 1))
    shades: NDArray[np.uint8] = 5 * np.rint(51 * depth).astype(np.uint8)
    return shades


def pack(arrays: Mapping[str, Array], metadata: Mapping[str, str] | None = None) -> bytes:
    """Arrays in the safetensors layout."""
    plain = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    return save(plain, dict(metadata) if metadata else None)


def unpack(data: bytes, where: str) -> tuple[dict[str, str], dict[str, Array]]:
    """Metadata and arrays of safetensors bytes; anything else is a DataError. Nothing in them is executed."""
    try:
        arrays = load(data)
        header = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])
        return header.get("__metadata__") or {}, arrays
    except (SafetensorError, ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
        raise bad_trace(f"it holds no readable tensors: {str(error)[:200]}", where) from None


def bad_trace(reason: str, where: str) -> DataError:
    return DataError(
        f"not a trace of jumok: {reason}",
        where=where,
        hint="the file is damaged or was made by another program: save the trace again",
        code="bad_trace",
    )
