"""Pairs of the training corpus that validation gets, chosen so that the rest does not give them away."""

from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from jumok.data.reader import Hashes, Survey
from jumok.errors import DataError


def usual_hold_out(found: Survey) -> int:
    """Pairs to validate on when nobody says how many."""
    return min(1000, max(10, found.usable // 25))


def hold_out(found: Survey, count: int, seed: int) -> NDArray[np.int64]:
    """Rows to validate on, chosen so that neither side of any of them occurs again in the rest.

    Pairs whose source and target are both unique are taken first; if there are too few of them, sources that
    are unique, so that at least no source is shared. The choice follows from texts and seed, not from order.
    """
    once = _occurs_once(found.source_hashes)
    for candidates in (once & _occurs_once(found.target_hashes), once & (found.target_hashes != 0)):
        rows = np.flatnonzero(candidates)
        if len(rows) >= count:
            keys = found.source_hashes[rows] ^ np.uint64(_mix(seed))
            return np.sort(rows[np.argsort(_scatter(keys), kind="stable")[:count]])
    raise DataError(
        f"cannot hold out {count} pairs for validation: only {len(rows)} sources occur just once",
        hint="give validation files with --valid-source and --valid-target, or lower data.hold_out",
        code="no_validation",
    )


def _occurs_once(hashes: Hashes) -> NDArray[np.bool_]:
    _, inverse, counts = np.unique(hashes, return_inverse=True, return_counts=True)
    once: NDArray[np.bool_] = (counts[inverse] == 1) & (hashes != 0)
    return once


def _mix(seed: int) -> int:
    return int.from_bytes(blake2b(str(seed).encode(), digest_size=8).digest())


def _scatter(keys: Hashes) -> Hashes:
    """A fixed bijection of 64-bit numbers, so that order says nothing about the key."""
    with np.errstate(over="ignore"):
        keys = (keys ^ (keys >> np.uint64(31))) * np.uint64(0x9E3779B97F4A7C15)
        return keys ^ (keys >> np.uint64(29))
