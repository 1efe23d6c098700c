"""Numbers as the page writes them."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jumok.comparison.numbers import (
    chance,
    fixed,
    interval,
    percent,
    real,
    score,
    seconds,
    short,
    signed,
    significant,
    size,
    text_of,
)
from tests.comparison.reading import read_back

finite = st.floats(-1e15, 1e15, allow_nan=False)


@pytest.mark.parametrize(
    ("form", "value", "text"),
    [
        (score, 58.44, "58.4"),
        (score, -0.01, "0.0"),
        (score, -3.26, "−3.3"),
        (fixed(0), 48000, "48,000"),
        (signed, 1.25, "+1.2"),
        (signed, -5.7, "−5.7"),
        (signed, 0.0, "0.0"),
        (significant, 0, "0"),
        (significant, 1.02, "1.02"),
        (significant, 612.2, "612"),
        (significant, 0.000123, "0.000123"),
        (significant, 38200.4, "38,200"),
        (short, 421888, "422 k"),
        (short, 7494.2, "7,494"),
        (short, 2653500, "2.65 M"),
        (short, 15.2e9, "15.2 G"),
        (size, 402653184, "403 MB"),
        (size, 512, "512 B"),
        (size, 999.9e3, "1 MB"),
        (seconds, 70.24, "70.2 s"),
        (seconds, 600, "10 min"),
        (seconds, 754, "12 min 34 s"),
        (seconds, 7260, "2 h 1 min"),
        (percent, 0.0326, "3.3 %"),
        (chance, 0.000999, "0.001"),
        (chance, 0.0001, "< 0.001"),
    ],
)
def test_a_number_in_its_form(form, value, text) -> None:
    assert form(value) == text


@pytest.mark.parametrize("value", [None, True, "3", [], math.nan, math.inf, -math.inf, 1e300, 10**400])
def test_what_is_no_number_is_a_dash(value) -> None:
    assert real(value) is None
    assert text_of(value) == "–"


@given(finite)
def test_a_shown_number_reads_back_as_itself(value: float) -> None:
    for form, near in ((score, 0.051), (significant, 0.0), (short, 0.0), (size, 0.0)):
        read = read_back(form(value))
        assert read is not None
        assert math.isclose(read, value, rel_tol=0.006, abs_tol=max(near, 1e-9)), form(value)


def test_an_interval_has_both_ends_or_nothing() -> None:
    assert interval([1, 2.25]) == "1.0 to 2.2"
    assert interval([1, None]) == interval(None) == interval([math.nan, 2]) == ""
