"""Models of one size: widths for which different architectures have about as many parameters."""

from collections.abc import Iterable
from dataclasses import replace
from math import lcm

from jumok.architectures import ModelConfig, TransformerConfig
from jumok.checkpoint.model import patches_of
from jumok.models.cost import parameters
from jumok.text.tokenizer import Tokenizers

WITHIN = 0.05  # of each other: then counts are called matched
STEPS = (16, 8, 2)  # widths are multiples of the first of these that comes close enough
CLOSE = 0.02
WIDEST = 8192


def count(model: ModelConfig, tokenizers: Tokenizers) -> int:
    """Parameters of a model with this vocabulary, by formula."""
    sizes, patches = (tokenizers.source.size, tokenizers.target.size), patches_of(tokenizers)
    return sum(part.count for part in parameters(model, *sizes, shared=tokenizers.shared, patches=patches))


def fit(model: ModelConfig, target: int, tokenizers: Tokenizers, *, inner: bool = True) -> ModelConfig:
    """The model with the width that brings its parameters closest to `target`.

    With `inner` the feed-forward network of a Transformer keeps its ratio to the width.
    """
    best = model
    for step in STEPS:
        candidates = (widened(model, width, inner=inner) for width in widths(model, step))
        best = closest(candidates, target, tokenizers)
        if abs(count(best, tokenizers) / target - 1) <= CLOSE:
            break
    return best


def closest(models: Iterable[ModelConfig], target: int, tokenizers: Tokenizers) -> ModelConfig:
    """Of models that grow, the one whose count is nearest; those far beyond are not looked at."""
    best, distance = None, 0
    for model in models:
        off = abs(count(model, tokenizers) - target)
        if best is not None and off > distance:
            break
        best, distance = model, off
    assert best is not None
    return best


def widths(model: ModelConfig, step: int) -> range:
    """Widths that the architecture allows: whole heads, and even numbers for what comes in pairs."""
    if isinstance(model, TransformerConfig):
        step = lcm(step, model.heads * (2 if model.positions == "rotary" else 1))
    return range(step, max(WIDEST, step) + 1, step)


def widened(model: ModelConfig, width: int, *, inner: bool) -> ModelConfig:
    if isinstance(model, TransformerConfig) and inner:
        return replace(model, width=width, feedforward=max(1, round(model.feedforward * width / model.width)))
    return replace(model, width=width)


def spread(counts: Iterable[int]) -> float:
    """How much more parameters the largest model has than the smallest, as a share of the latter."""
    known = list(counts)
    return max(known) / min(known) - 1
