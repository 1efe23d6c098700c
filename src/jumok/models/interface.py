"""The contract between a model and everything else: Memory, State, Prediction, and five methods.

Loss, search, server and explorer know only this file. Sentences lie end to end (`sentences.py`), and all
computing goes through a back end (`jumok.backends`), so a model is written once for training, validation,
search and traces. Axis letters: B sentences, N source tokens, M target tokens of all of them, R rows of a
search, D width, V vocabulary, H heads, S and T tokens of one source and target.
"""

import copy
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, Self

import torch
from torch import Tensor, nn

from jumok.backends.head import chunk_rows
from jumok.backends.recording import RecordingBackend
from jumok.backends.torch import TorchBackend
from jumok.config import AlignHead
from jumok.edits import Edits
from jumok.models.guide import HeadGuide
from jumok.models.sentences import Sentences
from jumok.nn.loss import rdrop_token_loss, token_loss


@dataclass(frozen=True, eq=False)
class Memory:
    """What the encoder hands to the decoder."""

    states: Tensor  # (N, D)
    source: Sentences
    final: Tensor | None = None  # (B, N, C, D), recurrent models: last state of each layer, C parts of it

    def select(self, rows: Sequence[int]) -> "Memory":
        """The memory of these sentences, in this order."""
        source, places = self.source.select(rows)
        return Memory(self.states[places], source, None if self.final is None else self.final[list(rows)])


class State(Protocol):
    """What one decoding step needs and returns. A value: stepping never changes the state it was given."""

    def select(self, rows: Tensor) -> Self:
        """The state with its rows picked in this order (beam search reorders)."""
        ...

    def join(self, other: Self) -> Self:
        """The rows of both, one's own first; pasts and sources may have any lengths."""
        ...


class Prediction(ABC):
    """What a model says about the next token at every place of a target."""

    @abstractmethod
    def logits(self) -> Tensor:
        """(M, V), all of them at once."""

    @abstractmethod
    def loss(self, target: Tensor, smoothing: float) -> tuple[Tensor, Tensor]:
        """Label-smoothed cross-entropy and plain nll, summed over places; a target of 0 weighs nothing."""

    @abstractmethod
    def rdrop_loss(self, other: Any, target: Tensor, smoothing: float, alpha: float) -> tuple[Tensor, Tensor]:
        """The same of two passes that should agree (R-Drop, Liang et al. 2021)."""

    def best(self) -> Tensor:
        """The most probable token at every place (M,)."""
        return self.logits().argmax(dim=-1)


class HeadPrediction(Prediction):
    """logits = states head^T + bias; the loss makes them a chunk of places at a time and keeps none."""

    def __init__(self, states: Tensor, head: Tensor, ops: TorchBackend, bias: Tensor | None = None) -> None:
        self.states, self.head, self.ops, self.bias = states, head, ops, bias

    def logits(self) -> Tensor:
        return self.ops.logits(self.states, self.head, self.bias)

    def loss(self, target: Tensor, smoothing: float) -> tuple[Tensor, Tensor]:
        return self.ops.head_loss(self.states, self.head, target, smoothing, self.bias)

    def rdrop_loss(
        self, other: "HeadPrediction", target: Tensor, smoothing: float, alpha: float
    ) -> tuple[Tensor, Tensor]:
        both = torch.cat((self.states, other.states))  # (2M, D)
        return self.ops.rdrop_loss(both, self.head, target, smoothing, alpha, self.bias)

    def best(self) -> Tensor:
        rows = chunk_rows(len(self.states), 1, len(self.head), self.states.element_size())
        parts = torch.split(self.states, max(rows, 1))
        found = (part @ self.head.to(part.dtype).T for part in parts)
        return torch.cat([(x if self.bias is None else x + self.bias).argmax(dim=-1) for x in found])


