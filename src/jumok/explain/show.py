"""Something to look at: the explorer inside a notebook, a picture of characters in a terminal."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from jumok.explain.heatmap import heat_map
from jumok.explain.html import known, trace_html
from jumok.explain.influence import Influence
from jumok.explain.page import frame
from jumok.explain.trace import Trace

HEIGHT = 640  # pixels


@dataclass(frozen=True, repr=False)
class Display:
    """What `show()` returns. A notebook draws it as a frame, which is saved with the notebook."""

    document: Callable[[], str]
    text: Callable[[], str]
    height: int = HEIGHT

    def _repr_html_(self) -> str:
        return frame(self.document(), self.height)

    def __repr__(self) -> str:
        return self.text()


def show_trace(trace: Trace, height: int = HEIGHT) -> Display:
    """A trace to look at."""
    return Display(lambda: trace_html(trace), lambda: picture(trace), height)


def picture(trace: Trace) -> str:
    """What the target looked at, words by words; by influence where the model has no attention."""
    cross = trace.attention.cross
    if cross is not None:
        return cross.mean().words().show()
    found = known(trace.influence)
    if found is None:
        return repr(trace)
    weights = shares(found)
    keep = [i for i, word in enumerate(trace.manifest["target"]["words"]) if "type" not in word]
    words = [trace.manifest["target"]["words"][i]["text"] for i in keep]
    drawn = heat_map([unit.text for unit in found.units], words, word_rows(trace, weights)[keep])
    return "\n".join(filter(None, ("influence · words", drawn)))


def shares(found: Influence) -> NDArray[np.float64]:
    """For each target token (T, U), which share of its support each source unit has; all 0 if none has."""
    support = found.values.astype(np.float64).clip(min=0)
    found_shares: NDArray[np.float64] = support / np.maximum(support.sum(axis=1, keepdims=True), 1e-12)
    return found_shares


def word_rows(trace: Trace, rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Rows of target tokens as the mean over each target word."""
    words = [word["tokens"] for word in trace.manifest["target"]["words"]]
    return np.stack([rows[tokens].mean(axis=0) for tokens in words]) if words else rows[:0]
