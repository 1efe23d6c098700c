"""How long the searches of one model take, as far as the last few say."""

import math
from collections import deque

REMEMBERED = 9
SHORTEST_S = 1e-9  # that a clock can tell


class SearchPace:
    """Seconds a beam-token: the median of the last calls, so that one that was held up says nothing.

    Threads may share it.
    """

    def __init__(self) -> None:
        self._last = deque[float](maxlen=REMEMBERED)
        self._usual = math.inf

    def measured(self, work: int, seconds: float) -> None:
        """A call with so many beam-tokens has taken so long."""
        if work:
            self._last.append(max(seconds, SHORTEST_S) / work)
            self._usual = sorted(self._last)[len(self._last) // 2]

    def forecast(self, work: int) -> float:
        """Seconds that a call with so many beam-tokens may take; without end while none was measured."""
        return work * self._usual

    def within(self, seconds: float) -> float:
        """How many beam-tokens are done in so long."""
        return seconds / self._usual
