"""Logistic and isotonic regression find what the data was made with."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jumok.decoding.estimator import sigmoid
from jumok.evaluation.logistic import KNOTS, fit_curve, fit_estimator, newton


def made(count: int = 20_000, seed: int = 1) -> tuple[dict[str, np.ndarray], np.ndarray, np.ndarray]:
    """Features, true probabilities, and labels drawn with them."""
    draw = np.random.default_rng(seed)
    columns = {"a": draw.normal(3, 2, count), "b": draw.normal(0, 1, count), "same": np.full(count, 7.0)}
    p = sigmoid(0.5 * columns["a"] - 1.0 * columns["b"] - 2.0)
    return columns, p, draw.random(count) < p


def test_the_weights_of_the_data_are_found() -> None:
    columns, p, labels = made()
    found = fit_estimator(columns, labels, ("a", "b", "same"))
    assert found.weights["a"] == pytest.approx(0.5, abs=0.05)
    assert found.weights["b"] == pytest.approx(-1.0, abs=0.06)
    assert found.weights["same"] == 0  # it tells nothing
    assert found.bias == pytest.approx(-2.0, abs=0.15)
    assert np.abs(found.probabilities(columns) - p).mean() < 0.02


def test_the_slope_is_nought_where_newton_stops() -> None:
    columns, _, labels = made(500)
    x = np.stack([columns["a"], columns["b"]], axis=1)
    w = newton(x, labels.astype(float))
    rows = np.concatenate([np.ones((502, 1)), np.concatenate([x, np.zeros((2, 2))])], axis=1)
    y = np.concatenate([labels, [0, 1]])
    slope = rows.T @ (y - sigmoid(rows @ w)) - np.array([0, w[1], w[2]])
    assert np.abs(slope).max() < 1e-6


def test_labels_that_are_all_alike_give_a_small_probability_and_no_fault() -> None:
    columns, _, labels = made(1000)
    found = fit_estimator(columns, np.zeros_like(labels), ("a", "b")).probabilities(columns)
    assert 0 < found.min() <= found.max() < 0.01


@given(st.lists(st.tuples(st.floats(-5, 5), st.booleans()), min_size=1, max_size=300))
def test_a_curve_rises_and_its_knots_are_few(rows: list[tuple[float, bool]]) -> None:
    z, changed = np.array([a for a, _ in rows]), np.array([b for _, b in rows])
    curve = fit_curve(z, changed)
    assert 1 <= len(curve) <= KNOTS
    assert all(a < c and b < d for (a, b), (c, d) in pairwise(curve))


def test_a_curve_by_hand() -> None:
    """Two groups of fifty; one change more and two rows more than there are, so that no share is 0 or 1."""
    z = np.arange(100.0)
    low, high = fit_curve(z, z >= 50)
    assert low == pytest.approx((24.5, np.log(1 / 51)))
    assert high == pytest.approx((74.5, np.log(51)))
    assert fit_curve(z[:99], z[:99] >= 50) == (
        pytest.approx((49, np.log(50 / 51))),  # too few for two
    )
    assert fit_curve(np.array([3.0]), np.array([True])) == (pytest.approx((3, np.log(2))),)


def test_groups_that_do_not_rise_are_joined() -> None:
    z = np.arange(150.0)
    share = np.where(z < 50, z % 5 == 0, np.where(z < 100, z % 10 == 0, z % 2 == 0))  # 10, 5, 25 of 50
    assert fit_curve(z, share) == (
        pytest.approx((49.5, np.log(16 / 86))),
        pytest.approx((124.5, 0)),
    )
    alike = np.where(z < 100, z % 5 == 0, z % 2 == 0)  # 10, 10, 25
    assert [knot for knot, _ in fit_curve(z, alike)] == [49.5, 124.5]
    assert fit_curve(np.zeros(100), np.arange(100) >= 50) == (pytest.approx((0, 0)),)  # z does not rise


def test_a_long_curve_has_twenty_knots() -> None:
    z = np.arange(2100.0)
    assert len(fit_curve(z, z % 105 < z / 20)) == KNOTS == 20


def test_a_curve_mends_probabilities_that_are_too_sure() -> None:
    draw = np.random.default_rng(2)
    z = draw.normal(0, 2, 20_000)
    changed = draw.random(len(z)) < sigmoid(z / 3)  # they claim three times as much
    for knot, logit in fit_curve(z, changed):
        assert logit == pytest.approx(knot / 3, abs=0.25)
