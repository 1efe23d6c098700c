"""Where a model looks: how spread and how sharp its attention is, and how far its influence reaches.

Entropy of one row of weights in bits, and the most it could be with K keys to look at:

    H = -Σ_k w_k log2 w_k        H_max = log2 K

Sharpness is the largest weight of a row. Influence asks nothing of the architecture, so a model without
attention has that picture, too. Axis letters: L layers, H heads, Q queries, K keys, T target, U units.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jumok.decoding.jobs import batches
from jumok.decoding.translator import Translator
from jumok.errors import LimitError
from jumok.explain.capture import Captured, capture
from jumok.explain.forced import explained, tokens_at_once
from jumok.explain.influence import influence
from jumok.progress import Progress, silent
from jumok.text.normalize import tidy

SENTENCES, INFLUENCE_SENTENCES = 100, 24
BINS = 10
NOISE = 0.01  # nats
MOST_TOKENS = 300_000  # through the model, after which no further sentence is asked about
TOKENS = 64  # a source of more tokens is asked word by word
Pair = tuple[str, str]
Rows = NDArray[np.float64]


def spread(count: int, most: int) -> list[int]:
    """At most `most` of the numbers below `count`, evenly over them."""
    most = min(count, most)
    return [i * count // most for i in range(most)]


def measure_attention(
    translator: Translator, pairs: Sequence[Pair], progress: Progress = silent
) -> dict[str, Any] | None:
    """Entropy and sharpness of each kind of attention over sources and what the model made of them.

    Rows of all sentences count alike. None for a model that has no attention.
    """
    sums: dict[str, list[Rows]] = {}
    done, usable = 0, ids_of(translator, pairs)
    for batch in batches(usable, tokens_at_once(translator), lambda pair: max(map(len, pair)) + 1):
        with explained():
            found = capture(translator.model, [s for s, _ in batch], [t for _, t in batch])
        for one in found:
            for kind, rows in rows_of(one).items():
                sums.setdefault(kind, []).append(rows)
        done += len(batch)
        progress("attention", done, len(usable))
    if not sums:
        return None
    kinds = {kind: summed_up(np.concatenate(rows, axis=2)) for kind, rows in sums.items()}
    return {"kinds": kinds, "sentences": len(usable)}


def ids_of(translator: Translator, pairs: Sequence[Pair]) -> list[tuple[list[int], list[int]]]:
    """Ids of both sides; a source that is too long is cut as the model would cut it, a blank one left out."""
    most = translator.config.data.max_length
    sources = translator.tokenizers.source.encode_many(tidy(source) for source, _ in pairs)
    targets = translator.tokenizers.target.encode_many(tidy(target) for _, target in pairs)
    both = zip(sources, targets, strict=True)
    frame, begin = translator.tokenizers.framed, translator.tokenizers.opening
    return [(list(frame(source[:most])), [*begin, *target]) for source, target in both if len(source)]


def rows_of(one: Captured) -> dict[str, Rows]:
    """Of each kind: entropy, the most it could be, and sharpness of every row, [L, H, Q, 3]."""
    found: dict[str, Rows] = {}
    for kind, weights in one.weights.items():
        w = weights.astype(np.float64)  # [L, H, Q, K]
        entropy = -(w * np.log2(np.where(w > 0, w, 1))).sum(axis=-1)  # [L, H, Q]
        Q, K = w.shape[2:]
        keys = np.arange(1, Q + 1) if kind == "dec_self" else np.full(Q, K)  # a token sees those before it
        most = np.broadcast_to(np.log2(keys), entropy.shape)
        found[kind] = np.stack((entropy, most, w.max(axis=-1)), axis=-1)
    return found


def summed_up(rows: Rows) -> dict[str, Any]:
    """Means of [L, H, Q, 3] over everything, and the entropy of each head of each layer."""
    entropy, most, sharpness = rows.mean(axis=(0, 1, 2)).tolist()
    return {
        "entropy_bits": entropy,
        "max_entropy_bits": most,
        "sharpness": sharpness,
        "by_layer": rows[..., 0].mean(axis=2).tolist(),
    }


def measure_influence(
    translator: Translator, pairs: Sequence[Pair], progress: Progress = silent
) -> dict[str, Any] | None:
    """How a token's influence is shared out over distances |place in source - place in target|, both 0 to 1.

    The influence of the units on a token, taken without its sign, counts as shares of 1. `even` is what
    `share` would be if every unit counted alike: near places are more frequent than far ones.
    """
    share, even, far, far_units = np.zeros(BINS), np.zeros(BINS), 0.0, 0.0
    tokens = sentences = spent = 0
    for done, (source, target) in enumerate(pairs, start=1):
        shares, distance = shares_of(translator, source, target)
        progress("influence", done, len(pairs))
        T, U = shares.shape
        if not T:
            continue
        spent += U * (U + T)
        which = np.minimum((distance * BINS).astype(np.int64), BINS - 1)
        share += np.bincount(which.ravel(), shares.ravel(), BINS)
        even += np.bincount(which.ravel(), np.full(T * U, 1 / U), BINS)
        way = float((shares * distance).sum())
        far, far_units = far + way, far_units + way * U
        tokens, sentences = tokens + T, sentences + 1
        if spent > MOST_TOKENS:
            break
    if not tokens:
        return None
    return {
        "distance": [(i + 0.5) / BINS for i in range(BINS)],
        "share": (share / tokens).tolist(),
        "even": (even / tokens).tolist(),
        "mean_distance": far / tokens,
        "mean_units": far_units / tokens,
        "sentences": sentences,
    }


def shares_of(translator: Translator, source: str, target: str) -> tuple[Rows, Rows]:
    """Each unit's share of the influence on each token, and how far the two are apart; both (T, U).

    Rows of shares sum to 1. The end of the target is left out, and so are tokens that no unit moves by more
    than rounding does.
    """
    most = translator.config.data.max_length
    ids = list(translator.tokenizers.source.encode(tidy(source))[:most])
    if not ids or not tidy(target):
        return np.zeros((0, 1)), np.zeros((0, 1))
    try:
        read = translator.tokenizers.framed(ids)
        found = influence(translator, read, target, unit="tokens" if len(ids) <= TOKENS else "words")
    except LimitError:  # more words than influence takes
        return np.zeros((0, 1)), np.zeros((0, 1))
    values = np.abs(found.values[:-1].astype(np.float64))  # (T, U)
    T, U = values.shape
    distance = np.abs(places(U)[None, :] - places(T)[:, None])  # (T, U)
    moved = values.sum(axis=1) > NOISE
    return values[moved] / values[moved].sum(axis=1, keepdims=True), distance[moved]


def places(count: int) -> Rows:
    """The middles of `count` equal parts of 0 to 1."""
    middles: Rows = (np.arange(count) + 0.5) / count
    return middles
