"""Several models that predict together: each reads and steps by itself, and what they say is averaged.

    mean of probabilities:  P(y) = sum_k w_k P_k(y)
    mean of logs:           P(y) = prod_k P_k(y)^w_k / Z        with sum_k w_k = 1

Where one model is sure and another is not, the mean of probabilities follows the sure one; the mean of logs
takes only what nobody finds impossible. Members may be of any architecture and size: they share a vocabulary
and nothing else. To a search an ensemble is a model like any other.

Axis letters: R rows of a search, M target tokens, V vocabulary.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import log
from typing import Any, Self

import torch
from torch import Tensor, nn

from jumok.config import Mean
from jumok.errors import ConfigError
from jumok.models.interface import Memory, PlainPrediction, Prediction, Seq2Seq
from jumok.models.sentences import Sentences


@dataclass(frozen=True, eq=False)
class EnsembleMemory(Memory):
    """What each member has read; the first one's stands for all where one is asked for."""

    members: tuple[Memory, ...] = field(default=(), kw_only=True)

    @staticmethod
    def of(members: Sequence[Memory]) -> "EnsembleMemory":
        first = members[0]
        return EnsembleMemory(first.states, first.source, first.final, members=tuple(members))

    def select(self, rows: Sequence[int]) -> "EnsembleMemory":
        return EnsembleMemory.of([member.select(rows) for member in self.members])


@dataclass(frozen=True)
class EnsembleState:
    """The state of each member, with the same rows."""

    members: tuple[Any, ...]

    def select(self, rows: Tensor) -> "EnsembleState":
        return EnsembleState(tuple(member.select(rows) for member in self.members))

    def join(self, other: "EnsembleState") -> "EnsembleState":
        pairs = zip(self.members, other.members, strict=True)
        return EnsembleState(tuple(one.join(more) for one, more in pairs))


class EnsembleSeq2Seq(Seq2Seq):
    """Models of one vocabulary as one; its logits are logarithms of mean probabilities."""

    def __init__(
        self,
        members: Sequence[Seq2Seq],
        weights: Sequence[float] = (),
        mean: Mean = "probabilities",
        lead: int = 0,
    ) -> None:
        """`weights` say how much each member counts, by default all the same; their sum is made 1.

        The attention of an ensemble is that of member number `lead`: maps of different models have no mean.
        """
        super().__init__()
        self.lead = lead
        given = list(weights) or [1.0] * len(members)
        self.members = nn.ModuleList(members)
        self.weights, self.mean = tuple(weight / sum(given) for weight in given), mean
        self.ops = members[0].ops

    def encode(self, source: Sentences) -> EnsembleMemory:
        return EnsembleMemory.of([member.encode(source) for member in self.models])

    def decode(self, target_in: Sentences, memory: Memory) -> Prediction:
        return PlainPrediction(self.mixed(self.opinions(target_in, memory)))

    def opinions(self, target_in: Sentences, memory: Memory) -> list[Tensor]:
        """The logits (M, V) of each member."""
        assert isinstance(memory, EnsembleMemory)
        pairs = zip(self.models, memory.members, strict=True)
        return [member.decode(target_in, own).logits() for member, own in pairs]

    def start(self, memory: Memory) -> EnsembleState:
        assert isinstance(memory, EnsembleMemory)
        pairs = zip(self.models, memory.members, strict=True)
        return EnsembleState(tuple(member.start(own) for member, own in pairs))

    def step(self, token: Tensor, state: EnsembleState) -> tuple[Tensor, EnsembleState]:
        pairs = zip(self.models, state.members, strict=True)
        steps = [member.step(token, own) for member, own in pairs]
        return self.mixed([logits for logits, _ in steps]), EnsembleState(tuple(own for _, own in steps))

    def mixed(self, logits: Sequence[Tensor]) -> Tensor:
        """What the members' logits (…, V) come to together."""
        if len(logits) == 1:
            return logits[0]
        log_probs = [one.float().log_softmax(dim=-1) for one in logits]
        return mixed_log_probs(log_probs, self.weights, self.mean)

    def explain(self, target_in: Sentences, memory: Memory) -> tuple[Tensor, ...]:
        assert isinstance(memory, EnsembleMemory)
        return self.models[self.lead].explain(target_in, memory.members[self.lead])

    @property
    def models(self) -> Sequence[Seq2Seq]:
        """The members as what they are."""
        return list(self.members)  # type: ignore[arg-type]

    @property
    def vocabulary(self) -> int:
        return self.models[0].vocabulary

    @property
    def most_positions(self) -> int | None:
        bounds = [member.most_positions for member in self.models]
        return min((bound for bound in bounds if bound is not None), default=None)

    def using(self, ops: Any) -> Self:
        raise ConfigError(
            f"this looks inside one model, and here are {len(self.members)} that predict together",
            hint="load one member by itself; votes shows what each of them wanted",
            code="ensemble",
        )


def mixed_log_probs(log_probs: Sequence[Tensor], weights: Sequence[float], mean: Mean) -> Tensor:
    """log of the weighted mean of distributions, given their logarithms (…, V); of logs not normalised."""
    if mean == "logs":
        return torch.stack([weight * one for weight, one in zip(weights, log_probs, strict=True)]).sum(0)
    parts = [one + log(weight) for weight, one in zip(weights, log_probs, strict=True)]
    return torch.stack(parts).logsumexp(dim=0)
