"""Few points, the same picture: ends, extremes and order survive."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from jumok.server.runs.decimate import decimate

CURVES = st.lists(st.floats(allow_nan=False, width=32), max_size=300)


@given(values=CURVES, points=st.integers(4, 60))
def test_ends_extremes_and_order_survive(values: list[float], points: int) -> None:
    kept = decimate(values, points).tolist()
    assert len(kept) <= points
    assert kept == sorted(set(kept))
    if len(values) <= points:
        assert kept == list(range(len(values)))
    else:
        chosen = [values[place] for place in kept]
        assert (kept[0], kept[-1]) == (0, len(values) - 1)
        assert (min(chosen), max(chosen)) == (min(values), max(values))


@given(points=st.integers(4, 100))
def test_a_spike_in_a_long_curve_is_seen(points: int) -> None:
    values = np.zeros(100_000)
    values[77_777] = 9.0
    assert 77_777 in decimate(values, points)


def test_every_stretch_is_represented() -> None:
    kept = decimate(np.sin(np.arange(10_000) / 3), 100)
    assert len(kept) == 100
    assert np.diff(kept).max() < 2 * 10_000 / 49


def test_fewer_than_four_points_cannot_hold_ends_and_extremes() -> None:
    assert decimate([5.0, 1.0, 9.0, 5.0, 5.0, 5.0], 1).tolist() == [0, 1, 2, 5]
