"""Alignments: the links people expect, and forms that other tools write are read back."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from jumok.errors import DataError
from jumok.explain.align import (
    Link,
    SoftAlignment,
    links,
    nematus,
    parse_nematus,
    parse_pharaoh,
    pharaoh,
)

WEIGHTS = [
    [0.7, 0.1, 0.1, 0.1],
    [0.1, 0.1, 0.6, 0.2],
    [0.2, 0.1, 0.1, 0.6],
    [0.0, 0.0, 0.0, 1.0],
]


def test_each_word_links_to_what_it_looked_at_most() -> None:
    found = links(WEIGHTS)
    assert found == [Link(0, 0, 0.7), Link(2, 1, 0.6)]
    assert pharaoh(found) == "0-0 2-1"
    assert pharaoh(links(WEIGHTS, end=False)) == "0-0 2-1 3-2 3-3"
    assert pharaoh(links(WEIGHTS, threshold=0.65)) == "0-0"
    assert pharaoh(links([[0.5, 0.5, 0.0], [0, 0, 1]])) == "0-0"


@pytest.mark.parametrize("shape", [(1, 1), (1, 4), (0, 0)])
def test_without_words_there_are_no_links(shape: tuple[int, int]) -> None:
    assert links(np.ones(shape)) == []


@given(st.lists(st.tuples(st.integers(0, 999), st.integers(0, 999))))
def test_pharaoh_is_read_back(pairs: list[tuple[int, int]]) -> None:
    assert parse_pharaoh(pharaoh(Link(s, t, 1.0) for s, t in pairs)) == pairs


@pytest.mark.parametrize("line", ["0-", "0-1-2", "a-b", "-1-0", "0–1"])
def test_bad_links_are_named(line: str) -> None:
    with pytest.raises(DataError, match="is no link"):
        parse_pharaoh(f"0-0 {line}")


word = st.text(min_size=1, max_size=6).filter(lambda text: text.isprintable() or "|" in text)


@st.composite
def alignments(draw: st.DrawFn) -> SoftAlignment:
    source, target = (tuple(draw(st.lists(word, max_size=4))) for _ in range(2))
    shape = (len(target) + 1, len(source) + 1)
    weights = draw(arrays(np.float32, shape, elements=st.floats(0, 1, width=32)))
    return SoftAlignment(draw(st.integers(0, 99)), target, draw(st.floats(-99, 0, width=32)), source, weights)


@settings(max_examples=40)
@given(st.lists(alignments(), max_size=2))
def test_soft_alignments_are_read_back(given_ones: list[SoftAlignment]) -> None:
    found = list(parse_nematus("".join(map(nematus, given_ones))))
    assert [(one.number, one.target, one.score, one.source) for one in found] == [
        (one.number, one.target, one.score, one.source) for one in given_ones
    ]
    for one, other in zip(found, given_ones, strict=True):
        np.testing.assert_array_equal(one.weights, other.weights)


def test_the_form_of_nematus() -> None:
    weights = np.array([[0.75, 0.25], [0.5, 0.5], [0, 1]], np.float32)
    assert nematus(SoftAlignment(3, ("a", "b|c"), -1.5, ("가",), weights)) == (
        "3 ||| a b&#124;c ||| -1.5 ||| 가 ||| 2 3\n0.75 0.25\n0.5 0.5\n0 1\n\n"
    )


@pytest.mark.parametrize(
    "text",
    [
        "0 ||| a ||| 0 ||| b",
        "0 ||| a ||| 0 ||| b ||| 2 2\n1 0\n",
        "0 ||| a ||| 0 ||| b ||| 2 2\n1 0\n1\n",
        "0 ||| a ||| 0 ||| b ||| 2 2\n1 0\n1 x\n",
        "0 ||| a c ||| 0 ||| b ||| 2 2\n1 0\n1 0\n",
        "0 ||| a ||| 0 ||| b ||| -2 -2\n1 0\n1 0\n",
    ],
)
def test_bad_soft_alignments_are_named_by_line(text: str) -> None:
    with pytest.raises(DataError, match="not a soft alignment") as caught:
        list(parse_nematus(f"\n{text}"))
    assert caught.value.where == "line 2"
