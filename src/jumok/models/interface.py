"""The contract between a model and everything else: Memory, State, and five methods.

Loss, search, server and explorer know only this file. Axis letters: B batch, S source, T target, D width,
V vocabulary, H heads, N layers, K width of one head.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, Protocol, Self

from torch import Tensor, nn

from jumok.nn.functional import Stages

Kind = Literal["enc_self", "dec_self", "cross"]
Record = Callable[[Kind, int, Stages], None]
"""`record(kind, layer, stages)`: takes every stage of one attention layer as it is computed."""


@dataclass(frozen=True)
class Memory:
    """What the encoder hands to the decoder."""

    states: Tensor  # (B, S, D)
    mask: Tensor  # (B, S), True at real tokens
    final: Tensor | None = None  # (B, N, C, D), recurrent models: last state of each layer, C parts of it

    def select(self, rows: Tensor) -> "Memory":
        """The memory with its batch rows picked in this order."""
        final = None if self.final is None else self.final[rows]
        return Memory(self.states[rows], self.mask[rows], final)


class State(Protocol):
    """What one decoding step needs and returns. A value: stepping never changes the state it was given."""

    def select(self, rows: Tensor) -> Self:
        """The state with its batch rows picked in this order (beam search reorders)."""
        ...


class Seq2Seq(nn.Module):
    """Source ids to target logits. A subclass is one paper: it writes the five methods below `forward`."""

    def forward(self, source: Tensor, source_mask: Tensor, target_in: Tensor) -> Tensor:
        """Logits (B, T, V) of the teacher-forced pass."""
        return self.decode(target_in, self.encode(source, source_mask))

    def encode(self, source: Tensor, source_mask: Tensor, record: Record | None = None) -> Memory:
        """Read the source (B, S); the mask (B, S) is True at real tokens."""
        raise NotImplementedError

    def decode(self, target_in: Tensor, memory: Memory, record: Record | None = None) -> Tensor:
        """Logits (B, T, V) for all steps at once, given the tokens before each."""
        raise NotImplementedError

    def start(self, memory: Memory) -> Any:
        """The state before the first step."""
        raise NotImplementedError

    def step(self, token: Tensor, state: Any) -> tuple[Tensor, Any]:
        """One step: the last token of each row (B,) gives logits (B, V) for the next, and the next state."""
        raise NotImplementedError

    def explain(self, target_in: Tensor, memory: Memory) -> tuple[Tensor, ...]:
        """Cross-attention weights of each decoder layer, N maps (B, H, T, S); none without attention."""
        maps: list[Tensor] = []

        def keep(kind: Kind, layer: int, stages: Stages) -> None:
            if kind == "cross":
                maps.append(stages.weights)

        self.decode(target_in, memory, keep)
        return tuple(maps)
