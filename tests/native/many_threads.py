"""A program without torch: many threads search with one model at once, others open and close their own.

`scripts/sanitize.sh` runs it with ThreadSanitizer in the library, `test_threads.py` without.
"""

import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from jumok.architectures import LuongConfig, ModelConfig, TransformerConfig
from jumok.native.draws import Draws
from jumok.native.model import NativeModel, SearchOptions
from jumok.native.record import Probe
from jumok.native.weights import PackedWeights, Type, layout, pack_weights

SHAPES: tuple[ModelConfig, ...] = (
    # Wide enough that threads share the blocks of a matrix, as they do for one sentence.
    TransformerConfig(width=256, heads=4, feedforward=256, encoder_layers=1, decoder_layers=1),
    TransformerConfig(
        width=128,
        heads=2,
        head_width=96,
        feedforward=300,
        encoder_layers=1,
        decoder_layers=1,
        norm="pre",
        positions="relative",
        activation="silu",
        gated=True,
        rms_norm=True,
        logits_bias=True,
    ),
    LuongConfig(width=32, cell="gru", score="general"),
)
VOCABULARY = 600
ONE, MANY = [[5, 6, 7]], [[5 + (i * j) % 500 for j in range(1 + i % 9)] for i in range(24)]


def parts_of(config: ModelConfig, type_: Type) -> dict[str, PackedWeights]:
    """Random weights."""
    draw, state = np.random.default_rng(0), dict[str, Any]()
    for part in layout(config, VOCABULARY, VOCABULARY):
        state[part.weight] = draw.standard_normal(part.shape, dtype=np.float32)
        if part.bias:
            state[part.bias] = np.zeros(part.bias_shape, np.float32)
    return pack_weights(config, state, shared=True, type=type_)


def ask(model: NativeModel, threads: int) -> list[Any]:
    """Batches of sentences, one sentence alone, and scores."""
    batch = model.search(MANY, [4] * len(MANY), SearchOptions(beam=2, rows=8), threads=threads)
    alone = model.search(ONE, [12], SearchOptions(beam=2, min_len=11), threads=threads)
    scored = model.score(MANY, [list(answers[0].ids) for answers in batch], threads=threads)
    return [batch, alone, scored, drawn(model, threads), seen(model, threads)]


def drawn(model: NativeModel, threads: int) -> list[Any]:
    """Answers at random, of many sentences and of one."""
    numbers, found = np.random.default_rng(1), list[Any]()
    for sources in (MANY, ONE):
        draws = Draws([numbers.random((2, 4)) for _ in sources], temperature=0.7)
        limits = [4] * len(sources)
        found.append(model.search(sources, limits, SearchOptions(beam=2), draws=draws, threads=threads))
    return found


def seen(model: NativeModel, threads: int) -> list[bytes]:
    """What a greedy search records of every sentence, in memory that the threads share."""
    room = model.recording(MANY, [4] * len(MANY), stages=[("cross", 0)])
    found = model.search(
        MANY, [4] * len(MANY), SearchOptions(beam=1), threads=threads, looker=Probe(recording=room)
    )
    recorded = [room.read(place, len(best.ids) + best.finished) for place, [best, *_] in enumerate(found)]
    parts = [[one.parts, *one.attention.values()] for one in recorded]
    return [array.tobytes() for some in parts for group in some for array in group.values()]


def check(callers: int, rounds: int) -> list[str]:
    """Every caller gets what one alone gets; the kinds of models for which that is not so."""
    faults = []
    for config in SHAPES:
        types: tuple[Type, ...] = ("float32", "int8")
        for type_ in types:
            parts = parts_of(config, type_)
            model = NativeModel(config, parts)
            expected = ask(model, 1)

            def call(number: int) -> bool:
                mine = NativeModel(config, parts) if number % 4 == 3 else model  # noqa: B023
                return ask(mine, 1 + number % 4) == expected  # noqa: B023

            with ThreadPoolExecutor(callers) as pool:
                if not all(pool.map(call, range(callers * rounds))):
                    faults.append(f"{type(config).__name__}, {type_}: another answer among many threads")
    return faults


if __name__ == "__main__":
    sys.exit("\n".join(check(*map(int, sys.argv[1:]))) or None)