class PlainPrediction(Prediction):
    """Logits that exist already, however a model has made them."""

    def __init__(self, logits: Tensor) -> None:
        self.given = logits  # (M, V)

    def logits(self) -> Tensor:
        return self.given

    def loss(self, target: Tensor, smoothing: float) -> tuple[Tensor, Tensor]:
        return token_loss(self.given, target.long(), target != 0, smoothing)

    def rdrop_loss(
        self, other: "PlainPrediction", target: Tensor, smoothing: float, alpha: float
    ) -> tuple[Tensor, Tensor]:
        return rdrop_token_loss(self.given, other.given, target.long(), target != 0, smoothing, alpha)


class Seq2Seq(nn.Module):
    """Source tokens to predictions of target tokens. A subclass is one paper: `encode` to `step`."""

    fixed_shapes = False
    """Whether every shape follows from the room of a batch alone, never from the lengths in it: on a GPU its
    updates are then captured once and replayed, and on a CPU threads share them out."""

    def __init__(self) -> None:
        super().__init__()
        self.ops: TorchBackend = TorchBackend()
        self.guide: HeadGuide | None = None
        self.apart = False  # layers may not read each other's weights: processes share them out

    def forward(self, source: Sentences, target_in: Sentences) -> Prediction:
        """The teacher-forced pass."""
        return self.decode(target_in, self.encode(source))

    def encode(self, source: Sentences) -> Memory:
        """Read the sources."""
        raise NotImplementedError

    def decode(self, target_in: Sentences, memory: Memory) -> Prediction:
        """Predictions for all steps at once, given the tokens before each; target i belongs to source i."""
        raise NotImplementedError

    def start(self, memory: Memory) -> Any:
        """The state before the first step, a row for each sentence."""
        raise NotImplementedError

    def step(self, token: Tensor, state: Any) -> tuple[Tensor, Any]:
        """One step: the last token of each row (R,) gives logits (R, V) for the next, and the next state."""
        raise NotImplementedError

    def explain(self, target_in: Sentences, memory: Memory) -> tuple[Tensor, ...]:
        """Cross-attention weights of each decoder layer, maps (B, H, T, S); none without attention."""
        ops = RecordingBackend(edits_of(self), record=True)
        self.using(ops).decode(target_in, memory)
        maps = sorted((layer, stages) for (kind, layer), stages in ops.stages.items() if kind == "cross")
        return tuple(stages.weights for _, stages in maps)

    def using(self, ops: TorchBackend) -> Self:
        """The same model, with the very same weights, on another back end."""
        other = copy.copy(self)
        other.ops = ops
        return other

    def guided(self, guide: HeadGuide) -> Self:
        """The same model for one teacher-forced pass that tells this guide where a head looks."""
        other = copy.copy(self)
        other.guide = guide
        return other

    @property
    def taught_head(self) -> AlignHead:
        """The head that is taught to align."""
        raise NotImplementedError

    @property
    def fits_buffers(self) -> bool:
        """Whether a search can run in buffers that stay where they are (`fixed.py`)."""
        return False

    @property
    def vocabulary(self) -> int:
        """How many tokens can be written; 0: nobody has said."""
        return 0

    @property
    def most_positions(self) -> int | None:
        """How many tokens a sentence may have; None: any number."""
        return None

    def position_rows(self, count: int) -> Tensor | None:
        """What tells the first `count` positions apart, a row each (P, D); None if nothing does."""
        return None


def edits_of(model: Seq2Seq) -> Edits | None:
    """What a model's back end changes, if it is one for a what-if."""
    return model.ops.edits if isinstance(model.ops, RecordingBackend) else None


def longest(mask: Tensor) -> int:
    """Tokens of the longest sentence under a mask (B, …, S); 0 without a sentence."""
    return int(mask.sum(dim=-1).max()) if len(mask) else 0


def join_padded(one: Tensor, other: Tensor, length: int, dim: int) -> Tensor:
    """The rows of both at one length of this axis."""
    return torch.cat([resized(x, length, dim) for x in (one, other)])


def resized(x: Tensor, length: int, dim: int) -> Tensor:
    """Cut, or padded with zeros at the end, to this length along one axis."""
    if x.shape[dim] >= length:
        return x.narrow(dim, 0, length)
    shape = list(x.shape)
    shape[dim] = length - x.shape[dim]
    return torch.cat((x, x.new_zeros(shape)), dim=dim)
