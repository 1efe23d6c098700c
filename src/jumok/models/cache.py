"""Keys and values that decoding has already computed, so that a step never computes them again.

Axis letters: B batch, L tokens so far, H heads, K width of one head.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

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
