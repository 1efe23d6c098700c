"""What a what-if changes inside a model: attention layer by layer, positions, the bridge."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

import torch
from torch import Tensor

from jumok.backends.values import Where
from jumok.nn.edit import AttentionEdit
from jumok.nn.positions import exchanged, shuffled
from jumok.nn.spans import Lengths


@dataclass(frozen=True)
class PositionEdit:
    """Other positions for the tokens of one side of a Transformer.

    none: the model adds no position at all. shift: every position moves by `by`, never below 0. shuffle: a
    permutation by `seed`, of a source within its own length, of a target within blocks of 8 positions (so
    that a step knows its position before the end is known).
    """

    mode: Literal["none", "shuffle", "shift"]
    seed: int = 0
    by: int = 0

    def of_source(self, positions: Tensor, lengths: Lengths) -> Tensor | None:
        """Positions (L,) for the tokens of sentences with these lengths."""
        if self.mode == "shuffle":
            return shuffled(lengths, self.seed).to(positions.device)
        return self.moved(positions)

    def of_target(self, positions: Tensor, rows: int | None = None) -> Tensor | None:
        """What stands in for these positions (L,); a learned table has so many `rows`."""
        return exchanged(positions, self.seed, rows) if self.mode == "shuffle" else self.moved(positions)

    def moved(self, positions: Tensor) -> Tensor | None:
        return None if self.mode == "none" else (positions + self.by).clamp(min=0)


@dataclass(frozen=True, eq=False)
class Edits:
    """All that a what-if changes inside a model. A model ignores what it does not have."""

    attention: Mapping[Where, AttentionEdit] = field(default_factory=dict)
    source_positions: PositionEdit | None = None
    target_positions: PositionEdit | None = None
    bridge: Tensor | None = (
        None  # (N, C, D), recurrent models: stands in for the final state of every sentence
    )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Edits):
            return NotImplemented
        same = (
            dict(self.attention) == dict(other.attention)
            and self.source_positions == other.source_positions
            and self.target_positions == other.target_positions
        )
        if self.bridge is None or other.bridge is None:
            return same and self.bridge is other.bridge
        return same and torch.equal(self.bridge, other.bridge)

    __hash__ = None  # type: ignore[assignment]  # tensors compare by their numbers
