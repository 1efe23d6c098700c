"""What the layers of a Transformer look at: whole sentences, or the past that a search has kept.

A layer asks a `Cache` for attention and cannot tell which one it has. `WholePass` computes all steps at once
(training, validation, traces), `GrowingCache` one step of a search, `FixedCache` one step in buffers that
stay where they are, so that a CUDA graph can replay it.

Axis letters: B sentences or rows, S source, L tokens, H heads, K width of one head, N layers, D width, W
beams of a sentence, T target places.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol

import torch
from torch import Tensor

from jumok.backends.torch import TorchBackend
from jumok.backends.values import Projected
from jumok.edits import Kind
from jumok.models.guide import HeadGuide
from jumok.models.interface import join_padded, longest
from jumok.nn.attention import Projection
from jumok.nn.copying import Pointed
from jumok.nn.relative import Relative, RelativeBias
from jumok.nn.spans import Spans


@dataclass(frozen=True)
class Heads:
    """How attention is split."""

    count: int
    width: int
    """Of one head, d_k."""
    scale: bool
    """Whether scores are divided by sqrt(d_k)."""


class Cache(Protocol):
    """What attention looks at, layer by layer."""

    def attend_self(self, qkv: Projected, layer: int) -> Tensor:
        """The context (L, D) of tokens with these queries, keys and values (L, 3D)."""
        ...

    def attend_source(self, query: Projected, project: Projection, layer: int) -> Tensor:
        """The context (L, D) of queries (L, D) in the source; `project` makes its keys and values."""
        ...


class WholePass:
    """All tokens at once, each of which sees its span."""

    def __init__(
        self,
        ops: TorchBackend,
        heads: Heads,
        kind: Kind,
        spans: Spans,
        memory: tuple[Tensor, Spans] | None = None,
        guide: HeadGuide | None = None,
        relative: Relative | None = None,
    ) -> None:
        self.ops, self.heads, self.kind, self.spans, self.relative = ops, heads, kind, spans, relative
        self.memory = memory  # the source's states (N, D) and who sees them
        self.guide = guide

    def attend_self(self, qkv: Projected, layer: int) -> Tensor:
        heads, where = self.heads, (self.kind, layer)
        return self.ops.attend(
            (qkv,), heads.count, self.spans, scale=heads.scale, where=where, relative=self.relative
        )

    def attend_source(self, query: Projected, project: Projection, layer: int) -> Tensor:
        assert self.memory is not None
        states, spans = self.memory
        keys_values, states = self.ops.branch(states, *project.matrix, owed=True)  # (N, 2D)
        self.memory = (states, spans)
        heads = self.heads
        pair = (query, keys_values)
        if self.guide is not None:
            self.guide.see(layer, *pair, heads.count, spans, scale=heads.scale)
        return self.ops.attend(pair, heads.count, spans, scale=heads.scale, where=("cross", layer))


ROOM = 16  # tokens of room a new buffer starts with; it doubles when full


@dataclass
class Buffer:
    """Room for keys and values, shared by the caches of successive steps."""

    keys: Tensor  # (B, H, room, K)
    values: Tensor  # (B, H, room, K)
    used: int


@dataclass(frozen=True)
class KeyValues:
    """The keys and values of one attention layer; a value, although appending does not copy.

    A cache sees the first `length` places of its buffer and never changes them. Appending writes the next
    place if no other cache has taken it, and moves to a fresh buffer otherwise: so a state can be stepped
    twice, and the usual single line of descent costs one write a step.
    """

    buffer: Buffer
    length: int

    @staticmethod
    def empty(batch: int, heads: int, width: int, like: Tensor) -> "KeyValues":
        room = like.new_empty(batch, heads, ROOM, width)
        return KeyValues(Buffer(room, torch.empty_like(room), 0), 0)

    @property
    def keys(self) -> Tensor:
        return self.buffer.keys[:, :, : self.length]  # (B, H, L, K)

    @property
    def values(self) -> Tensor:
        return self.buffer.values[:, :, : self.length]  # (B, H, L, K)

    def append(self, keys: Tensor, values: Tensor) -> "KeyValues":
        """keys, values (B, H, 1, K) of the next token."""
        full = self.length == self.buffer.keys.shape[2]
        taken = self.length != self.buffer.used
        buffer = (
            self.moved(2 * self.length if full else self.buffer.keys.shape[2])
            if full or taken
            else self.buffer
        )
        buffer.keys[:, :, self.length] = keys[:, :, 0]
        buffer.values[:, :, self.length] = values[:, :, 0]
        buffer.used = self.length + 1
        return KeyValues(buffer, self.length + 1)

    def moved(self, room: int) -> Buffer:
        """A copy of what this cache sees, with room for more."""
        B, H, _, K = self.buffer.keys.shape
        keys, values = (self.buffer.keys.new_empty(B, H, room, K) for _ in range(2))
        keys[:, :, : self.length] = self.keys
        values[:, :, : self.length] = self.values
        return Buffer(keys, values, self.length)

    def select(self, rows: Tensor, skip: int = 0) -> "KeyValues":
        """Rows picked in this order, in a buffer of their own, without the first `skip` tokens."""
        length = self.length - skip
        if skip == 0:  # whole rows, unused room and all, are copied several times as fast as parts of rows
            buffer = self.buffer
            chosen = Buffer(buffer.keys.index_select(0, rows), buffer.values.index_select(0, rows), length)
            return KeyValues(chosen, length)
        _, H, room, K = self.buffer.keys.shape
        room = min(room, max(ROOM, 2 * length))  # what only the longer rows needed goes with them
        keys, values = (self.buffer.keys.new_empty(len(rows), H, room, K) for _ in range(2))
        keys[:, :, :length] = self.keys[rows, :, skip:]
        values[:, :, :length] = self.values[rows, :, skip:]
        return KeyValues(Buffer(keys, values, length), length)

    def join(self, other: "KeyValues") -> "KeyValues":
        """The rows of both, one's own first; the shorter past has zeros before it."""
        length = max(self.length, other.length)
        (B, H, room, K), (more, _, other_room, _) = self.buffer.keys.shape, other.buffer.keys.shape
        shape = (B + more, H, max(room, other_room), K)
        keys, values = (self.buffer.keys.new_zeros(shape) for _ in range(2))
        for rows, one in ((slice(0, B), self), (slice(B, None), other)):
            keys[rows, :, length - one.length : length] = one.keys
            values[rows, :, length - one.length : length] = one.values
        return KeyValues(Buffer(keys, values, length), length)


