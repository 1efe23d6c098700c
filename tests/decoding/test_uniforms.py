"""The random numbers of draws: those that torch gives, each sentence's own."""

import hashlib
from collections.abc import Sequence

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from jumok.decoding.uniforms import uniform_tables

SEEDS = st.one_of(st.integers(0, 50), st.integers(0, 2**63 - 1))
SOURCES = st.lists(st.integers(0, 300_000), max_size=12)


def by_torch(source: Sequence[object], length: int, *, seed: int, draw: int) -> NDArray[np.float64]:
    """The same of one draw, from torch's generator."""
    key = f"{seed}:{draw}:{','.join(map(str, source))}"
    digest = hashlib.sha256(key.encode()).digest()
    generator = torch.Generator().manual_seed(int.from_bytes(digest[:8], "big") >> 1)
    return torch.rand(length, generator=generator, dtype=torch.float64).numpy()


@given(SOURCES, st.integers(0, 1400), SEEDS, st.integers(1, 4))
def test_they_are_those_of_torch(source: list[int], length: int, seed: int, draws: int) -> None:
    [found] = uniform_tables([source], [length], seed=seed, draws=draws)
    for draw, row in enumerate(found):
        assert row.tolist() == by_torch(source, length, seed=seed, draw=draw).tolist()


@given(st.lists(st.tuples(SOURCES, st.integers(1, 9)), max_size=5), SEEDS)
def test_those_of_several_sources_are_those_of_each(pairs: list[tuple[list[int], int]], seed: int) -> None:
    sources, lengths = [one for one, _ in pairs], [length for _, length in pairs]
    tables = uniform_tables(sources, lengths, seed=seed, draws=2)
    for source, length, table in zip(sources, lengths, tables, strict=True):
        assert (table == uniform_tables([source], [length], seed=seed, draws=2)).all()


def test_they_belong_to_seed_draw_and_source() -> None:
    [[one, other], [another_source, _]] = uniform_tables([[4, 5], [4, 6]], [6, 6], seed=1, draws=2)
    [[same]] = uniform_tables([[4, 5]], [6], seed=1, draws=1)
    [[another_seed]] = uniform_tables([[4, 5]], [6], seed=2, draws=1)
    assert (one == same).all()
    for another in (other, another_source, another_seed):
        assert (one != another).any()
    assert ((one >= 0) & (one < 1)).all()
