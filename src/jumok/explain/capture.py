"""What a model computes while it reads a source and writes a target: one teacher-forced pass for a batch.

Axis letters: B batch, S source, T target, D width, H heads, N layers, V vocabulary; per sentence L layers,
Q queries, K keys.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from jumok.decoding.engines import NativeEngine
from jumok.decoding.inside import Inside
from jumok.decoding.jobs import Source
from jumok.edits import Kind
from jumok.text.tokenizer import EOS

TOP = 5  # candidates kept for each step
Stage = Literal["q", "k", "v", "scores", "scaled", "bias", "mask", "weights", "context", "out"]
IN_ORDER: tuple[Stage, ...] = get_args(Stage)
"""The stages of attention in the order of computation."""
STAGES: tuple[Stage, ...] = tuple(stage for stage in IN_ORDER if stage != "bias")
"""Those that every attention has; relative positions add a bias."""

Array = NDArray[Any]
Layer = tuple[Kind, int]


@dataclass(frozen=True)
class Step:
    """What the model thought when it wrote one token. Log-probabilities in nats, the entropy in bits."""

    id: int
    logprob: float
    entropy: float
    top: tuple[tuple[int, float], ...]  # the best candidates and their log-probabilities, best first
    copied: float | None = None  # the share that was copied from the source, in a model that copies


@dataclass(frozen=True)
class Captured:
    """One sentence of a pass, without padding."""

    source: tuple[Any, ...]  # what the encoder read: ids with their end, or the patches of a picture
    target: tuple[int, ...]  # what the decoder wrote, its end included if it came to one
    weights: Mapping[Kind, NDArray[np.float32]]  # [L, H, Q, K] for each kind of attention the model has
    make_steps: Callable[[], tuple[Step, ...]]
    """`steps`, which few ask for, take longer to make of numbers than everything else."""
    states: Mapping[str, NDArray[np.float32]] = field(default_factory=dict)
    """Recurrent models: `encoder` [S, D], `decoder` [T, D], `bridge` [N, C, D] where the decoder starts."""
    stages: Mapping[Layer, Mapping[str, Array]] = field(default_factory=dict)
    """The layers that were asked for: every stage of all heads, [H, …]; `out` joins them."""
    biased: frozenset[Kind] = frozenset()
    """The kinds of attention whose scores got a bias, by relative positions."""

    @cached_property
    def steps(self) -> tuple[Step, ...]:
        """What the model thought when it wrote each token."""
        return self.make_steps()

    def stages_of(self, kind: Kind) -> list[Stage]:
        """The stages of one kind, in the order of computation."""
        return list(IN_ORDER if kind in self.biased else STAGES)


def capture(
    model: Inside,
    sources: Sequence[Source],
    targets: Sequence[Sequence[int]],
    *,
    ended: Sequence[bool] | None = None,
    stages: Collection[Layer] = (),
) -> list[Captured]:
    """Weights, steps and states of each pair: of a model in eval mode, or in the native engine.

    Sources and targets are ids without special ones, or a source is the patches of a picture; `ended` says
    which targets go on to their end (all of them, when not given). Row t of a target is the step that wrote
    token t. Of the `stages` only the layers named are copied. The explicit path is taken, whatever the model:
    one with edits shows them.
    """
    whole = [True] * len(targets) if ended is None else ended
    outs = [[*target, *([EOS] if end else [])] for target, end in zip(targets, whole, strict=True)]
    if isinstance(model, NativeEngine):
        from jumok.explain import in_native

        return in_native.captured(model, sources, outs, stages)
    from jumok.explain import in_torch

    return in_torch.captured(model, sources, outs, stages)


def read_only(array: Array) -> Array:
    array.setflags(write=False)
    return array