@dataclass(frozen=True)
class TransformerState:
    """What one step needs: keys and values of earlier tokens, and of the source, for each layer.

    Rows that joined later begin later in the same cache: all of them append at one place. The earliest row
    begins at 0.
    """

    past: tuple[KeyValues, ...]  # N of (B, H, L, K)
    source: tuple[tuple[Tensor, Tensor], ...]  # N pairs (B, H, S, K)
    mask: Tensor  # (B, 1, 1, S)
    sentence: Tensor  # (B,), rows with equal numbers read the same source
    begin: Tensor | None = None  # (B,), the place where each row's own past begins; None: all at 0
    pointed: Pointed | None = None  # what a model that copies can point at

    @property
    def begins(self) -> Tensor:
        return torch.zeros_like(self.sentence) if self.begin is None else self.begin  # (B,)

    def select(self, rows: Tensor) -> "TransformerState":
        begin, skip = earliest_at_zero(None if self.begin is None else self.begin[rows])
        past = tuple(one.select(rows, skip) for one in self.past)
        sentence = self.sentence[rows]
        if torch.equal(sentence, self.sentence):  # a beam reordered itself: the sources stay where they are
            return replace(self, past=past, sentence=sentence, begin=begin)
        mask = self.mask[rows]
        S = longest(mask)  # padding that no row needs any more goes
        source = tuple((keys[rows, :, :S], values[rows, :, :S]) for keys, values in self.source)
        pointed = None if self.pointed is None else self.pointed.select(rows, S)
        return TransformerState(past, source, mask[..., :S], sentence, begin, pointed)

    def join(self, other: "TransformerState") -> "TransformerState":
        if not len(self.sentence) or not len(other.sentence):
            return self if len(self.sentence) else other
        past = tuple(one.join(two) for one, two in zip(self.past, other.past, strict=True))
        length = past[0].length
        begins = [one.begins + (length - one.past[0].length) for one in (self, other)]
        begin, _ = earliest_at_zero(torch.cat(begins))
        S = max(longest(self.mask), longest(other.mask))
        source = tuple(
            (join_padded(keys, more_keys, S, dim=2), join_padded(values, more_values, S, dim=2))
            for (keys, values), (more_keys, more_values) in zip(self.source, other.source, strict=True)
        )
        mask = join_padded(self.mask, other.mask, S, dim=3)
        sentence = torch.cat((self.sentence, other.sentence + self.sentence.max() + 1))
        pointed = None
        if self.pointed is not None and other.pointed is not None:
            both = zip(self.pointed, other.pointed, strict=True)
            pointed = Pointed(*(join_padded(one, two, S, dim=1) for one, two in both))
        return TransformerState(past, source, mask, sentence, begin, pointed)


