"""How long a search will take: the median of the last calls."""

import math

from hypothesis import given
from hypothesis import strategies as st

from jumok.server.translate.pace import REMEMBERED, SHORTEST_S, SearchPace


def test_nothing_is_known_before_the_first_call() -> None:
    pace = SearchPace()
    assert pace.forecast(1) == math.inf
    assert pace.within(1.0) == 0
    pace.measured(0, 1.0)  # a call without work says nothing
    assert pace.forecast(1) == math.inf


def test_the_forecast_is_the_median_of_the_last_calls() -> None:
    pace = SearchPace()
    pace.measured(10, 0.02)
    assert pace.forecast(100) == 0.2
    for seconds in (0.01, 0.01, 5.0):  # one call was held up
        pace.measured(10, seconds)
    assert pace.forecast(100) == 0.2  # of 0.001, 0.001, 0.002 and 0.5 the third
    pace.measured(10, 0.01)
    assert math.isclose(pace.forecast(100), 0.1)
    assert math.isclose(pace.within(0.5), 500)


@given(st.lists(st.floats(0, 10), min_size=REMEMBERED, max_size=3 * REMEMBERED))
def test_only_the_last_calls_count(seconds: list[float]) -> None:
    pace, late = SearchPace(), SearchPace()
    for each in seconds:
        pace.measured(1, each)
    for each in seconds[-REMEMBERED:]:
        late.measured(1, each)
    assert pace.forecast(7) == late.forecast(7)
    lowest, highest = min(seconds[-REMEMBERED:]), max(seconds[-REMEMBERED:])
    assert max(lowest, SHORTEST_S) <= pace.forecast(1) <= max(highest, SHORTEST_S)
