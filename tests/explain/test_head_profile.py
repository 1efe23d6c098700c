"""Head fingerprints: numbers that stay in their bounds, and words that fit heads made by hand."""

from math import log2
from typing import get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from jumok.explain.head_profile import Label, head_profile


def label_of(
    head: list[list[float]], special: list[bool] | None = None, *, causal: bool = False, same: bool = True
) -> str:
    weights = np.array(head, dtype=np.float32)[None, None]
    found = head_profile(weights, special or [False] * weights.shape[-1], causal=causal, same=same)
    return str(found["label"][0][0])


def eye(n: int, shift: int = 0) -> list[list[float]]:
    head = np.eye(n, k=shift)
    head[head.sum(axis=1) == 0, 0] = 1
    return head.tolist()  # type: ignore[no-any-return]


def test_heads_made_by_hand_get_their_word() -> None:
    assert label_of(eye(6)) == "diagonal"
    assert label_of(eye(6, shift=-1)) == "previous"
    assert label_of(eye(6, shift=-1), same=False) == "sharp"
    assert label_of(np.full((6, 6), 1 / 6).tolist()) == "broad"
    assert label_of([[0, 0, 1]] * 4, [False, False, True]) == "special"
    assert label_of([[1, 0, 0, 0, 0]] * 5) == "sharp"
    assert label_of([[0.4, 0.4, 0.2, 0, 0, 0, 0, 0]] * 8) == "mixed"
    assert label_of(np.tril(np.ones((6, 6)) / np.arange(1, 7)[:, None]).tolist(), causal=True) == "broad"


def test_every_label_has_words() -> None:
    assert set(get_args(Label)) == {"previous", "diagonal", "special", "sharp", "broad", "mixed"}


@pytest.mark.parametrize("shape", [(8, 4), (4, 8), (3, 7), (1, 5), (5, 1)])
def test_the_diagonal_goes_from_corner_to_corner(shape: tuple[int, int]) -> None:
    Q, K = shape
    head = np.zeros(shape)
    head[np.arange(Q), np.rint(np.arange(Q) * (K - 1) / max(Q - 1, 1)).astype(int)] = 1
    assert label_of(head.tolist(), same=False) == "diagonal"


@pytest.mark.parametrize(
    "head",
    [
        [[1, 0, 0], [0.5, 0.5, 0], [0, 1, 0], [0, 0.5, 0.5], [0, 0, 1]],
        [[0.5, 0.5, 0, 0, 0], [0, 0.25, 0.5, 0.25, 0], [0, 0, 0, 0.5, 0.5]],
    ],
)
def test_the_diagonal_is_as_wide_as_its_slope_and_no_narrower_than_a_key(head: list[list[float]]) -> None:
    found = head_profile(np.array(head)[None, None], [False] * len(head[0]), causal=False, same=False)
    assert found["diagonal"] == [[1.0]]
    outside = np.roll(np.array(head), 1, axis=1)[None, None]
    less = head_profile(outside, [False] * len(head[0]), causal=False, same=False)["diagonal"]
    assert less[0][0] < 0.9


def test_numbers_of_a_head_that_is_easy_to_count() -> None:
    weights = np.array([[0.5, 0.5, 0], [1, 0, 0], [0, 0.25, 0.75]])[None, None]
    found = head_profile(weights, [False, False, True], causal=False, same=True)
    plain = {name: values[0][0] for name, values in found.items()}
    assert plain.pop("label") == "previous"
    assert plain == pytest.approx(
        {
            "entropy": (1 + 0 - 0.25 * log2(0.25) - 0.75 * log2(0.75)) / 3,
            "distance": (0.5 + 1 + 0.25) / 3,
            "diagonal": (0.5 + 0 + 0.75) / 3,
            "previous": (1 + 0.25) / 2,
            "special": 0.25,
            "max": (0.5 + 1 + 0.75) / 3,
        }
    )


@st.composite
def heads(draw: st.DrawFn) -> NDArray[np.float32]:
    L, H, Q, K = (draw(st.integers(1, n)) for n in (2, 3, 6, 6))
    scores = np.random.default_rng(draw(st.integers(0, 999))).normal(size=(L, H, Q, K)) * draw(
        st.sampled_from([0.0, 1.0, 50.0])
    )
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return (powers / powers.sum(axis=-1, keepdims=True)).astype(np.float32)


@settings(max_examples=80, deadline=None)
@given(weights=heads(), same=st.booleans(), every=st.booleans())
def test_shares_are_shares_and_entropy_has_its_ceiling(
    *, weights: NDArray[np.float32], same: bool, every: bool
) -> None:
    L, H, Q, K = weights.shape
    found = head_profile(weights, [every] * K, causal=False, same=same)
    for name in ("diagonal", "previous", "special", "max"):
        assert np.shape(found[name]) == (L, H)
        assert 0 <= np.min(found[name]) <= np.max(found[name]) <= 1
    assert np.max(found["entropy"]) <= log2(K) + 1e-5
    assert np.min(found["entropy"]) >= 0
    assert np.max(found["distance"]) <= max(Q, K)


def test_half_of_the_weight_makes_a_habit_and_less_does_not() -> None:
    half = [[0.5, 0, 0.5, 0], [0, 0.5, 0, 0.5], [0.5, 0, 0.5, 0], [0, 0.5, 0, 0.5]]
    assert label_of(half) == "diagonal"
    assert label_of(half, [True] * 2 + [False] * 2) == "special"
    assert label_of([[0.5, 0.5, 0], [0.5, 0, 0.5], [0, 0.5, 0.5]]) == "previous"
    assert label_of([[0.5, 0, 0, 0, 0, 0.5]] * 6) == "sharp"
    less = np.array([0.5, 0, 0.5, 0]) * 0.9375 + 1 / 64
    assert label_of([np.roll(less, n).tolist() for n in range(4)]) == "mixed"


def test_what_may_look_at_less_is_broad_with_less() -> None:
    """Eight steps that see 1 to 8 tokens could have 1.91 bits on average; over the first four it is 1.57."""
    first = np.tril(np.ones((8, 8))) * (np.arange(8) < 4)
    head = (first / first.sum(axis=1, keepdims=True)).tolist()
    assert label_of(head, causal=True) == "broad"
    assert label_of(head) == "mixed"  # of three bits


def test_four_fifths_of_the_most_entropy_are_broad() -> None:
    sixteen = [[1 / 16] * 16 + [0] * 16] * 32  # 4 of 5 bits
    assert label_of(sixteen, same=False) == "broad"
    assert label_of([[1 / 8] * 8 + [0] * 24] * 32, same=False) == "mixed"
