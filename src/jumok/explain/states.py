"""States of a model as points: one for each source token and each step, their codes, near ones, a map.

    code        c = round(127 x / max |x|), whole numbers from -127 to 127
    similarity  cos(a, b) = a · b / (|a| |b|) of two codes, the cosine of their angle

The products of codes are whole numbers: whoever searches finds the same. Axis letters: S source tokens with
their end, T steps, H heads, d width of a head, D width, N states that are known, Q that are asked about.
"""

from collections.abc import Mapping
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from jumok.config import ModelConfig
from jumok.edits import Where
from jumok.explain.capture import Captured

Side = Literal["encoder", "decoder"]
SIDES: tuple[Side, ...] = get_args(Side)
MOST = 127

Codes = NDArray[np.int8]
Floats = NDArray[np.float64]


def looked_at(config: ModelConfig) -> tuple[Where, ...]:
    """The attention whose stages states are taken from: the last to the source; none without any."""
    return (("cross", config.attention["cross"][0] - 1),) if "cross" in config.attention else ()


def states_of(captured: Captured, config: ModelConfig) -> dict[Side, NDArray[np.float32]]:
    """A state for each source token (S, D) and for each step (T, D).

    Of a step it is what the last attention to the source hands on, in a model without attention the decoder's
    state; of a source token the encoder's state, in a Transformer as that attention reads it: its keys.
    """
    stages: Mapping[str, Any] = {}
    for where in looked_at(config):
        stages = captured.stages[where]
    encoder = captured.states.get("encoder")
    if encoder is None:
        encoder = stages["k"].transpose(1, 0, 2)  # (S, H, d)
    decoder = stages["out"] if stages else captured.states["decoder"]
    flat = {"encoder": encoder, "decoder": decoder}
    return {side: np.asarray(flat[side]).reshape(len(flat[side]), -1) for side in SIDES}


def coded(states: NDArray[np.float32]) -> Codes:
    """The codes (N, D) of states (N, D)."""
    most = np.abs(states).max(axis=1, keepdims=True, initial=0)  # (N, 1)
    return np.rint(MOST * states / np.where(most > 0, most, 1)).astype(np.int8)


def similarities(known: Codes, asked: Codes) -> Floats:
    """(Q, N); a code of nothing but zeros is like none."""
    a, b = asked.astype(np.float64), known.astype(np.float64)  # whole numbers far below 2⁵³: sums are exact
    sizes = np.sqrt((a * a).sum(axis=1)[:, None] * (b * b).sum(axis=1))  # (Q, N)
    return (a @ b.T) / np.where(sizes > 0, sizes, 1)


def nearest(known: Codes, asked: Codes, count: int) -> tuple[NDArray[np.int64], Floats]:
    """Of each state asked about the `count` most similar ones, best first, and how similar: (Q, k) each.

    All are compared; of those that are equally similar the first comes first.
    """
    found = similarities(known, asked)
    order = np.argsort(-found, axis=1, kind="stable")[:, :count]
    return order, np.take_along_axis(found, order, axis=1)


class Plane:
    """The plane in which states spread most: their mean and two principal axes."""

    def __init__(self, codes: Codes) -> None:
        points = units(codes)  # (N, D)
        self.mean = points.mean(axis=0)
        spread = np.cov(points.T, bias=True).reshape(points.shape[1], -1)  # (D, D)
        values, vectors = np.linalg.eigh(spread)  # ascending
        axes = vectors[:, ::-1][:, :2]
        strongest = np.abs(axes).argmax(axis=0)
        self.axes = axes * np.where(axes[strongest, np.arange(axes.shape[1])] < 0, -1, 1)
        """(D, 2); the largest number of each is positive, so that everyone draws the same map."""
        whole = float(values.sum())
        self.shares = tuple(float(max(one, 0)) / whole if whole > 0 else 0.0 for one in values[::-1][:2])
        """How much of all that spreads lies along each."""

    def place(self, codes: Codes) -> Floats:
        """Where states lie: (N, 2)."""
        placed: Floats = (units(codes) - self.mean) @ self.axes
        return placed


def units(codes: Codes) -> Floats:
    """The codes as vectors of length 1."""
    points = codes.astype(np.float64)
    sizes = np.sqrt((points * points).sum(axis=1, keepdims=True))
    return points / np.where(sizes > 0, sizes, 1)
