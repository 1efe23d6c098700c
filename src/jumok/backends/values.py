"""What the ops of a back end take and give; the ops themselves are in `torch.py`."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol, TypeAlias

if TYPE_CHECKING:  # traces read what is here, and need no torch
    from torch import Tensor

    from jumok.nn.spans import Lengths

Side = Literal["source", "target"]
Pair: TypeAlias = "tuple[Tensor, Tensor]"
"""Keys and values."""
Score: TypeAlias = "Callable[[Tensor, Tensor], Tensor]"
"""Queries (B, T, D) and keys (B, S, D) to scores (B, T, S)."""


class Projected(NamedTuple):
    """A product, and the bias that is in it already but whose gradient the op that reads it still owes."""

    values: "Tensor"  # (L, ·)
    bias: "Tensor | None" = None


class Tokens(Protocol):
    """What an op may ask of `jumok.models.sentences.Sentences`."""

    @property
    def positions(self) -> "Tensor": ...
    @property
    def known_lengths(self) -> "Lengths": ...
    @property
    def time(self) -> Any: ...
    def grid(self, x: "Tensor", /) -> "Tensor": ...
    def __len__(self) -> int: ...