def earliest_at_zero(begin: Tensor | None) -> tuple[Tensor | None, int]:
    """Begins (B,) of which the smallest is 0, or None if all are; and how many places that took away."""
    if begin is None or not len(begin):
        return None, 0
    low, high = (int(one) for one in begin.aminmax())
    return (None if low == high else begin - low), low


class GrowingCache:
    """One step of every row of a state: the past grows by a token."""

    def __init__(
        self, ops: TorchBackend, heads: Heads, state: TransformerState, relative: RelativeBias | None = None
    ) -> None:
        self.ops, self.heads, self.state, self.relative = ops, heads, state, relative
        self.past = list(state.past)
        self.length = state.past[0].length
        self.begin = state.begin
        self.first = (
            self.length if self.begin is None else self.length - self.begin
        )  # where each row's token stands

    @property
    def positions(self) -> Tensor:
        """Where the next token of each row stands in its own text (R,)."""
        rows = self.state.sentence
        if isinstance(self.first, Tensor):
            return self.first
        return torch.full_like(rows, self.first)

    @property
    def after(self) -> TransformerState:
        return replace(self.state, past=tuple(self.past))

    @cached_property
    def bias(self) -> Tensor | None:
        """What relative positions add to the scores of each row, the same in all layers (R or 1, H, 1, L)."""
        if self.relative is None:
            return None
        place = torch.arange(self.length + 1, device=self.state.sentence.device)[None]  # (1, L)
        if self.begin is not None:
            place = (place - self.begin[:, None]).clamp(min=0)  # (R, L)
        positions = self.ops.next_positions(place, None)
        if positions is None:
            return None
        distance = positions - positions[:, -1:]  # the last key is the query's own
        return self.relative(distance[:, None])  # type: ignore[no-any-return]

    def attend_self(self, qkv: Projected, layer: int) -> Tensor:
        R, H = len(qkv.values), self.heads.count
        query, key, value = qkv.values.view(R, 3, H, 1, -1).unbind(1)  # (R, H, 1, K)
        self.past[layer] = grown = self.past[layer].append(key, value)
        mask = None
        if self.begin is not None:
            place = torch.arange(self.length + 1, device=key.device)
            mask = (place >= self.begin[:, None])[:, None, None]  # (R, 1, 1, L)
        context = self.ops.attend_grid(
            query,
            grown.keys,
            grown.values,
            mask,
            scale=self.heads.scale,
            where=("dec_self", layer),
            first=self.first,
            begin=self.begin,
            bias=self.bias,
        )
        return context.reshape(R, -1)  # (R, D)

    def attend_source(self, query: Projected, project: Projection, layer: int) -> Tensor:
        R, H = len(query.values), self.heads.count
        keys, values = self.state.source[layer]
        context = self.ops.attend_grid(
            query.values.view(R, H, 1, -1),
            keys,
            values,
            self.state.mask,
            scale=self.heads.scale,
            where=("cross", layer),
            first=self.first,
        )
        return context.reshape(R, -1)


