"""Equal terms: what every entry may spend (seconds, updates or FLOPs), and widths of as many parameters."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from math import inf, lcm
from typing import Literal

import numpy as np

from jumok.architectures import ModelConfig, TransformerConfig
from jumok.checkpoint.model import patches_of
from jumok.config import ENDLESS, RunConfig
from jumok.data.store import Store
from jumok.errors import ConfigError
from jumok.models.cost import forward_cost, parameters
from jumok.settings import Flat
from jumok.text.tokenizer import Tokenizers

SECONDS = 600.0  # for each entry, when nobody says
PASSES = 3  # an update costs as much as three forward passes: one forward, two backward
LOOKED_AT = 1000  # pairs whose cost stands for all
WITHIN = 0.05  # of each other: then counts are called matched
STEPS = (16, 8, 2)  # widths are multiples of the first of these that comes close enough
CLOSE = 0.02
WIDEST = 8192


@dataclass(frozen=True, slots=True)
class Budget:
    """Of each entry, not of all together."""

    kind: Literal["time", "steps", "flops"] = "time"
    value: float = SECONDS

    def __post_init__(self) -> None:
        if not 0 < self.value < inf:
            raise ConfigError(
                f"a budget of {self.value:g} {self.kind} cannot work", hint="choose a number above 0"
            )

    def settings(self, steps: int = ENDLESS) -> Flat:
        """What a run is told; `steps` are those that the FLOPs are worth."""
        steps = {"time": ENDLESS, "steps": int(self.value), "flops": steps}[self.kind]
        limit = self.value if self.kind == "time" else 0.0
        return {"training.max_steps": steps, "training.time_limit": limit, "training.patience": 0}


def steps_for(flops: float, config: RunConfig, store: Store, tokenizers: Tokenizers) -> int:
    """Updates that cost so many FLOPs, by the formulas of `models/cost.py` over the training pairs.

    steps = flops / (3 · forward FLOPs of an average pair · pairs in an update), padding not counted.
    """
    rows = np.linspace(0, len(store) - 1, min(len(store), LOOKED_AT)).round().astype(np.int64)
    patches = patches_of(tokenizers)
    ends = 0 if patches else 1  # a picture has no end token
    sources, targets = store.source_lengths[rows] + ends, store.target_lengths[rows] + 1
    costs = [
        forward_cost(config.model, int(S), int(T), tokenizers.target.size, patches=patches).flops
        for S, T in zip(sources, targets, strict=True)
    ]
    pairs = config.training.batch_tokens / float((sources + targets).mean())
    passes = PASSES * (2 if config.training.rdrop else 1)
    steps = int(flops / (passes * float(np.mean(costs)) * pairs))
    if steps < 1:
        raise ConfigError(
            f"{flops:.3g} FLOPs are less than one update of {config.model.arch}",
            hint=f"one takes about {passes * float(np.mean(costs)) * pairs:.2g}",
        )
    return steps


def count(model: ModelConfig, tokenizers: Tokenizers) -> int:
    """Parameters of a model with this vocabulary, by formula."""
    sizes, patches = (tokenizers.source.size, tokenizers.target.size), patches_of(tokenizers)
    return sum(part.count for part in parameters(model, *sizes, shared=tokenizers.shared, patches=patches))


def fit(model: ModelConfig, target: int, tokenizers: Tokenizers, *, inner: bool = True) -> ModelConfig:
    """The model with the width that brings its parameters closest to `target`.

    With `inner` the feed-forward network of a Transformer keeps its ratio to the width.
    """

    def widened(width: int) -> ModelConfig:
        if isinstance(model, TransformerConfig) and inner:
            feedforward = max(1, round(model.feedforward * width / model.width))
            return replace(model, width=width, feedforward=feedforward)
        return replace(model, width=width)

    best = model
    for step in STEPS:
        best = closest((widened(width) for width in widths(model, step)), target, tokenizers)
        if abs(count(best, tokenizers) / target - 1) <= CLOSE:
            break
    return best


def closest(models: Iterable[ModelConfig], target: int, tokenizers: Tokenizers) -> ModelConfig:
    """Of models that grow, the one whose count is nearest; those far beyond are not looked at."""
    best, distance = None, 0
    for model in models:
        off = abs(count(model, tokenizers) - target)
        if best is not None and off > distance:
            return best
        best, distance = model, off
    assert best is not None
    return best


def widths(model: ModelConfig, step: int) -> range:
    """Widths that the architecture allows: whole heads, and even numbers for what comes in pairs."""
    if isinstance(model, TransformerConfig) and not model.head_width:
        step = lcm(step, model.heads * (2 if model.positions == "rotary" else 1))
    return range(step, max(WIDEST, step) + 1, step)


def spread(counts: Iterable[int]) -> float:
    """How much more parameters the largest model has than the smallest, as a share of the latter."""
    known = list(counts)
    return max(known) / min(known) - 1
