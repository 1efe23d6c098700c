"""What explanations ask of the native engine: one recorded pass, log-probabilities, states, positions.

The twin of `in_torch.py`. Axis letters: B batch, S source, T target, D width, N layers, C parts of a cell's
state, P positions, H heads.
"""

from collections.abc import Collection, Mapping, Sequence
from functools import partial
from math import log

import numpy as np
from numpy.typing import NDArray

from jumok.config import TransformerConfig
from jumok.decoding.engines import NativeEngine
from jumok.decoding.jobs import Source
from jumok.edits import Kind, Where
from jumok.explain.capture import Array, Captured, Step, read_only
from jumok.explain.tokens import ended as with_end
from jumok.native.record import Recorded
from jumok.text.tokenizer import EOS

BASE = 10_000.0
LN2 = log(2)
STEPS = ("log_prob", "entropy", "top_id", "top_log_prob")


def captured(
    engine: NativeEngine,
    sources: Sequence[Source],
    targets: Sequence[Sequence[int]],
    stages: Collection[Where],
) -> list[Captured]:
    """Weights, steps and states of each pair; targets have their end if they came to it."""
    written = [tuple(target) or (EOS,) for target in targets]  # a pass has at least one step
    found = engine.record([list(one) for one in sources], written, stages)
    biased = biased_kinds(engine)
    return [
        _one(with_end(source), tuple(target), recorded, stages, biased)
        for source, target, recorded in zip(sources, targets, found, strict=True)
    ]


def _one(
    source: tuple[int, ...],
    target: tuple[int, ...],
    found: Recorded,
    stages: Collection[Where],
    biased: frozenset[Kind],
) -> Captured:
    T = len(target)
    weights: dict[Kind, list[Array]] = {}
    kept: dict[Where, dict[str, Array]] = {}
    for (kind, layer), parts in found.attention.items():
        cut = parts if T else {name: shorter(kind, name, array) for name, array in parts.items()}
        weights.setdefault(kind, []).append(cut["weights"])
        if (kind, layer) in stages:
            kept[kind, layer] = {
                name: read_only(array.astype(np.uint8) if name == "mask" else array.copy())
                for name, array in cut.items()
                if name != "bias" or kind in biased
            }
    columns = {name: found.parts[name][:T].copy() for name in STEPS}  # the recording of a batch can go
    states = {name: found.parts[name] for name in ("encoder", "decoder", "bridge") if name in found.parts}
    return Captured(
        source,
        target,
        {kind: read_only(np.array(some)) for kind, some in weights.items()},
        partial(steps_of, target, columns),
        {name: read_only((one[:T] if name == "decoder" else one).copy()) for name, one in states.items()},
        kept,
        biased & weights.keys(),
    )


def shorter(kind: Kind, name: str, array: Array) -> Array:
    """A stage without the one step that a pass for no token at all has taken."""
    if kind == "enc_self":
        return array
    match name:
        case "out":
            return array[:0]
        case "q" | "context":
            return array[:, :0]
        case "k" | "v":
            return array if kind == "cross" else array[:, :0]
        case _:
            return array[:, :0] if kind == "cross" else array[:, :0, :0]


def steps_of(target: Sequence[int], parts: Mapping[str, Array]) -> tuple[Step, ...]:
    """What the model thought when it wrote each token; the entropy in bits."""
    columns = [parts[name].tolist() for name in STEPS]
    all_there = bool((parts["top_id"] >= 0).all())  # a vocabulary may have fewer tokens than are listed
    steps = []
    for id, logprob, nats, ids, scores in zip(target, *columns, strict=True):
        pairs = tuple(zip(ids, scores, strict=True))
        best = pairs if all_there else tuple(pair for pair in pairs if pair[0] >= 0)
        steps.append(Step(id, logprob, nats / LN2, best))
    return tuple(steps)


def biased_kinds(engine: NativeEngine) -> frozenset[Kind]:
    """The kinds of attention whose scores get a bias: by relative positions, where tokens have any."""
    config, edits = engine.model.config, engine.edits
    if not isinstance(config, TransformerConfig) or config.positions != "relative":
        return frozenset()
    sides: dict[Kind, str] = {"enc_self": "source_positions", "dec_self": "target_positions"}
    gone = {
        kind for kind, side in sides.items() if (one := getattr(edits, side, None)) and one.mode == "none"
    }
    return frozenset(sides.keys() - gone)


def forced(engine: NativeEngine, sources: Sequence[Source], target: Sequence[int]) -> NDArray[np.float32]:
    """log p of each target token for every source: (B, T)."""
    return np.stack(engine.force([list(one) for one in sources], [target] * len(sources)))


def finals(engine: NativeEngine, sources: Sequence[Source]) -> NDArray[np.float32]:
    """Where the decoder of a recurrent model would start from: (B, N, C, D)."""
    found = engine.record([list(one) for one in sources], [(EOS,)] * len(sources))
    return np.stack([one.parts["bridge"] for one in found])


def position_rows(engine: NativeEngine, count: int) -> NDArray[np.float32] | None:
    """What tells the first positions apart, as `position_rows` of a model in torch has it; None: nothing."""
    config, parts = engine.model.config, engine.model.parts
    if not isinstance(config, TransformerConfig) or config.positions == "none":
        return None
    match config.positions:
        case "learned":
            return np.array(parts["source_positions"].data.reshape(-1, config.width)[:count])
        case "relative":
            table = parts["encoder_bias"].data.reshape(config.buckets, config.heads)
            return np.array(table[buckets_before(count, config.buckets, config.max_distance)])
        case _:
            return sines(count, config.d_k if config.positions == "rotary" else config.width)


def sines(count: int, width: int) -> NDArray[np.float32]:
    """Sines and cosines of the first positions in turn (P, D), in float32 as `nn/positions.py` has them."""
    exponent = np.arange(0, width, 2, dtype=np.float32) / np.float32(width)
    angle = np.arange(count, dtype=np.float32)[:, None] / np.float32(BASE) ** exponent
    both = np.stack((np.sin(angle), np.cos(angle)), axis=-1)
    return both.reshape(count, -1).astype(np.float32)


def buckets_before(count: int, buckets: int, most: int) -> NDArray[np.int64]:
    """The bucket of a key so many tokens before its query (P,), where both directions have half of them."""
    n, far = buckets // 2, np.arange(count)
    exact = n // 2
    ratio = np.maximum(far, exact).astype(np.float32) / np.float32(exact)
    shared = exact + (np.log(ratio) / np.float32(log(most / exact)) * (n - exact)).astype(np.int64)
    return np.where(far < exact, far, np.minimum(shared, n - 1))
