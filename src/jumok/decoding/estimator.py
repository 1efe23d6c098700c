"""Logistic regression with a calibrated curve: from numbers that are known to a probability that is true.

    z = b + Σ_f w_f x_f                 logistic regression (Cox 1958)
    p = σ(c(z)),  σ(z) = 1 / (1 + e^−z)

The curve c is made of straight lines between a few knots (z, logit p) that rise; beyond the first and the
last one it goes on with slope 1. The knots come from isotonic regression (Zadrozny & Elkan 2002): of words
with a probability of 0.3, three in ten are then changed. `evaluation/calibrate.py` finds all these numbers.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from math import isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray

Column = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Estimator:
    """Some features, what each weighs, and the curve."""

    weights: Mapping[str, float]
    bias: float
    curve: tuple[tuple[float, float], ...]
    """Knots: z, and the logit of the share that was changed there."""

    def __post_init__(self) -> None:
        numbers = [*self.weights.values(), self.bias, *(number for knot in self.curve for number in knot)]
        if not all(map(isfinite, numbers)):
            raise ValueError("a number is not finite")
        if not self.curve or any(a >= c or b > d for (a, b), (c, d) in pairwise(self.curve)):
            raise ValueError("the curve does not rise")

    def linear(self, columns: Mapping[str, Column]) -> Column:
        """z of each row."""
        parts = [weight * columns[name] for name, weight in self.weights.items()]
        return np.asarray(self.bias + np.sum(parts, axis=0))

    def probabilities(self, columns: Mapping[str, Column]) -> Column:
        """p of each row, above 0 and below 1."""
        return sigmoid(bend(self.curve, self.linear(columns)))

    def to_dict(self) -> dict[str, Any]:
        return {
            "weights": dict(self.weights),
            "bias": self.bias,
            "curve": [list(knot) for knot in self.curve],
        }


def parse_estimator(value: object) -> Estimator:
    """The estimator that `to_dict` wrote; a ValueError if it cannot be one."""
    match value:
        case {"weights": dict(weights), "bias": int() | float() as bias, "curve": list(curve)}:
            knots = [tuple(map(as_number, knot)) for knot in curve if isinstance(knot, list)]
            if len(knots) != len(curve) or any(len(knot) != 2 for knot in knots):
                raise ValueError("a knot of the curve is not two numbers")
            numbers = {str(name): as_number(weight) for name, weight in weights.items()}
            return Estimator(numbers, float(bias), tuple((a, b) for a, b in knots))
    raise ValueError("weights, bias or curve is missing")


def as_number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"{str(value)[:40]!r} is not a number")
    return float(value)


def bend(curve: tuple[tuple[float, float], ...], z: Column) -> Column:
    """c(z)."""
    knots = np.asarray(curve)  # (K, 2)
    inside = np.interp(z, knots[:, 0], knots[:, 1])
    below, above = np.minimum(z - knots[0, 0], 0.0), np.maximum(z - knots[-1, 0], 0.0)
    return np.asarray(inside + below + above)


def sigmoid(z: Column) -> Column:
    """σ(z), for z of any size."""
    small = np.exp(-np.abs(z))
    return np.where(z >= 0, 1.0, small) / (1.0 + small)
