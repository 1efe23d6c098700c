"""Which bytes may follow one another in UTF-8: a character is written whole or not at all."""

from collections.abc import Sequence

ANY = range(0x80, 0xC0)  # a byte that goes on
SECOND_BYTES = {
    0xE0: range(0xA0, 0xC0),
    0xED: range(0x80, 0xA0),
    0xF0: range(0x90, 0xC0),
    0xF4: range(0x80, 0x90),
}
"""First bytes after which not every continuation byte may follow."""


def next_bytes(recent: Sequence[int]) -> range | None:
    """The bytes that may follow if the last ones leave a character unfinished, else None."""
    for k, byte in enumerate(reversed(recent), start=1):
        if 0xC2 <= byte <= 0xF4:  # the first byte of a character, k places from the end
            if k >= 2 + (byte >= 0xE0) + (byte >= 0xF0):
                return None
            return SECOND_BYTES.get(byte, ANY) if k == 1 else ANY
        if not 0x80 <= byte < 0xC0:
            return None
    return None
