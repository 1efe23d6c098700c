"""What a model computes while it reads a source and writes a target: one teacher-forced pass for a batch.

Axis letters: B batch, S source, T target, D width, H heads, N layers, V vocabulary; per sentence L layers,
Q queries, K keys.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from math import log
from typing import Any, Literal, get_args

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from jumok.backends.recording import RecordingBackend
from jumok.backends.values import Kind
from jumok.decoding.batched import device_of, lay_sources, lay_targets
from jumok.decoding.jobs import Source
from jumok.decoding.search import log_softmax, top
from jumok.explain.tokens import ended as with_end
from jumok.models.interface import Seq2Seq, edits_of
from jumok.nn.functional import Stages
from jumok.text.tokenizer import EOS

TOP = 5  # candidates kept for each step
Stage = Literal["q", "k", "v", "scores", "scaled", "mask", "weights", "context", "out"]
STAGES: tuple[Stage, ...] = get_args(Stage)
"""The stages of attention in the order of computation."""

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
    steps: tuple[Step, ...]
    states: Mapping[str, NDArray[np.float32]] = field(default_factory=dict)
    """Recurrent models: `encoder` [S, D], `decoder` [T, D], `bridge` [N, C, D] where the decoder starts."""
    stages: Mapping[Layer, Mapping[str, Array]] = field(default_factory=dict)
    """The layers that were asked for: every stage of all heads, [H, …]; `out` joins them."""


@torch.inference_mode()
def capture(
    model: Seq2Seq,
    sources: Sequence[Source],
    targets: Sequence[Sequence[int]],
    *,
    ended: Sequence[bool] | None = None,
    stages: Collection[Layer] = (),
) -> list[Captured]:
    """Weights, steps and states of each pair under a model in eval mode, all steps together.

    Sources and targets are ids without special ones, or a source is the patches of a picture; `ended` says
    which targets go on to their end (all of them, when not given). Row t of a target is the step that wrote
    token t. Of the `stages` only the layers named are copied. The explicit path is taken, whatever the model:
    one with edits shows them.
    """
    whole = [True] * len(targets) if ended is None else ended
    outs = [[*target, *([EOS] if end else [])] for target, end in zip(targets, whole, strict=True)]
    device = device_of(model)
    ops = RecordingBackend(edits_of(model), record=True)
    model = model.using(ops)
    memory = model.encode(lay_sources(sources, device))
    target_in, target_out = lay_targets(outs, device)
    logits = model.decode(target_in, memory).logits()  # (M, V)
    states = dict(ops.states)
    if memory.final is not None:
        states["bridge"] = model.start(memory).hidden  # (B, N, C, D)
    copied = None
    if ("copy", 0) in ops.stages:
        copied = target_in.flat(ops.stages["copy", 0].out)  # type: ignore[arg-type]  # (M, 1)
    steps = _steps(logits, copied, target_out, [len(out) for out in outs])
    kept = {
        layer: _arrays(one, STAGES if layer in stages else ("weights",)) for layer, one in ops.stages.items()
    }
    numbers = {name: state.float().cpu().numpy() for name, state in states.items()}
    return [
        _one(row, with_end(sources[row]), tuple(outs[row]), kept, numbers, steps[row])
        for row in range(len(outs))
    ]


def _steps(
    logits: Tensor, copied: Tensor | None, target_out: Tensor, lengths: Sequence[int]
) -> list[tuple[Step, ...]]:
    """The steps of each sentence: logits (M, V), copied (M, 1), and what was written (M,)."""
    log_probs = log_softmax(logits)  # (M, V)
    ids = target_out
    chosen = log_probs.gather(1, ids[:, None]).squeeze(1)
    # An impossible token adds nothing: 0 · log 0 = 0.
    entropy = -(log_probs.exp() * log_probs.clamp(min=torch.finfo(log_probs.dtype).min)).sum(dim=1) / log(2)
    values, best = top(log_probs, min(TOP, log_probs.shape[1]))  # (R, 5)
    shares = [None] * len(ids) if copied is None else copied.flatten().tolist()
    columns = (ids, chosen, entropy, best, values)
    rows = iter(zip(*(column.tolist() for column in columns), shares, strict=True))
    return [
        tuple(
            Step(id, logprob, bits, tuple(zip(others, scores, strict=True)), share)
            for id, logprob, bits, others, scores, share in (next(rows) for _ in range(length))
        )
        for length in lengths
    ]


def _arrays(stages: Stages, parts: Sequence[Stage]) -> dict[str, Array]:
    """Parts of the stages of a layer by name: (B, H, …); `out` (B, T, D)."""
    ours = {"q": stages.query, "k": stages.key, "v": stages.value}
    tensors = {part: ours[part] if part in ours else getattr(stages, part) for part in parts}
    if "mask" in tensors:
        tensors["mask"] = stages.mask.expand(stages.weights.shape)  # (B, H, T, S)
    kinds = {name: torch.uint8 if name == "mask" else torch.float32 for name in tensors}
    return {name: x.to(kinds[name]).cpu().numpy() for name, x in tensors.items() if x is not None}


def _one(
    row: int,
    source: tuple[Any, ...],
    target: tuple[int, ...],
    layers: Mapping[Layer, Mapping[str, Array]],
    states: Mapping[str, Array],
    steps: tuple[Step, ...],
) -> Captured:
    """One sentence's share, copied, so that the batch can go."""
    S, T = len(source), len(target)
    sides = {"enc_self": (S, S), "dec_self": (T, T), "cross": (T, S), "copy": (T, S)}
    weights: dict[Kind, list[Array]] = {}
    stages: dict[Layer, dict[str, Array]] = {}
    for (kind, layer), arrays in sorted(layers.items()):
        Q, K = sides[kind]
        weights.setdefault(kind, []).append(arrays["weights"][row, :, :Q, :K])
        if len(arrays) > 1:
            stages[kind, layer] = {
                name: read_only(_cut(name, array[row], Q, K).copy()) for name, array in arrays.items()
            }
    ends = {"encoder": S, "decoder": T}
    return Captured(
        source,
        target,
        {kind: read_only(np.stack(rows)) for kind, rows in weights.items()},
        steps,
        {name: read_only(state[row, : ends.get(name)].copy()) for name, state in states.items()},
        stages,
    )


def _cut(name: str, array: Array, Q: int, K: int) -> Array:
    """A stage of one sentence without its padding: [H, …], or [Q, D] for `out`."""
    match name:
        case "out":
            return array[:Q]
        case "q" | "context":
            return array[:, :Q]
        case "k" | "v":
            return array[:, :K]
        case _:
            return array[:, :Q, :K]


def read_only(array: Array) -> Array:
    array.setflags(write=False)
    return array
