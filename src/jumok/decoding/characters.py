"""`WholeCharacters` in tensors: what may come next depends on a small state, so no history need be read.

A state is how many bytes of a character are still to come, and which may come first. Rows of a table say what
each state allows, and a second table where each token leads. Looking up is all a step does.

Letters: Q states, E first ids that have an entry of their own, V vocabulary.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from jumok.decoding.filters import SECOND_BYTES, WholeCharacters
from jumok.decoding.jobs import CHARACTER
from jumok.text.tokenizer import FIRST_BYTE

LEARNED = FIRST_BYTE + 256
"""The first id that is no byte."""
FREE = 0
"""The state between two characters."""
ANY = range(0x80, 0xC0)  # a byte that goes on
BEGINNINGS = [(1, range(0xC2, 0xE0)), (2, range(0xE0, 0xF0)), (3, range(0xF0, 0xF5))]
INSIDE = [
    *((left, ANY) for left in (1, 2, 3)),
    *((2 + (byte >= 0xF0), after) for byte, after in SECOND_BYTES.items()),
]
"""States 1, 2, …: bytes that are still to come, and what the next one may be."""


@dataclass(frozen=True)
class CharacterTables:
    """What each state allows and where it leads. Made by `make`."""

    allowed: Tensor  # (Q, CHARACTER + 1, E), 0 or minus infinity, for each room up to CHARACTER
    next: Tensor  # (Q, LEARNED + 1), the state after a token; the last column is for all learned ones

    @staticmethod
    def make(usual: WholeCharacters, entries: int, device: torch.device) -> "CharacterTables":
        """Tables for the first `entries` ids, LEARNED of them or more; those from there on are alike."""
        states = len(INSIDE) + 1
        allowed = torch.full((states, CHARACTER + 1, entries), -torch.inf)
        allowed[FREE] = 0
        allowed[FREE][:, list(usual.fixed)] = -torch.inf
        following = torch.zeros(states, LEARNED + 1, dtype=torch.long)
        for length, begins in BEGINNINGS:
            first = slice(FIRST_BYTE + begins.start, FIRST_BYTE + begins.stop)
            allowed[FREE, : length + 1, first] = -torch.inf  # no room for all of its bytes
            for byte in begins:
                after = SECOND_BYTES.get(byte, ANY)
                following[FREE, FIRST_BYTE + byte] = INSIDE.index((length, after)) + 1
        for state, (left, bytes_) in enumerate(INSIDE, start=1):
            places = slice(FIRST_BYTE + bytes_.start, FIRST_BYTE + bytes_.stop)
            allowed[state, :, places] = 0
            following[state, places] = INSIDE.index((left - 1, ANY)) + 1 if left > 1 else FREE
        return CharacterTables(allowed.to(device), following.to(device))

    def bias(self, state: Tensor, room: Tensor) -> Tensor:
        """(R, E): 0 where an id may come next, with so much room (R,) left, its own place included."""
        return self.allowed[state, room.clamp(0, CHARACTER)]

    def after(self, state: Tensor, token: Tensor) -> Tensor:
        """The state after one more token; any shape."""
        return self.next[state, token.clamp(max=LEARNED)]
