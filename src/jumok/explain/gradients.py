"""How far back the loss reaches: the size of its gradient at each token of the source.

    g_i = || dL / dx_i ||,   L = -1/T sum_t log p(y_t | y_<t, x)

x_i is the vector with which token i enters the encoder. In a recurrent encoder the gradient passes through
every state between the token and the end; attention is one step away from all of them. What training made of
that, the trained weights show; what the architecture alone does, fresh ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from jumok.config import LuongConfig, ModelConfig, RnnConfig
from jumok.decoding.jobs import Source
from jumok.decoding.translator import Translator
from jumok.explain.forced import explained
from jumok.explain.ops import bad_parameter
from jumok.explain.subject import LONGEST, subjects_of
from jumok.explain.tokens import is_picture, source_side
from jumok.explain.watched import too_long
from jumok.progress import Progress, silent
from jumok.text.tokenizer import EOS

if TYPE_CHECKING:
    from jumok.models.interface import Seq2Seq

MOST_LENGTHS = 16
MOST_PARAMETERS = 50_000_000  # of a model that gets fresh weights: they come on top of its own

Norms = NDArray[np.float64]


@dataclass(frozen=True)
class AtLength:
    """The text's tokens, repeated and cut to one length: the first, the smallest and the largest norm."""

    length: int
    loss: float
    first: float
    smallest: float
    largest: float


@dataclass(frozen=True)
class Gradients:
    """The norm of the loss's gradient at every source token and at its end, or at every patch."""

    source: str
    target: str
    fresh: int | None
    """The seed of the weights, if they were fresh."""
    loss: float
    """Mean negative log-probability of the target's tokens, in nats."""
    tokens: tuple[str, ...]
    norms: tuple[float, ...]
    by_length: tuple[AtLength, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return {
            "target": self.target,
            "fresh": self.fresh,
            "loss": self.loss,
            "tokens": list(self.tokens),
            "norms": list(self.norms),
            "by_length": [vars(one).copy() for one in self.by_length],
        }


def gradients(
    translator: Translator,
    text: str,
    target: str | None = None,
    *,
    lengths: Sequence[int] = (),
    fresh: int | None = None,
    directions: Literal[1, 2] | None = None,
    most: int = LONGEST,
    progress: Progress = silent,
) -> Gradients:
    """The gradient of the loss of a target, or of the model's own answer, at each token of a text.

    `lengths` repeats the text's tokens, cuts them to so many, and measures again. `fresh` is a seed: weights
    that nobody has trained, of the same configuration; a recurrent encoder may then read in other
    `directions` than the model does. No side may have more than `most` tokens.
    """
    config = fresh_config(translator.config.model, fresh, directions)
    targets = None if target is None else [target]
    [subject] = subjects_of(translator, [text], targets=targets, options={"long": "error"})
    source: Source = subject.source_ids
    written = [*subject.target_ids, *([EOS] if subject.ended else [])]
    check_lengths(source, lengths)
    for side, count in (("source", max((len(source), *lengths)) + 1), ("target", len(written))):
        if count > most:
            raise too_long(side, count, most)
    model = translator.model if fresh is None else fresh_model(translator, config, fresh)
    loss, norms = gradient_norms(model, source, written)
    tokens = source_side(translator.tokenizers, source, subject.source, "", end=True)["tokens"]
    progress("gradients", 1, 1 + len(lengths))
    grown = []
    for done, length in enumerate(lengths, start=2):
        longer: Any = [*source] * (length // len(source) + 1)
        grown.append(at_length(model, longer[:length], written))
        progress("gradients", done, 1 + len(lengths))
    return Gradients(
        subject.source,
        subject.target,
        fresh,
        loss,
        tuple(token["text"] for token in tokens),
        tuple(norms.tolist()),
        tuple(grown),
    )


def check_lengths(source: Source, lengths: Sequence[int]) -> None:
    if lengths and is_picture(source):
        raise bad_parameter("a picture always has the same number of patches", hint="ask without lengths")
    if len(lengths) > MOST_LENGTHS:
        raise bad_parameter(f"there are {len(lengths)} lengths", hint=f"give {MOST_LENGTHS} at the most")
    if wrong := [one for one in lengths if one < 1]:
        raise bad_parameter(f"a length of {wrong[0]} has no token", hint="lengths count from 1")


def fresh_config(config: ModelConfig, fresh: int | None, directions: Literal[1, 2] | None) -> ModelConfig:
    """The configuration with so many directions of reading, if that was asked for."""
    if directions is None:
        return config
    if fresh is None:
        raise bad_parameter("trained weights have the directions that they have", hint="give fresh a seed")
    if not isinstance(config, RnnConfig | LuongConfig):
        raise bad_parameter(
            f"a {config.arch} reads in no direction", hint="leave directions out for this model"
        )
    return replace(config, bidirectional=directions == 2)


def fresh_model(translator: Translator, config: ModelConfig, seed: int) -> Seq2Seq:
    """The same architecture with weights that nobody has trained."""
    import torch

    from jumok.checkpoint.model import build_for
    from jumok.decoding.batched import device_of
    from jumok.models.cost import count_parameters

    if (count := count_parameters(translator.model)) > MOST_PARAMETERS:
        raise bad_parameter(
            f"the model has {count:,} parameters, and fresh weights are drawn for {MOST_PARAMETERS:,}",
            hint="look at its trained weights, or take a smaller model",
        )
    with torch.random.fork_rng(devices=[]):  # the caller's numbers stay as they are
        torch.manual_seed(seed)
        return build_for(config, translator.tokenizers).eval().to(device_of(translator.model))


def gradient_norms(model: Seq2Seq, source: Source, target: Sequence[int]) -> tuple[float, Norms]:
    """The loss of target ids, with their end if they have one, and the norm at each source token."""
    import torch

    from jumok.decoding.batched import device_of, lay_sources, lay_targets
    from jumok.explain.entering import EntryBackend
    from jumok.models.interface import edits_of

    ops, device = EntryBackend(edits_of(model)), device_of(model)
    target_in, target_out = lay_targets([target], device)
    # cuDNN has gradients of a cell in training mode only.
    plain = torch.backends.cudnn.flags(enabled=False) if device.type == "cuda" else nullcontext()
    with explained(), torch.enable_grad(), plain:
        twin = model.using(ops)
        logits = twin.decode(target_in, twin.encode(lay_sources([source], device))).logits()
        loss = torch.nn.functional.cross_entropy(logits.float(), target_out.long())
        assert ops.entered is not None
        [found] = torch.autograd.grad(loss, ops.entered)  # (N, D)
    return loss.item(), found.double().norm(dim=1).cpu().numpy()  # squares of float32 could vanish


def at_length(model: Seq2Seq, source: Source, target: Sequence[int]) -> AtLength:
    loss, norms = gradient_norms(model, source, target)
    tokens = norms[:-1]  # without the end of the sentence, whose distance never grows
    return AtLength(len(source), loss, float(norms[0]), float(tokens.min()), float(tokens.max()))
