"""Numbers where they lie in a file, and what is made of them: one tensor at a time, never all at once."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jumok.errors import ModelError

Numbers = NDArray[np.float32]
Rows = NDArray[np.int64]

TYPES = {
    "F64": "<f8",
    "F32": "<f4",
    "F16": "<f2",
    "BF16": "<u2",
    "I64": "<i8",
    "I32": "<i4",
    "I16": "<i2",
    "I8": "<i1",
    "U8": "|u1",
    "BOOL": "|b1",
}


@dataclass(frozen=True)
class Stored:
    """One tensor in a file."""

    file: Path
    begin: int
    """Its first byte."""
    kind: str
    """One of `TYPES`."""
    shape: tuple[int, ...]

    @property
    def bytes(self) -> int:
        return prod(self.shape) * np.dtype(TYPES[self.kind]).itemsize

    def raw(self) -> NDArray[Any]:
        """Its numbers as they are stored."""
        kind = np.dtype(TYPES[self.kind])
        with self.file.open("rb") as file:
            numbers = np.fromfile(file, kind, prod(self.shape), offset=self.begin)
        if numbers.size < prod(self.shape):
            raise ModelError(
                f"{self.file.name} was cut short: it ends inside a tensor",
                where=str(self.file),
                hint="copy the file again from where it was whole",
                code="damaged",
            )
        return numbers.reshape(self.shape)

    def read(self) -> Numbers:
        """Its numbers in float32."""
        numbers = self.raw()
        if self.kind == "BF16":
            return (numbers.astype(np.uint32) << 16).view(np.float32)
        return numbers.astype(np.float32, copy=False)


Tensors = Mapping[str, Stored]


@dataclass(frozen=True)
class Made:
    """A tensor of ours that is made when it is written."""

    shape: tuple[int, ...]
    make: Callable[[], Numbers]

    def rows(self, order: Rows) -> "Made":
        """These rows; -1 stands for a row of zeros."""
        return Made((len(order), *self.shape[1:]), lambda: gathered(self.make(), order))

    def columns(self, order: Rows) -> "Made":
        """These numbers of each row, in this order."""
        return Made((*self.shape[:-1], len(order)), lambda: np.ascontiguousarray(self.make()[..., order]))

    def times(self, factor: float) -> "Made":
        return self if factor == 1 else Made(self.shape, lambda: self.make() * np.float32(factor))

    def turned(self) -> "Made":
        """The transposed matrix."""
        return Made(self.shape[::-1], lambda: np.ascontiguousarray(self.make().T))

    def flat(self) -> "Made":
        return Made((prod(self.shape),), lambda: self.make().reshape(-1))

    def part(self, begin: int, end: int) -> "Made":
        """The rows from `begin` to `end`."""
        return Made((end - begin, *self.shape[1:]), lambda: self.make()[begin:end])


def gathered(numbers: Numbers, order: Rows) -> Numbers:
    """Rows by number; -1 is a row of zeros."""
    found = numbers[np.maximum(order, 0)]
    found[order < 0] = 0
    return found


def stack(parts: Sequence[Made]) -> Made:
    """One below the other."""
    shape = (sum(part.shape[0] for part in parts), *parts[0].shape[1:])
    return Made(shape, lambda: np.concatenate([part.make() for part in parts]))


def zeros(*shape: int) -> Made:
    return Made(shape, lambda: np.zeros(shape, dtype=np.float32))


def ready(numbers: NDArray[Any]) -> Made:
    """Numbers that are known already."""
    return Made(numbers.shape, lambda: numbers.astype(np.float32))


class Parts:
    """The tensors of a model that is brought, taken one by one: each must be there, in its shape, and at the
    end none may be left over.
    """

    def __init__(self, tensors: Tensors, where: str, settings: str = "config.json") -> None:
        self.tensors, self.where, self.settings = tensors, where, settings
        self.taken: set[str] = set()

    def __contains__(self, name: str) -> bool:
        return name in self.tensors

    def take(self, name: str, *shape: int) -> Made:
        """A tensor by its name there, which has to have this shape."""
        stored = self.tensors.get(name)
        if stored is None:
            raise ModelError(
                f"{self.settings} needs a tensor {name}, and the weights have none",
                where=self.where,
                hint="the settings and the weights are of two different models, or weights are missing",
                code="contradiction",
            )
        if stored.shape != shape:
            raise ModelError(
                f"{name} has the shape {stored.shape}, and by {self.settings} it should be {shape}",
                where=self.where,
                hint="the settings and the weights are of two different models",
                code="contradiction",
            )
        self.taken.add(name)
        return Made(shape, stored.read)

    def leave(self, *names: str) -> None:
        """These are known and not needed, such as tables that are computed."""
        self.taken.update(names)

    def finish(self) -> None:
        """Refuse tensors that no setting speaks of: without them it would be another model."""
        left = sorted(self.tensors.keys() - self.taken)
        if left:
            more = f" and {len(left) - 3} more" if len(left) > 3 else ""
            raise ModelError(
                f"the weights have {', '.join(left[:3])}{more}, and {self.settings} has no place for them",
                where=self.where,
                hint="the settings and the weights are of two different models",
                code="contradiction",
            )
