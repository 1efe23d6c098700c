"""What each head mostly does, in six numbers and one word.

Axis letters: L layers, H heads, Q queries, K keys.
"""

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Label = Literal["previous", "diagonal", "special", "sharp", "broad", "mixed"]

MOSTLY = 0.5  # the share of all weight that makes a habit
NEARLY = 0.8  # the share of the largest possible entropy that counts as spread over everything

Array = NDArray[np.float64]


def head_profile(
    weights: NDArray[np.floating[Any]], special: Sequence[bool], *, causal: bool, same: bool
) -> dict[str, list[list[Any]]]:
    """The habits of every head, as lists [L][H]: weights [L, H, Q, K], special [K] True at special keys.

        entropy    -Σ_k w log2 w, in bits
        distance   Σ_k w |q - k|
        diagonal   weight on the key at the query's own place (on a line from corner to corner if Q ≠ K)
        previous   weight on the key before that place, of all queries but the first
        special    weight on special tokens
        max        the largest weight of a query

    each the mean over queries; `label` sums it up. Places are those of the model: in the decoder's
    self-attention the query that writes token t stands where token t - 1 is read. `same`: queries and keys
    are one sequence, so that "the token before" means something.
    """
    w = np.asarray(weights, dtype=np.float64)
    Q, K = w.shape[2:]
    q, k = np.arange(Q)[:, None], np.arange(K)[None, :]
    entropy = -np.sum(w * np.log2(w, where=w > 0, out=np.zeros_like(w)), axis=-1)  # [L, H, Q]
    habits = {
        "entropy": np.maximum(entropy, 0).mean(axis=-1),
        "distance": _share(w, abs(q - k)),
        "diagonal": _share(w, _diagonal(Q, K)),
        "previous": _share(w[:, :, 1:], (k == q - 1)[1:]),
        "special": _share(w, np.asarray(special, dtype=np.float64)[None, :]),
        "max": w.max(axis=-1).mean(axis=-1),
    }
    for name in ("diagonal", "previous", "special", "max"):
        habits[name] = habits[name].clip(0, 1)  # sums of rounded numbers
    allowed = np.minimum(np.arange(1, Q + 1), K) if causal else np.full(Q, K)
    labels = _labels(habits, float(np.log2(allowed).mean()), same=same)
    return {name: habit.tolist() for name, habit in habits.items()} | {"label": labels}


def _share(w: Array, of: NDArray[Any]) -> Array:
    """The mean over queries of Σ_k w · of: [L, H]; nothing without queries."""
    if not w.shape[2]:
        return np.zeros(w.shape[:2])
    return (w * of).sum(axis=-1).mean(axis=-1)  # type: ignore[no-any-return]


def _diagonal(Q: int, K: int) -> NDArray[np.bool_]:
    """The cells [Q, K] on the line between the first cell and the last, as wide as its slope."""
    slope = (K - 1) / max(Q - 1, 1)
    away = abs(np.arange(Q)[:, None] * slope - np.arange(K)[None, :])
    return away <= max(slope, 1) / 2


def _labels(habits: dict[str, Array], most_entropy: float, *, same: bool) -> list[list[Label]]:
    """The first habit that holds, for each head."""

    def name(at: tuple[int, int]) -> Label:
        one = {habit: values[at] for habit, values in habits.items()}
        if one["special"] >= MOSTLY:
            return "special"
        if same and one["previous"] >= MOSTLY:
            return "previous"
        if one["diagonal"] >= MOSTLY:
            return "diagonal"
        if one["max"] >= MOSTLY:
            return "sharp"
        return "broad" if one["entropy"] >= NEARLY * most_entropy else "mixed"

    L, H = habits["max"].shape
    return [[name((layer, head)) for head in range(H)] for layer in range(L)]
