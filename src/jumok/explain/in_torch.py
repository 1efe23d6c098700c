"""What explanations ask of a model in torch: one recorded pass, log-probabilities, states, positions.

Axis letters: B batch, S source, T target, D width, H heads, N layers, V vocabulary; per sentence L layers,
Q queries, K keys.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from math import log
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from jumok.backends.recording import RecordingBackend
from jumok.decoding.batched import device_of, lay_sources, lay_targets
from jumok.decoding.jobs import Source
from jumok.decoding.search import check_finite, log_softmax, top
from jumok.edits import Kind
from jumok.explain.capture import IN_ORDER, TOP, Array, Captured, Layer, Stage, Step, read_only
from jumok.explain.tokens import ended as with_end
from jumok.models.interface import Memory, Seq2Seq, edits_of
from jumok.nn.functional import Stages


@torch.inference_mode()
def captured(
    model: Seq2Seq,
    sources: Sequence[Source],
    outs: Sequence[Sequence[int]],
    stages: Collection[Layer],
) -> list[Captured]:
    """Weights, steps and states of each pair, all steps together; a target that came to its end has it."""
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
        layer: _arrays(one, IN_ORDER if layer in stages else ("weights",))
        for layer, one in ops.stages.items()
    }
    numbers = {name: state.float().cpu().numpy() for name, state in states.items()}
    biased = frozenset(kind for (kind, _), one in ops.stages.items() if one.bias is not None)
    return [
        replace(_one(row, with_end(sources[row]), tuple(outs[row]), kept, numbers, steps[row]), biased=biased)
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
        lambda: steps,
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


def encode(model: Seq2Seq, sources: Sequence[Source]) -> Memory:
    """What the model's encoder makes of sources without their ends."""
    with torch.inference_mode():
        return model.encode(lay_sources(sources, device_of(model)))


def forced(model: Seq2Seq, sources: Sequence[Source], target: Sequence[int]) -> NDArray[np.float32]:
    """log p of each target token for every source: (B, T)."""
    target_in, written = lay_targets([target] * len(sources), device_of(model))
    with torch.inference_mode():
        logits = model.decode(target_in, encode(model, sources)).logits()  # (B · T, V)
        found = log_softmax(logits).gather(1, written[:, None]).view(len(sources), -1)  # (B, T)
        check_finite(found.sum(dim=1), torch.arange(len(found), device=found.device))
        return found.cpu().numpy()


def finals(model: Seq2Seq, sources: Sequence[Source]) -> NDArray[np.float32]:
    """Where the decoder of a recurrent model would start from: (B, N, C, D)."""
    final = encode(model, sources).final
    assert final is not None
    return final.float().cpu().numpy()


def position_rows(model: Seq2Seq, count: int) -> NDArray[np.float32] | None:
    """What tells the first positions apart, (P, D); None: nothing."""
    rows = model.position_rows(count)
    return None if rows is None else rows.detach().float().cpu().numpy()
