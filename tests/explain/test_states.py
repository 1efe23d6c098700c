"""States as points: codes, the exact search, and the plane in which they spread most."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from jumok.config import LuongConfig, RnnConfig, TransformerConfig
from jumok.explain.states import Plane, coded, looked_at, nearest, similarities, units

NUMBERS = st.floats(-100, 100, width=32, allow_subnormal=False)
STATES = arrays(np.float32, st.tuples(st.integers(1, 12), st.just(5)), elements=NUMBERS)


@given(STATES)
def test_codes_use_the_whole_range_and_keep_the_direction(states: np.ndarray) -> None:
    codes = coded(states)
    for state, code in zip(states, codes, strict=True):
        if np.abs(state).max() < 1e-30:
            continue
        assert np.abs(code).max() == 127
        assert np.abs(code / 127 - state / np.abs(state).max()).max() <= 0.5 / 127 + 1e-6


def test_a_state_of_zeros_is_like_nothing() -> None:
    codes = coded(np.zeros((1, 3), np.float32))
    assert codes.tolist() == [[0, 0, 0]]
    assert similarities(codes, codes).tolist() == [[0.0]]
    assert units(codes).tolist() == [[0.0, 0.0, 0.0]]
    assert units(np.array([[3, 4], [0, -7]], np.int8)).tolist() == [[0.6, 0.8], [0.0, -1.0]]


@given(STATES, STATES, st.integers(1, 20))
def test_the_nearest_are_those_of_a_search_by_hand(known: np.ndarray, asked: np.ndarray, count: int) -> None:
    known_codes, asked_codes = coded(known), coded(asked)
    rows, likeness = nearest(known_codes, asked_codes, count)
    for q, one in enumerate(asked_codes.tolist()):
        by_hand = []
        for n, other in enumerate(known_codes.tolist()):
            product = sum(a * b for a, b in zip(one, other, strict=True))
            sizes = sum(a * a for a in one) * sum(b * b for b in other)
            by_hand.append((-(product / sizes**0.5 if sizes else 0.0), n))
        best = sorted(by_hand)[:count]
        assert likeness[q] == pytest.approx([-one for one, _ in best])
        assert all(
            similarities(known_codes, asked_codes)[q][row] == one
            for row, one in zip(rows[q], likeness[q], strict=True)
        )


@given(STATES)
def test_what_is_known_finds_itself_first(states: np.ndarray) -> None:
    codes = coded(states)
    rows, likeness = nearest(codes, codes, 1)
    for n, (row, one) in enumerate(zip(rows[:, 0], likeness[:, 0], strict=True)):
        if codes[n].any():
            assert one == pytest.approx(1.0)
            assert similarities(codes, codes)[n][row] >= similarities(codes, codes)[n][n]


def test_the_plane_is_that_of_a_singular_value_decomposition() -> None:
    codes = coded(np.random.default_rng(1).normal(size=(40, 6)).astype(np.float32) * [5, 3, 1, 1, 1, 1])
    plane = Plane(codes)
    points = units(codes)
    _, sizes, axes = np.linalg.svd(points - points.mean(axis=0))
    for n in (0, 1):
        assert abs(plane.axes[:, n] @ axes[n]) == pytest.approx(1.0)
        assert plane.shares[n] == pytest.approx(sizes[n] ** 2 / (sizes**2).sum())
        assert plane.axes[np.abs(plane.axes[:, n]).argmax(), n] > 0
    assert plane.place(codes).mean(axis=0) == pytest.approx([0, 0], abs=1e-12)


def test_one_point_has_no_spread() -> None:
    plane = Plane(coded(np.ones((1, 4), np.float32)))
    assert plane.shares == (0.0, 0.0)
    assert plane.place(coded(np.ones((1, 4), np.float32))).tolist() == [[0.0, 0.0]]


def test_states_come_from_the_last_attention_to_the_source() -> None:
    assert looked_at(TransformerConfig(decoder_layers=3)) == (("cross", 2),)
    assert looked_at(LuongConfig()) == (("cross", 0),)
    assert looked_at(RnnConfig()) == ()
