"""The random numbers of answers that are drawn: each sentence's own, made from the seed and its source.

They are those of torch.Generator and torch.rand, without torch: a Mersenne Twister whose words of 32 bits are
put together in pairs, and 53 bits of a pair are a number in [0, 1).
"""

import hashlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

BITS, WORD = 53, 32
Uniforms = NDArray[np.float64]


def uniform_tables(
    sources: Sequence[Sequence[object]], lengths: Sequence[int], *, seed: int, draws: int
) -> list[Uniforms]:
    """Of each source `length` random numbers in [0, 1) for each draw, (draws, length); always the same."""
    twister = np.random.RandomState(0)  # it takes longer to make one than to seed it anew
    tables: list[Uniforms] = []
    for source, length in zip(sources, lengths, strict=True):
        ids, table = ",".join(map(str, source)), np.empty((draws, length))
        for draw in range(draws):
            digest = hashlib.sha256(f"{seed}:{draw}:{ids}".encode()).digest()
            twister.seed((int.from_bytes(digest[:8], "big") >> 1) % 2**WORD)
            table[draw] = unit(twister.randint(0, 2**WORD, 2 * length, dtype=np.uint32))
        tables.append(table)
    return tables


def unit(words: NDArray[np.uint32]) -> Uniforms:
    """Pairs of words, the higher one first, as numbers in [0, 1)."""
    pairs = words.astype(np.uint64)
    whole = (pairs[::2] << np.uint64(WORD) | pairs[1::2]) & np.uint64(2**BITS - 1)
    return whole.astype(np.float64) * 2.0**-BITS
