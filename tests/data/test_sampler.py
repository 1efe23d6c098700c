"""Laws of the order of batches."""

import time
from itertools import islice

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from jumok.data.sampler import Cursor, epoch_batches, stream
from jumok.errors import DataError

Lengths = tuple[NDArray[np.int32], NDArray[np.int32]]


@st.composite
def lengths(draw: st.DrawFn) -> Lengths:
    sides = draw(st.lists(st.tuples(st.integers(1, 30), st.integers(1, 30)), min_size=1, max_size=80))
    source, target = np.array(sides, dtype=np.int32).T
    return source, target


def cost(batch: NDArray[np.int64], sides: Lengths) -> int:
    return len(batch) * int(sides[0][batch].max() + 1 + sides[1][batch].max() + 1)


@settings(deadline=None)
@given(sides=lengths(), budget=st.integers(1, 300), seed=st.integers(0, 9), epoch=st.integers(0, 5))
def test_each_pair_once_and_no_batch_above_the_budget(
    sides: Lengths, budget: int, seed: int, epoch: int
) -> None:
    batches = epoch_batches(*sides, budget=budget, seed=seed, epoch=epoch)
    assert sorted(np.concatenate(batches)) == list(range(len(sides[0])))
    assert all(cost(batch, sides) <= budget or len(batch) == 1 for batch in batches)


@settings(deadline=None)
@given(sides=lengths(), budget=st.integers(60, 300), world=st.integers(2, 5))
def test_ranks_share_an_epoch_evenly(sides: Lengths, budget: int, world: int) -> None:
    pairs = len(sides[0])
    if pairs < world:
        with pytest.raises(DataError, match=f"{pairs} pairs cannot be shared by {world} processes"):
            epoch_batches(*sides, budget=budget, seed=1, epoch=0, world=world)
        return
    ranks = [
        epoch_batches(*sides, budget=budget, seed=1, epoch=0, rank=rank, world=world) for rank in range(world)
    ]
    assert len({len(batches) for batches in ranks}) == 1
    every = [batch for batches in ranks for batch in batches]
    assert all(cost(batch, sides) <= budget or len(batch) == 1 for batch in every)
    read = np.concatenate(every)
    assert set(read) == set(range(pairs))
    if len(read) > pairs:  # only when halving cannot help: all batches are single pairs
        assert all(len(batch) == 1 for batch in every)
        assert len(read) - pairs < world


@settings(deadline=None)
@given(sides=lengths(), budget=st.integers(20, 300), start=st.integers(0, 40), world=st.sampled_from([1, 2]))
def test_going_on_from_any_cursor_equals_never_having_stopped(
    sides: Lengths, budget: int, start: int, world: int
) -> None:
    if len(sides[0]) < world:
        return

    def read(cursor: Cursor, count: int) -> list[tuple[list[int], Cursor]]:
        batches = stream(*sides, budget=budget, seed=3, cursor=cursor, rank=world - 1, world=world)
        return [(batch.tolist(), after) for batch, after in islice(batches, count)]

    unbroken = read(Cursor(), start + 8)
    resumed = read(unbroken[start - 1][1] if start else Cursor(), 8)
    assert resumed == unbroken[start:]


def test_a_stream_is_its_epochs_end_to_end() -> None:
    sides = np.arange(1, 50), np.arange(1, 50)
    first, second = (epoch_batches(*sides, budget=100, seed=1, epoch=epoch) for epoch in (0, 1))
    batches = [
        batch.tolist() for batch, _ in islice(stream(*sides, budget=100, seed=1), len(first) + len(second))
    ]
    assert batches == [batch.tolist() for batch in [*first, *second]]


def test_epochs_and_seeds_differ_and_repeat() -> None:
    sides = np.arange(1, 60), np.arange(1, 60)

    def order(seed: int, epoch: int) -> list[list[int]]:
        return [batch.tolist() for batch in epoch_batches(*sides, budget=150, seed=seed, epoch=epoch)]

    assert order(1, 0) == order(1, 0)
    assert order(1, 0) != order(1, 1)
    assert order(1, 0) != order(2, 0)


def test_pairs_of_equal_length_meet_other_neighbours_in_the_next_epoch() -> None:
    sides = np.full(64, 5), np.full(64, 5)
    first, second = (
        {frozenset(batch.tolist()) for batch in epoch_batches(*sides, budget=96, seed=1, epoch=epoch)}
        for epoch in (0, 1)
    )
    assert not first & second


def test_the_order_is_the_same_in_every_version() -> None:
    sides = np.full(8, 4), np.full(8, 4)
    batches = epoch_batches(*sides, budget=30, seed=42, epoch=3)
    assert [batch.tolist() for batch in batches] == [[0, 6, 5], [4, 2], [1, 3, 7]]


def test_batches_have_little_padding_and_two_million_pairs_take_seconds() -> None:
    chance = np.random.default_rng(0)
    source = np.clip(chance.lognormal(3, 0.5, 2_000_000), 1, 128).astype(np.int32)
    target = np.clip(source * chance.lognormal(0.1, 0.25, len(source)), 1, 128).astype(np.int32)
    began = time.process_time()
    batches = epoch_batches(source, target, budget=8192, seed=1, epoch=0)
    assert time.process_time() - began < 10
    padded = sum(cost(batch, (source, target)) for batch in batches)
    assert (source + target + 2).sum() / padded > 0.99


def test_no_pairs_are_refused() -> None:
    none = np.array([], dtype=np.int32)
    with pytest.raises(DataError, match="0 pairs cannot be shared by 1 processes\n  the data has no pairs"):
        epoch_batches(none, none, budget=10, seed=1, epoch=0)
