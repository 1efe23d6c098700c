"""Who wanted what: at each step of an ensemble's answer, what every member would have written.

    p        the ensemble's probability of a token, after the tokens before it
    members  each member's own, in their order

A single model is an ensemble of one. Axis letters: T target tokens with the end, V vocabulary.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from jumok.decoding.results import JsonResult
from jumok.decoding.translator import Translator
from jumok.explain.forced import explained
from jumok.explain.subject import subjects_of
from jumok.text.tokenizer import EOS, Tokenizer

if TYPE_CHECKING:
    from torch import Tensor

BEST = 5
"""Tokens of the ensemble that are shown at each step, besides each member's favourite."""


@dataclass(frozen=True, slots=True)
class VotedToken:
    """A token that might have come, and how probable all together and each by itself find it."""

    text: str
    id: int
    p: float
    members: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class VoteStep:
    """One step: the token that was written, and what else was wanted."""

    text: str
    id: int
    p: float
    members: tuple[float, ...]
    favourites: tuple[int, ...]
    """The id that each member finds most probable here."""
    candidates: tuple[VotedToken, ...]
    """The best tokens of the ensemble and each member's favourite, most probable first."""


@dataclass(frozen=True, slots=True)
class VotedMember:
    """One model of an ensemble."""

    name: str
    arch: str
    weight: float
    agrees: int
    """Steps at which its favourite is what was written."""


@dataclass(frozen=True, slots=True)
class Votes(JsonResult):
    """What each member of an ensemble wanted while it wrote a target."""

    source: str
    target: str
    mean: str
    """What is averaged: probabilities or logs."""
    members: tuple[VotedMember, ...]
    steps: tuple[VoteStep, ...]


def votes(translator: Translator, text: str, target: str | None = None) -> Votes:
    """The votes for a target, or for the ensemble's own answer; see `Model.votes`."""
    import torch

    targets = None if target is None else [target]
    [subject] = subjects_of(translator, [text], targets=targets)
    ids = [*subject.target_ids, *([EOS] if subject.ended else [])]
    with explained(), torch.inference_mode():
        whole, own = opinions(translator, subject.source_ids, ids)
    tokenizer = translator.tokenizers.target
    steps = tuple(one_step(tokenizer, ids[t], whole[t], [one[t] for one in own]) for t in range(len(ids)))
    mine = {"name": translator.info["name"], "arch": translator.info["arch"], "weight": 1.0}
    members = tuple(
        VotedMember(
            member["name"],
            member["arch"],
            member["weight"],
            sum(step.favourites[n] == step.id for step in steps),
        )
        for n, member in enumerate(translator.info.get("members", [mine]))
    )
    mean = str(translator.info.get("mean", "probabilities"))
    return Votes(subject.source, subject.target, mean, members, steps)


def opinions(
    translator: Translator, source: Sequence[int] | Sequence[bytes], target: Sequence[int]
) -> tuple[Tensor, list[Tensor]]:
    """Probabilities (T, V) of every token after the right ones: of all together, and of each member."""
    from jumok.decoding.batched import device_of, lay_sources, lay_targets
    from jumok.decoding.search import log_softmax
    from jumok.models.ensemble import EnsembleSeq2Seq

    model = translator.model
    target_in, _ = lay_targets([target], device_of(model))
    memory = model.encode(lay_sources([source], device_of(model)))
    if isinstance(model, EnsembleSeq2Seq):
        logits = model.opinions(target_in, memory)
        mixed = model.mixed(logits)
    else:
        mixed = model.decode(target_in, memory).logits()
        logits = [mixed]
    return log_softmax(mixed).exp().cpu(), [log_softmax(one).exp().cpu() for one in logits]


def one_step(tokenizer: Tokenizer, written: int, whole: Tensor, own: Sequence[Tensor]) -> VoteStep:
    """One step, given the probabilities (V,) of all together and of each member."""
    favourites = [int(one.argmax()) for one in own]
    best = whole.topk(min(BEST, len(whole))).indices.tolist()
    shown = sorted({*best, *favourites, written}, key=lambda id: (-float(whole[id]), id))

    def voted(id: int) -> VotedToken:
        [text] = tokenizer.pieces([id])
        return VotedToken(text, id, float(whole[id]), tuple(float(one[id]) for one in own))

    now = voted(written)
    candidates = tuple(map(voted, shown))
    return VoteStep(now.text, written, now.p, now.members, tuple(favourites), candidates)
