"""The contract between a model and everything else: Memory, State, Probe, and five methods.

Loss, search, server and explorer know only this file. Axis letters: B batch, S source, T target, D width,
V vocabulary, H heads, N layers, K width of one head, C parts of a cell's state.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from jumok.nn.attention import AttentionProbe
from jumok.nn.edit import AttentionEdit as AttentionEdit  # also for those who may not import nn
from jumok.nn.functional import Stages as Stages
from jumok.nn.positions import exchanged, shuffled

Kind = Literal["enc_self", "dec_self", "cross", "copy"]
"""`copy` is where a model that copies points: one layer, one head, and its `out` is the share copied."""
Record = Callable[[Kind, int, Stages], None]
"""`record(kind, layer, stages)`: takes every stage of one attention layer as it is computed."""
RecordStates = Callable[[str, Tensor], None]
"""`states("encoder", (B, S, D))`, `states("decoder", (B, T, D))`: takes the states of a recurrent model."""


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

    def of_source(self, mask: Tensor) -> Tensor | None:
        """Positions (S,) or (B, S) for the tokens of a mask (B, S)."""
        if self.mode == "shuffle":
            return shuffled(mask.sum(dim=1), mask.shape[1], self.seed)
        return self.moved(torch.arange(mask.shape[1], device=mask.device))

    def of_target(self, positions: Tensor, rows: int | None = None) -> Tensor | None:
        """What stands in for these positions, (T,) or (B, T); a learned table has so many `rows`."""
        return exchanged(positions, self.seed, rows) if self.mode == "shuffle" else self.moved(positions)

    def moved(self, positions: Tensor) -> Tensor | None:
        return None if self.mode == "none" else (positions + self.by).clamp(min=0)


@dataclass(frozen=True, eq=False)
class Edits:
    """All that a what-if changes inside a model. A model ignores what it does not have."""

    attention: Mapping[tuple[Kind, int], AttentionEdit] = field(default_factory=dict)
    source_positions: PositionEdit | None = None
    target_positions: PositionEdit | None = None
    bridge: Tensor | None = None  # (N, C, D), recurrent models: stands in for Memory.final of every sentence

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


@dataclass(frozen=True)
class Probe:
    """What is asked of one pass besides its result: to hand out its tensors, to change them, or both."""

    record: Record | None = None
    states: RecordStates | None = None
    edits: Edits = field(default_factory=Edits)

    def at(self, kind: Kind, layer: int) -> AttentionProbe | None:
        """What is asked of one attention layer; None: nothing, which is the fast path."""
        record, edit = self.record, self.edits.attention.get((kind, layer))
        if record is None:
            return None if edit is None else AttentionProbe(edit=edit)
        return AttentionProbe(lambda stages: record(kind, layer, stages), edit)


def probe_at(probe: Probe | None, kind: Kind, layer: int) -> AttentionProbe | None:
    return None if probe is None else probe.at(kind, layer)


def edits_of(probe: Probe | None) -> Edits | None:
    """The edits that a state carries from step to step; None if there are none."""
    return None if probe is None or probe.edits == Edits() else probe.edits


def as_probe(edits: Edits | None) -> Probe | None:
    """How a step is asked to apply the edits that its state carries."""
    return None if edits is None else Probe(edits=edits)


def same_edits(one: Edits | None, other: Edits | None) -> Edits | None:
    """The edits of both; states with different ones cannot be joined."""
    if one != other:
        raise ValueError("states with different edits cannot be joined: step them apart")
    return one


@dataclass(frozen=True)
class Memory:
    """What the encoder hands to the decoder."""

    states: Tensor  # (B, S, D)
    mask: Tensor  # (B, S), True at real tokens
    final: Tensor | None = None  # (B, N, C, D), recurrent models: last state of each layer, C parts of it
    tokens: Tensor | None = None  # (B, S), the pieces themselves, for a model that copies them

    def select(self, rows: Tensor) -> "Memory":
        """The memory with its batch rows picked in this order."""
        final = None if self.final is None else self.final[rows]
        tokens = None if self.tokens is None else self.tokens[rows]
        return Memory(self.states[rows], self.mask[rows], final, tokens)

    def join(self, other: "Memory") -> "Memory":
        """The rows of both, one's own first, padded to the longest source among them."""
        S = max(longest(self.mask), longest(other.mask))
        states = join_padded(self.states, other.states, S, dim=1)
        mask = join_padded(self.mask, other.mask, S, dim=1)
        final = tokens = None
        if self.final is not None and other.final is not None:
            final = torch.cat((self.final, other.final))
        if self.tokens is not None and other.tokens is not None:
            tokens = join_padded(self.tokens, other.tokens, S, dim=1)
        return Memory(states, mask, final, tokens)


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


