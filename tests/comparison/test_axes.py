"""Axes: ranges, ticks, and labels moved apart."""

from itertools import pairwise

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from jumok.comparison.axes import Axis, Scale, Tick, domain, log_steps, spread, steps, thin_out, ticks

values = st.floats(-1e6, 1e6, allow_nan=False)


@given(st.lists(values, min_size=1))
def test_the_range_holds_all_values(found: list[float]) -> None:
    low, high = domain(found, Axis(""))
    assert low <= min(found) <= max(found) <= high
    assert low < high
    assert low >= 0 or min(found) < 0


@given(st.lists(st.floats(1e-6, 1e9), min_size=1))
def test_a_logarithmic_range_is_positive(found: list[float]) -> None:
    low, high = domain([*found, 0, -1], Axis("", log=True))
    assert 0 < low < min(found) <= max(found) < high


def test_a_range_of_nothing_and_with_fixed_ends() -> None:
    assert domain([], Axis("")) == (0, pytest.approx(1.05))
    assert domain([97.0, 99.0], Axis("", low=0, high=50)) == (0, 50)
    assert domain([97.0, 99.9], Axis("", most=100.0))[1] == 100
    assert domain([97.0, 120.0], Axis("", most=100.0))[1] == 120


@given(values, st.floats(1e-3, 1e6), st.integers(1, 9))
def test_ticks_are_round_even_and_inside(low: float, width: float, count: int) -> None:
    assume(low + width > low)
    found = steps(low, low + width, count)
    assert len(found) <= count + 2
    assert all(low - width * 1e-6 <= tick <= low + width * (1 + 1e-6) for tick in found)
    gaps = [b - a for a, b in pairwise(found)]
    assert all(gap == pytest.approx(gaps[0], rel=1e-3) for gap in gaps)


def test_ticks_by_name() -> None:
    assert steps(0, 100, 5) == [0, 20, 40, 60, 80, 100]
    assert steps(0, 0.3, 3) == [0, 0.1, 0.2, 0.3]
    assert log_steps(1, 100, 7) == [1, 2, 5, 10, 20, 50, 100]
    assert log_steps(1, 1e6, 7) == [1, 10, 100, 1e3, 1e4, 1e5, 1e6]
    assert [tick.label for tick in ticks(Axis("", form=lambda value: f"{value:g} s"), 0, 4, 4)] == [
        "0 s", "1 s", "2 s", "3 s", "4 s",
    ]  # fmt: skip
    own = (Tick(0, "a"), Tick(9, "b"))
    assert ticks(Axis("", ticks=own), 0, 5, 4) == [own[0]]


def test_crowded_ticks_are_thinned_and_the_last_stays() -> None:
    found = [Tick(n, str(n)) for n in range(10)]
    assert [tick.value for tick in thin_out(found, Scale(0, 9, 0, 90), 25)] == [0, 3, 6, 9]
    assert thin_out(found, Scale(0, 9, 0, 9000), 25) == found
    assert thin_out([], Scale(0, 9, 0, 90), 25) == []


def test_a_scale_in_proportion_and_in_logarithms() -> None:
    assert Scale(0, 10, 0, 100)(5) == 50
    assert Scale(1, 100, 0, 100, log=True)(10) == pytest.approx(50)
    assert Scale(3, 3, 7, 100)(3) == 7


@given(st.lists(st.floats(0, 200), max_size=8))
def test_labels_do_not_touch_and_keep_their_order(wanted: list[float]) -> None:
    found = spread(wanted, 15, 0, 200)
    assert all(-1e-6 <= place <= 200 + 1e-6 for place in found)
    assert all(b - a >= 15 - 1e-6 for a, b in pairwise(sorted(found)))
    order = sorted(range(len(wanted)), key=lambda n: (wanted[n], n))
    assert order == sorted(range(len(wanted)), key=lambda n: found[n])


def test_labels_with_room_stay_where_they_are() -> None:
    assert spread([10, 100, 50], 15, 0, 200) == [10, 100, 50]
