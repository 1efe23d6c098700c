"""Every tensor that a model computes on the way from a text to its loss, with names and axes."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from jumok.decoding.batched import lay_sources
from jumok.decoding.translator import Translator
from jumok.explain.capture import Array, read_only
from jumok.explain.subject import Subject, subjects_of
from jumok.models.sentences import Sentences
from jumok.models.shapes import ShapeTrace, trace_shapes
from jumok.text.tokenizer import BOS, EOS


@dataclass(frozen=True)
class NamedTensor:
    """One tensor: where in the model, what made it, its axes by letter, its numbers (read-only)."""

    stage: str
    operation: str
    axes: str
    values: Array


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
        found = [one.values for one in self.tensors if (one.stage, one.operation) == name]
        if not found:
            raise KeyError(f"no tensor {name}; there are {[(one.stage, one.operation) for one in self]}")
        return found[0] if len(found) == 1 else np.concatenate(found, axis=1)


def trace_subject(translator: Translator, subject: Subject) -> ShapeTrace:
    """The pass of a text and its answer, with teacher forcing."""
    device = next(translator.model.parameters()).device
    target_in = Sentences.lay([[BOS, *subject.target_ids]], device)
    source = lay_sources([subject.source_ids], device)
    with translator.explained(()):
        return trace_shapes(
            translator.model, translator.config.model, source, target_in, [*subject.target_ids, EOS]
        )


def forward_pass(translator: Translator, text: str, target: str | None) -> ForwardPass:
    """Everything between the ids of a text and the loss of its target, or of the model's own answer."""
    targets = None if target is None else [target]
    [subject] = subjects_of(translator, [text], targets=targets, options={"long": "error"})
    found = trace_subject(translator, subject)
    tensors = [
        NamedTensor(row.stage, row.operation, row.axes, read_only(value.cpu().numpy().copy()))
        for row, values in zip(found.rows, found.values, strict=True)
        for value in values
    ]
    return ForwardPass(subject.source, subject.target, found.sizes, tuple(tensors))
