"""A long curve in few points that draws the same picture: its ends, and the extremes of each stretch."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

FEWEST = 4


def decimate(values: ArrayLike, points: int) -> NDArray[np.intp]:
    """Places of at most `points` values (at least 4), in order: the first, the last, and between them the
    smallest and the largest of equally many values each. So the extremes of all are among them.
    """
    curve = np.asarray(values, dtype=np.float64)
    count = len(curve)
    if count <= max(points, FEWEST):
        return np.arange(count)
    edges = np.linspace(1, count - 1, (max(points, FEWEST) - 2) // 2 + 1).astype(np.intp)
    kept = {0, count - 1}
    for start, end in zip(edges, edges[1:], strict=False):
        stretch = curve[start:end]
        kept |= {int(start + stretch.argmin()), int(start + stretch.argmax())}
    return np.array(sorted(kept), dtype=np.intp)
