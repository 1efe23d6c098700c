"""The beginning of a text that is too long, as ids: whole characters only."""

from collections.abc import Sequence

import numpy as np

from jumok.text.ragged import Ids, Ragged, offsets
from jumok.text.tokenizer import SPECIALS

GOES_ON = range(len(SPECIALS) + 0x80, len(SPECIALS) + 0xC0)  # ids of the bytes that begin no character


def beginning(ids: Sequence[int], most: int) -> Sequence[int]:
    """The first `most` ids, without the bytes of a character that would go on behind them."""
    while 0 < most < len(ids) and ids[most] in GOES_ON:
        most -= 1
    return ids[:most]


def beginnings(texts: Ragged, most: int) -> Ragged:
    """`beginning` of each text."""
    kept, lengths = np.minimum(texts.lengths(), most), texts.lengths()
    while len(inside := _inside(texts, kept, lengths)):
        kept[inside] -= 1
    begin = offsets(kept)
    places = np.repeat(texts.begin[:-1] - begin[:-1], kept) + np.arange(begin[-1])
    return Ragged(texts.values[places], begin)


def _inside(texts: Ragged, kept: Ids, lengths: Ids) -> Ids:
    """The texts whose first `kept` ids end inside a character."""
    cut = np.flatnonzero((kept > 0) & (kept < lengths))
    following = texts.values[texts.begin[:-1][cut] + kept[cut]]
    inside: Ids = cut[(following >= GOES_ON.start) & (following < GOES_ON.stop)]
    return inside