class PackedBatch(Protocol):
    """Sentence pairs laid end to end (`jumok.data.batch.Packed`): N source and M target tokens, no padding.

    Ranges are half-open [begin, end) and never go back from one token to the next. Tokens that only fill the
    room up stand at the end, each alone.
    """

    @property
    def source(self) -> Tensor:
        """(N,) ids; each sentence ends with EOS."""
        ...

    @property
    def source_range(self) -> Tensor:
        """(2, N): where the token's own sentence lies among the source tokens."""
        ...

    @property
    def source_readers(self) -> Tensor:
        """(2, N): the target tokens of the same pair, which read this token."""
        ...

    @property
    def target_in(self) -> Tensor:
        """(M,) ids; each sentence starts with BOS."""
        ...

    @property
    def target_range(self) -> Tensor:
        """(2, M): where the token's own sentence lies among the target tokens."""
        ...

    @property
    def target_reads(self) -> Tensor:
        """(2, M): the source tokens of the same pair, which this token reads."""
        ...

    @property
    def longest(self) -> int:
        """No source has more tokens; the same for all batches of one room."""
        ...

    @property
    def source_lengths(self) -> NDArray[np.int64]:
        """(B,) tokens of each source, its end included; on the host, fillers left out."""
        ...

    @property
    def target_lengths(self) -> NDArray[np.int64]:
        """(B,) tokens of each target."""
        ...


class State(Protocol):
    """What one decoding step needs and returns. A value: stepping never changes the state it was given."""

    def select(self, rows: Tensor) -> Self:
        """The state with its batch rows picked in this order (beam search reorders)."""
        ...

    def join(self, other: Self) -> Self:
        """The rows of both, one's own first; pasts and sources may have any lengths.

        Raises ValueError if the two carry different edits.
        """
        ...


class Seq2Seq(nn.Module):
    """Source ids to target logits. A subclass is one paper: it writes the four methods below `forward`.

    Without a probe attention takes the fused path, which keeps nothing.
    """

    def forward(self, source: Tensor, source_mask: Tensor, target_in: Tensor) -> Tensor:
        """Logits (B, T, V) of the teacher-forced pass."""
        return self.decode(target_in, self.encode(source, source_mask))

    def encode(self, source: Tensor, source_mask: Tensor, probe: Probe | None = None) -> Memory:
        """Read the source (B, S); the mask (B, S) is True at real tokens."""
        raise NotImplementedError

    def decode(self, target_in: Tensor, memory: Memory, probe: Probe | None = None) -> Tensor:
        """Logits (B, T, V) for all steps at once, given the tokens before each."""
        raise NotImplementedError

    def start(self, memory: Memory, probe: Probe | None = None) -> Any:
        """The state before the first step. It carries the probe's edits; single steps record nothing."""
        raise NotImplementedError

    def step(self, token: Tensor, state: Any) -> tuple[Tensor, Any]:
        """One step: the last token of each row (B,) gives logits (B, V) for the next, and the next state."""
        raise NotImplementedError

    def features(self, batch: PackedBatch) -> Tensor:
        """What `decode` multiplies with `head` to get its logits, for every target token of the batch (M, D).

        The same numbers as the padded pass gives, with no padding computed.
        """
        raise NotImplementedError

    @property
    def head(self) -> Tensor:
        """The output projection (V, D): logits = features head^T."""
        raise NotImplementedError

    @property
    def copies(self) -> bool:
        """Whether logits are more than features times head: pieces of the source are copied."""
        return False

    def packed_logits(self, batch: PackedBatch) -> Tensor:
        """Logits (M, V) for every target token of the batch, all at once."""
        return self.features(batch) @ self.head.T

    def position_rows(self, count: int) -> Tensor | None:
        """What tells the first `count` positions apart, a row each (P, D); None if nothing does."""
        return None

    def explain(self, target_in: Tensor, memory: Memory) -> tuple[Tensor, ...]:
        """Cross-attention weights of each decoder layer, N maps (B, H, T, S); none without attention."""
        maps: list[Tensor] = []

        def keep(kind: Kind, layer: int, stages: Stages) -> None:
            if kind == "cross":
                maps.append(stages.weights)

        self.decode(target_in, memory, Probe(record=keep))
        return tuple(maps)
