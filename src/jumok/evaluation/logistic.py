"""Finding the numbers of an estimator: logistic regression by Newton's method, and isotonic regression."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from jumok.decoding.estimator import Column, Estimator, sigmoid

RIDGE = 1.0
"""λ: how much it costs that a weight of a standardised feature is not 0."""
STEPS, ENOUGH = 50, 1e-9  # of Newton's method, which needs about ten
KNOTS = 20  # most knots of a curve
LEAST = 50  # rows behind each knot


def fit_estimator(
    columns: Mapping[str, Column], changed: NDArray[np.bool_], names: Sequence[str]
) -> Estimator:
    """The estimator for these features that fits the rows best.

    Features are standardised to find the weights, and the weights then turned so that they take features as
    they are.
    """
    x = np.stack([columns[name] for name in names], axis=1)  # (N, F)
    mean, scale = x.mean(axis=0), x.std(axis=0)
    scale[scale < 1e-9] = np.inf  # always the same: of no use
    weights = newton((x - mean) / scale, changed.astype(np.float64))
    plain = weights[1:] / scale
    bias = float(weights[0] - plain @ mean)
    return Estimator(
        dict(zip(names, plain.tolist(), strict=True)), bias, fit_curve(x @ plain + bias, changed)
    )


def newton(x: NDArray[np.float64], y: Column) -> Column:
    """The bias and the weights w that make the labels y most probable, less λ/2 |w|².

        p = σ(X w),    w ← w + (Xᵀ diag(p (1 − p)) X + λ I)⁻¹ (Xᵀ (y − p) − λ w)

    Two rows at the mean are added, one of each label, so that labels that are all alike have an answer too.
    """
    x = np.concatenate([x, np.zeros((2, x.shape[1]))])
    x = np.concatenate([np.ones((len(x), 1)), x], axis=1)
    y = np.concatenate([y, [0.0, 1.0]])
    ridge = np.full(x.shape[1], RIDGE)
    ridge[0] = 0.0
    w = np.zeros(x.shape[1])
    for _ in range(STEPS):
        p = sigmoid(x @ w)
        slope = x.T @ (y - p) - ridge * w
        step = np.linalg.solve((x.T * (p * (1 - p))) @ x + np.diag(ridge + 1e-9), slope)
        w += step * min(1.0, 4.0 / max(float(np.abs(step).max()), 1e-12))
        if np.abs(step).max() < ENOUGH:
            break
    return w


def fit_curve(z: Column, changed: NDArray[np.bool_]) -> tuple[tuple[float, float], ...]:
    """The knots of a curve that rises: groups of rows with like z, and the share of each that was changed.

    Groups whose shares fall where z rises are joined until none do (pool adjacent violators, Ayer et al.
    1955). A share is (changed + 1) / (rows + 2), which is never 0 or 1.
    """
    order = np.argsort(z, kind="stable")
    count = max(1, min(KNOTS, len(z) // LEAST))
    blocks: list[tuple[int, float, float]] = []  # rows, sum of z, changed
    for part in np.array_split(order, count):
        blocks.append((len(part), float(z[part].sum()), float(changed[part].sum())))
        while len(blocks) > 1 and (
            share(blocks[-2]) >= share(blocks[-1]) or middle(blocks[-2]) >= middle(blocks[-1])
        ):
            (n, a, b), (m, c, d) = blocks.pop(), blocks.pop()
            blocks.append((n + m, a + c, b + d))
    return tuple((middle(block), float(np.log(share(block) / (1 - share(block))))) for block in blocks)


def share(block: tuple[int, float, float]) -> float:
    return (block[2] + 1) / (block[0] + 2)


def middle(block: tuple[int, float, float]) -> float:
    return block[1] / max(block[0], 1)
