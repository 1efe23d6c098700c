"""Old pairs among new ones: every epoch has all new pairs and its share of the old ones, in turn.

Which old pairs an epoch has follows from the seed and the epoch, so a run that goes on reads what it would
have read. After enough epochs all old pairs have come equally often.
"""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jumok.data.store import SIDES, Store
from jumok.text.ragged import Ragged, join


def replayed_count(new: int, share: float) -> int:
    """Old pairs beside so many new ones, so that they are this share of all."""
    return round(new * share / (1 - share))


def replayed_rows(old: int, count: int, *, seed: int, epoch: int) -> NDArray[np.int64]:
    """The old pairs of an epoch: the next `count` of an order at random, from its beginning after its end."""
    count = min(old, count)
    order = np.argsort(np.random.PCG64(seed).random_raw(old), kind="stable")  # raw bits: see `sampler.py`
    return order[(epoch * count + np.arange(count)) % old].astype(np.int64)


def with_replay(new: Store, old: Store, *, share: float, seed: int, epoch: int) -> Store:
    """The pairs of one epoch, in memory: all of `new`, then some of `old`."""
    rows = replayed_rows(len(old), replayed_count(len(new), share), seed=seed, epoch=epoch)
    arrays: dict[str, Any] = {}
    for side in SIDES:
        ids, begin = getattr(new, f"{side}_ids"), getattr(new, f"{side}_offsets")
        kept = Ragged(getattr(old, f"{side}_ids"), getattr(old, f"{side}_offsets")).take(rows)
        both = join([Ragged(ids, begin), kept])
        arrays[f"{side}_ids"], arrays[f"{side}_offsets"] = both.values.astype(ids.dtype), both.begin
        arrays[f"{side}_lengths"] = both.lengths().astype(np.int32)
    return replace(new, **arrays)