@dataclass(frozen=True)
class BatchShape:
    """How much one batch of a search in fixed buffers may take up."""

    sentences: int  # B
    beam: int  # W
    source: int  # S
    target: int  # T


@dataclass(frozen=True)
class Buffers:
    """The past of each beam and the source of each sentence. All tensors are written in place.

    The W beams of a sentence share all keys and values (`jumok.backends.beams`). Beams that change their
    order cost a table of small numbers, not a copy, and a source is read once for all beams of a sentence.
    """

    keys: Tensor  # (B, N, H, T·W, K)
    values: Tensor  # (B, N, H, T·W, K)
    source_keys: Tensor  # (B, N, H, S, K)
    source_values: Tensor  # (B, N, H, S, K)
    source_lengths: Tensor  # (B,), real tokens of each source
    ancestors: Tensor  # (B, W, T) small integers, the slot of each beam's ancestor at each place; -1: none

    def first(self, count: int) -> "Buffers":
        """The first sentences, in the same memory."""
        return Buffers(*(getattr(self, name)[:count] for name in self.__dataclass_fields__))

    def keep(self, rows: Tensor, places: int) -> None:
        """Move these sentences (B',) to the front; only the first `places` have been written."""
        slots = places * self.ancestors.shape[1]
        short = replace(self, keys=self.keys[..., :slots, :], values=self.values[..., :slots, :])
        for name in self.__dataclass_fields__:
            tensor = getattr(short, name)
            tensor[: len(rows)] = tensor.index_select(0, rows)

    def reorder(self, parents: Tensor, place: Tensor) -> None:
        """Beam w goes on from beam parents[b, w] (B, W) of its sentence, whose last token is at `place`."""
        B, W, T = self.ancestors.shape
        self.ancestors.copy_(self.ancestors.gather(1, parents[:, :, None].expand(B, W, T)))
        self.ancestors.index_copy_(2, place, parents[:, :, None].to(self.ancestors.dtype))


class FixedCache:
    """One step of all beams, which stand at one `place` (1,); all that is seen lies in the first `places`."""

    def __init__(
        self,
        ops: TorchBackend,
        heads: Heads,
        buffers: Buffers,
        place: Tensor,
        places: int,
        relative: RelativeBias | None = None,
    ) -> None:
        self.ops, self.heads, self.buffers, self.place, self.places = ops, heads, buffers, place, places
        self.relative = relative

    @cached_property
    def bias(self) -> Tensor | None:
        """What relative positions add to the scores of each place (H, 1, places)."""
        if self.relative is None:
            return None
        distance = torch.arange(self.places, device=self.place.device) - self.place
        return self.relative(distance[None])  # type: ignore[no-any-return]

    def rows(self, x: Tensor) -> Tensor:
        """(B·W, ·, H·K) -> (B, ·, H, W, K)."""
        B, W, _ = self.buffers.ancestors.shape
        return x.view(B, W, -1, self.heads.count, self.buffers.keys.shape[-1]).permute(0, 2, 3, 1, 4)

    def attend_self(self, qkv: Projected, layer: int) -> Tensor:
        query, key, value = self.rows(qkv.values).unbind(1)  # (B, H, W, K)
        buffers = self.buffers
        past = buffers.keys[:, layer], buffers.values[:, layer]
        where = (buffers.ancestors, self.place, self.places)
        context = self.ops.attend_past(
            query, (key, value), past, *where, scale=self.heads.scale, bias=self.bias
        )
        return context.flatten(0, 1)  # (B·W, D)

    def attend_source(self, query: Projected, project: Projection, layer: int) -> Tensor:
        (asks,) = self.rows(query.values).unbind(1)  # (B, H, W, K)
        source = self.buffers.source_keys[:, layer], self.buffers.source_values[:, layer]
        lengths = self.buffers.source_lengths
        context = self.ops.attend_source(asks, source, lengths, scale=self.heads.scale)
        return context.flatten(0, 1)
