"""From numbers to probabilities: the curve rises, and nothing leaves the range from 0 to 1."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jumok.decoding.estimator import Estimator, bend, parse_estimator, sigmoid

NUMBERS = st.floats(-1e6, 1e6)
CURVE = ((-1.0, -2.0), (0.0, 0.0), (2.0, 0.5))


def test_a_probability_by_hand() -> None:
    one = Estimator({"a": 2.0, "b": -1.0}, 0.5, CURVE)
    columns = {"a": np.array([0.25, 0.0]), "b": np.array([0.0, 1.5]), "more": np.zeros(2)}
    assert one.linear(columns).tolist() == [1.0, -1.0]
    assert one.probabilities(columns) == pytest.approx([1 / (1 + np.exp(-0.25)), 1 / (1 + np.exp(2))])


def test_beyond_its_knots_the_curve_goes_on_with_slope_one() -> None:
    assert bend(CURVE, np.array([-4.0, -1.0, 1.0, 2.0, 5.0])).tolist() == [-5.0, -2.0, 0.25, 0.5, 3.5]


@given(st.lists(NUMBERS, min_size=2, max_size=20))
def test_more_doubt_is_never_a_lower_probability(values: list[float]) -> None:
    found = Estimator({"a": 1.0}, 0.0, CURVE).probabilities({"a": np.sort(values)})
    assert (np.diff(found) >= 0).all()
    assert ((found >= 0) & (found <= 1)).all()


def test_sigmoid_of_any_size() -> None:
    assert sigmoid(np.array([-1e300, 0.0, 1e300])).tolist() == [0.0, 0.5, 1.0]


@given(st.dictionaries(st.text(max_size=5), NUMBERS, max_size=4), NUMBERS)
def test_it_survives_json(weights: dict[str, float], bias: float) -> None:
    one = Estimator(weights, bias, CURVE)
    assert parse_estimator(json.loads(json.dumps(one.to_dict()))) == one


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([], "weights, bias or curve is missing"),
        ({"weights": {}, "bias": 0}, "weights, bias or curve is missing"),
        ({"weights": {"a": "1"}, "bias": 0, "curve": [[0, 0]]}, "'1' is not a number"),
        ({"weights": {"a": True}, "bias": 0, "curve": [[0, 0]]}, "'True' is not a number"),
        ({"weights": {}, "bias": 0, "curve": []}, "the curve does not rise"),
        ({"weights": {}, "bias": 0, "curve": [[0, 0], [0, 1]]}, "the curve does not rise"),
        ({"weights": {}, "bias": 0, "curve": [[0, 1], [1, 0]]}, "the curve does not rise"),
        ({"weights": {}, "bias": 0, "curve": [[0, 1, 2]]}, "not two numbers"),
        ({"weights": {}, "bias": 0, "curve": [7]}, "not two numbers"),
        ({"weights": {"a": float("inf")}, "bias": 0, "curve": [[0, 0]]}, "not finite"),
    ],
)
def test_what_is_no_estimator(value: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parse_estimator(value)
