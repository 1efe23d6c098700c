"""Every tensor that a model computes on the way from a text to its loss: its axes, and how it was made."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from jumok.decoding.translator import Translator
from jumok.explain.capture import Array, read_only
from jumok.explain.ops import bad_parameter
from jumok.explain.subject import Subject, subjects_of
from jumok.explain.tensors import TensorNeed
from jumok.text.tokenizer import BOS, EOS

if TYPE_CHECKING:
    from torch import Tensor

    from jumok.models.tensor_rows import How, ShapeRow, ShapeTrace

SCHEMA = "forward/1"


@dataclass(frozen=True)
class NamedTensor:
    """One tensor: where in the model, what made it of which others, its axes by letter, its numbers."""

    stage: str
    operation: str
    axes: str
    values: Array
    """Read-only: float32, or whole numbers where they are ids, masks or bytes."""
    how: How = "given"
    inputs: tuple[int, ...] = ()
    """What it was made of: places of other tensors of the pass."""
    number: float | None = None
    """A constant of the step, such as √d_k."""


@dataclass(frozen=True)
class ForwardPass:
    """All tensors of one pass in the order of computation."""

    source: str
    target: str
    sizes: Mapping[str, int]
    tensors: tuple[NamedTensor, ...]

    def __iter__(self) -> Iterator[NamedTensor]:
        return iter(self.tensors)

    def __getitem__(self, name: tuple[str, str]) -> Array:
        """The numbers of one tensor by stage and operation; of a loop over time all its steps."""
        for one in self.tensors:
            if (one.stage, one.operation) == name:
                return one.values
        raise KeyError(f"no tensor {name}; there are {[(one.stage, one.operation) for one in self]}")


def trace_ids(
    translator: Translator,
    source: Sequence[Any],
    target: Sequence[int],
    keep: Collection[int] | None = None,
) -> ShapeTrace:
    """The pass of a source and what is written, its end included, with teacher forcing.

    Of the tensors only those at the places to `keep` stay; None: all.
    """
    from jumok.decoding.batched import lay_sources
    from jumok.explain.watching import Watched
    from jumok.models.interface import edits_of
    from jumok.models.sentences import Sentences
    from jumok.models.shapes import trace_shapes

    model = translator.model.model if isinstance(translator.model, Watched) else translator.model
    edits = edits_of(model)
    if edits is not None:
        raise bad_parameter(
            "the forward pass shows the model as it is, and this one has interventions",
            hint="ask for the same text without them",
        )
    device = next(model.parameters()).device
    target_in = Sentences.lay([[BOS, *target[:-1]]], device)
    with translator.explained(()):
        return trace_shapes(
            model, translator.config.model, lay_sources([source], device), target_in, target, keep
        )


def trace_subject(translator: Translator, subject: Subject) -> ShapeTrace:
    """The pass of a text and its answer, with teacher forcing."""
    return trace_ids(translator, subject.source_ids, written(subject))


def written(subject: Subject) -> tuple[int, ...]:
    """What the decoder writes, with the end if it came to one."""
    return (*subject.target_ids, EOS) if subject.ended or not subject.target_ids else subject.target_ids


def forward_pass(translator: Translator, text: str, target: str | None) -> ForwardPass:
    """Everything between the ids of a text and the loss of its target, or of the model's own answer."""
    targets = None if target is None else [target]
    [subject] = subjects_of(translator, [text], targets=targets, options={"long": "error"})
    found = trace_subject(translator, subject)
    tensors = [
        NamedTensor(row.stage, row.operation, axes_of(row), whole(values), row.how, row.inputs, row.number)
        for row, values in zip(found.rows, found.values, strict=True)
    ]
    return ForwardPass(subject.source, subject.target, found.sizes, tuple(tensors))


def axes_of(row: ShapeRow) -> str:
    """The axes with all steps of a loop over time in one tensor."""
    return row.axes.replace("[B,1,", "[B,T,")


def whole(steps: Sequence[Tensor]) -> Array:
    """The numbers of a tensor, all steps of a loop over time in one; bf16, which NumPy lacks, as float32."""
    import torch

    plain = [(one.float() if one.dtype is torch.bfloat16 else one).cpu().numpy() for one in steps]
    return read_only(plain[0].view() if len(plain) == 1 else np.concatenate(plain, axis=1))


def forward_rows(translator: Translator, source: Sequence[Any], target: Sequence[int]) -> dict[str, Any]:
    """What a forward pass holds, without its numbers: `sizes`, and `tensors` in the order of computation."""
    found = trace_ids(translator, source, target, keep=())
    rows = []
    for row, times in zip(found.rows, found.times, strict=True):
        shape = row.shape if times == 1 else (row.shape[0], times * row.shape[1], *row.shape[2:])
        rows.append({**asdict(row), "axes": axes_of(row), "shape": list(shape), "inputs": list(row.inputs)})
    return {"sizes": found.sizes, "tensors": rows}


def forward_values(
    translator: Translator, source: Sequence[Any], target: Sequence[int], places: Collection[int]
) -> dict[int, Array]:
    """The numbers of the tensors at these places of `forward_rows`, in one pass."""
    found = trace_ids(translator, source, target, keep=places)
    return {place: whole(found.values[place]) for place in places}


def check_place(need: TensorNeed, rows: Sequence[Mapping[str, Any]]) -> int:
    """The place that a need `forward.tensor:place` or `forward.tensor:place.part` names."""
    if need.part != "tensor" or need.layer is None:
        raise bad_parameter(
            f"forward.{need.part} names no tensor of the pass",
            hint="write forward.tensor:place, such as forward.tensor:4",
        )
    if not 0 <= need.layer < len(rows):
        raise bad_parameter(
            f"the pass has {len(rows)} tensors, and {need.layer} was asked for",
            hint=f"places count from 0: 0 to {len(rows) - 1}",
        )
    if need.head is not None:
        shape = _inner(rows[need.layer]["axes"], rows[need.layer]["shape"])
        if not shape or not 0 <= need.head < shape[0]:
            has = f"has {shape[0]} parts, counted from 0" if shape else "is one number"
            raise bad_parameter(f"tensor {need.layer} {has}, and part {need.head} was asked for")
    return need.layer


def part_of(values: Array, need: TensorNeed, axes: str) -> Array:
    """The tensor, or one part of it along the first axis after the batch: a head, a token, a row."""
    if need.head is None:
        return values
    found: Array = values[0, need.head] if axes.startswith("[B") else values[need.head]
    return found


def _inner(axes: str, shape: Sequence[int]) -> Sequence[int]:
    return shape[1:] if axes.startswith("[B") else shape
