"""Alignments: the links people expect."""

import numpy as np
import pytest

from jumok.explain.attention import Link, links, pharaoh

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
    assert pharaoh(links([[0.1, 0.0, 0.0], [0.0, 0.0999, 0.0], [0, 0, 1]])) == "0-0"  # a tenth is enough


@pytest.mark.parametrize("shape", [(1, 1), (1, 4), (0, 0)])
def test_without_words_there_are_no_links(shape: tuple[int, int]) -> None:
    assert links(np.ones(shape)) == []
