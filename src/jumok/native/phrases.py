"""Phrases that answers must contain, and texts that they must not, as the C library takes them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from jumok.native.library import CPhrases

ONCE, SOFT, WORD = 1, 2, 4
"""As in jumok.h."""


class NativeSpelling(NamedTuple):
    """What is looked for in an answer, and tokens that write it."""

    text: bytes
    ids: tuple[int, ...]


class NativePhrase(NamedTuple):
    """A phrase in any of its spellings; `flags` are ONCE, SOFT and WORD."""

    flags: int
    spellings: tuple[NativeSpelling, ...]


class Pieces:
    """What each target id writes, end to end."""

    def __init__(self, pieces: Sequence[bytes]) -> None:
        self.bytes, self.offsets = end_to_end(pieces)


@dataclass(frozen=True)
class PhraseOptions:
    """What is asked of each sentence of a call: its phrases, and how many hypotheses are kept."""

    phrases: Sequence[Sequence[NativePhrase]]
    widths: Sequence[int]
    banned: Sequence[bytes]
    """No answer contains these."""
    enough: int
    """A search ends with so many answers."""
    soft: float
    """Nats that an answer gains for a soft phrase in it."""
    pieces: Pieces


class PhraseArrays:
    """The options in arrays; `c` holds their addresses, so this must live as long as it is used."""

    def __init__(self, options: PhraseOptions) -> None:
        phrases = [phrase for sentence in options.phrases for phrase in sentence]
        spellings = [spelling for phrase in phrases for spelling in phrase.spellings]
        banned = list(dict.fromkeys(options.banned))
        texts = list(dict.fromkeys([*banned, *(spelling.text for spelling in spellings)]))
        numbers = {text: number for number, text in enumerate(texts)}
        every, text_offsets = end_to_end(texts)
        self.arrays: dict[str, NDArray[Any]] = {
            "first": offsets_of(options.phrases),
            "flags": np.array([phrase.flags for phrase in phrases] or [0], np.int32),
            "spellings": offsets_of([phrase.spellings for phrase in phrases]),
            "ids": np.array([i for spelling in spellings for i in spelling.ids] or [0], np.int32),
            "id_offsets": offsets_of([spelling.ids for spelling in spellings]),
            "text_of": np.array([numbers[spelling.text] for spelling in spellings] or [0], np.int32),
            "texts": every,
            "text_offsets": text_offsets,
            "pieces": options.pieces.bytes,
            "piece_offsets": options.pieces.offsets,
            "widths": np.array(options.widths, np.int32),
        }
        self.c = CPhrases(
            phrase_count=len(phrases),
            spelling_count=len(spellings),
            text_count=len(texts),
            bans=len(banned),
            enough=options.enough,
            soft=options.soft,
            **{name: int(array.ctypes.data) for name, array in self.arrays.items()},
        )


def offsets_of(parts: Sequence[Sequence[object]]) -> NDArray[np.int64]:
    """Where each of these begins if they lie end to end, and where all end."""
    offsets = np.zeros(len(parts) + 1, np.int64)
    np.cumsum([len(part) for part in parts], out=offsets[1:])
    return offsets


def end_to_end(texts: Sequence[bytes]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Texts as one array, never empty, and where each begins."""
    return np.frombuffer(b"".join(texts) + b"\0", np.uint8), offsets_of(texts)
