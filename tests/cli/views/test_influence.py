"""The map of words with signs, for all three architectures."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.cli.views.conftest import Traces

from jumok.cli.views.influence import influence_view, number, paint, signed_map, strongest
from jumok.explain.heatmap import cells


@pytest.mark.parametrize("arch", ["rnn", "luong", "transformer"])
def test_words_that_supported_what_was_written(traces: Traces, arch: str) -> None:
    view = influence_view(traces[arch], "blocks")
    lines = view.text.splitlines()
    assert lines[2] == "influence · words · each left out (unk)"
    assert lines[3].split() == ["den", "5", "mars", "2024", "kl", ".", "14", ":", "30"]
    year = lines[4].split()
    assert year[0] == "2024"
    assert float(year[4]) == max(float(one) for one in year[1:] if one != "·") > 5
    assert view.line in lines
    assert "below 0 it" in view.text
    values = np.array(view.plain["influence"]["values"])
    assert values.shape == (len(view.plain["tokens"]), 9)
    np.testing.assert_allclose(view.table[1][1:], values[:4].sum(axis=0), atol=1e-5)


def test_colours_are_orange_above_zero_and_blue_below() -> None:
    assert paint("x", 1.0, "colour") == "\x1b[48;5;215;30mx\x1b[0m"
    assert paint("x", -1.0, "colour") == "\x1b[48;5;75;30mx\x1b[0m"
    assert paint("x", -1.0, "truecolour").startswith("\x1b[48;2;130;195;255;30m")
    assert paint("x", 0.001, "colour") == "x"
    assert paint("x", 1.0, None) == "x"


def test_numbers_have_signs_and_nothing_is_a_dot() -> None:
    assert [number(one) for one in (12.34, -0.06, 0.04, -0.04)] == ["+12.3", "-0.1", "·", "·"]


def test_the_strongest_may_be_against() -> None:
    values = np.array([[0.1, -3.0], [2.0, 0.0]])
    assert strongest(["a", "b"], ["c", "d"], values) == "strongest: c←b -3.0 · d←a +2.0"


@given(
    st.lists(st.text(st.characters(categories=["L"]), min_size=1, max_size=20), min_size=1, max_size=30),
    st.integers(40, 120),
)
def test_panels_fit_the_width_and_hold_every_column(words: list[str], width: int) -> None:
    values = np.ones((2, len(words)))
    lines = list(signed_map(words, ["one", "two"], values, None, width))
    assert all(cells(line) <= width for line in lines)
    assert sum(line.count("+1.0") for line in lines) == 2 * len(words)
