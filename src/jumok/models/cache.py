"""What decoding has already computed, so that a step never computes it again: keys, values, the state.

Axis letters: B batch, S source, L tokens so far, H heads, K width of one head, N layers.
"""

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from jumok.models.interface import Edits, join_padded, longest, same_edits
from jumok.nn.copying import Pointed

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
    edits: Edits | None = None
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
        return TransformerState(past, source, mask[..., :S], sentence, begin, self.edits, pointed)

    def join(self, other: "TransformerState") -> "TransformerState":
        edits = same_edits(self.edits, other.edits)
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
        return TransformerState(past, source, mask, sentence, begin, edits, pointed)


def earliest_at_zero(begin: Tensor | None) -> tuple[Tensor | None, int]:
    """Begins (B,) of which the smallest is 0, or None if all are; and how many places that took away."""
    if begin is None or not len(begin):
        return None, 0
    low, high = (int(one) for one in begin.aminmax())
    return (None if low == high else begin - low), low
