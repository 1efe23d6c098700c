"""Indices of packed batches: every token once, in order of time, longest sentence first."""

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st

from jumok.data.batch import Packed, Room, pack_pairs
from jumok.models.steps import sides_of, spread, steps_of, tables_of, to_device, trip_of

lengths = st.lists(st.integers(1, 12), min_size=1, max_size=9)
pairs = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40)), min_size=1, max_size=9)


def packed(sizes: list[tuple[int, int]]) -> Packed:
    """Pairs of these lengths; ids tell the sentence and the place: 100 · sentence + place."""
    sources = [[100 * (i + 1) + t for t in range(s)] for i, (s, _) in enumerate(sizes)]
    targets = [[100 * (i + 1) + t for t in range(t)] for i, (_, t) in enumerate(sizes)]
    return pack_pairs(sources, targets, Room(512, 512))


def test_the_example_of_the_docstring() -> None:
    steps = steps_of(np.array([2, 3, 1]))  # a, b, c
    laid_out = np.array(["a0", "a1", "b0", "b1", "b2", "c0"])
    assert laid_out[steps.place].tolist() == ["b0", "a0", "c0", "b1", "a1", "b2"]
    assert steps.sizes.tolist() == [3, 2, 1]
    assert steps.sentences.tolist() == [1, 0, 2]


@given(lengths)
def test_order_of_time_is_a_permutation_with_the_longest_first(sizes: list[int]) -> None:
    steps = steps_of(np.array(sizes))
    assert sorted(steps.place) == list(range(sum(sizes)))
    assert (np.diff(steps.sizes) <= 0).all()
    assert steps.sizes.sum() == sum(sizes)
    assert len(steps.sizes) == max(sizes)
    assert sorted(zip(steps.time, steps.rank, strict=True)) == list(zip(steps.time, steps.rank, strict=True))
    begins = np.cumsum(sizes) - sizes
    assert (begins[steps.sentences[steps.rank]] + steps.time == steps.place).all()


@given(pairs)
def test_the_bridge_leads_from_each_target_to_its_own_source(sizes: list[tuple[int, int]]) -> None:
    batch = packed(sizes)
    sides = sides_of(batch)
    trip, source, target = trip_of(sides), sides.source, sides.target
    assert (source.sentences[trip.bridge.numpy()] == target.sentences).all()
    assert batch.source[trip.source].tolist() == batch.source.numpy()[source.place].tolist()
    assert trip.target_sizes.dtype == torch.int64


@given(pairs, st.booleans())
def test_tables_hold_each_pair_in_one_row(sizes: list[tuple[int, int]], one: bool) -> None:  # noqa: FBT001
    batch = packed(sizes)
    sides = sides_of(batch)
    trip, tables = trip_of(sides), tables_of(sides, one=one)
    sources = tables.source(batch.source[trip.source][:, None])
    targets = tables.target(batch.target_out[trip.target][:, None])
    seen = []
    for source, target, real in zip(sources, targets, tables.lengths, strict=True):
        assert (real[:, None] > torch.arange(source.shape[1])).eq(source[:, :, 0] != 0).all()
        shortest = (target[:, :, 0] != 0).sum(dim=1).min()
        assert one or 2 * shortest > target.shape[1]
        for x, y in zip(source[:, :, 0].tolist(), target[:, :, 0].tolist(), strict=True):
            seen.append(([i for i in x if i > 3], [i for i in y if i > 3]))
    expected = [
        ([100 * (i + 1) + t for t in range(s)], [100 * (i + 1) + t for t in range(t)])
        for i, (s, t) in enumerate(sizes)
    ]
    assert sorted(seen) == sorted(expected)
    assert len(sources) == 1 or not one


def test_a_batch_without_sentences_goes_through_with_one_filler_a_side() -> None:
    sides = sides_of(Packed.empty(Room(64, 64)))
    trip, tables = trip_of(sides), tables_of(sides)
    assert trip.source.tolist() == trip.target.tolist() == trip.bridge.tolist() == [0]
    assert tables.source_shapes == tables.target_shapes == ((1, 1),)


def test_spread_rows_are_picked_by_their_gradient() -> None:
    x = torch.randn(3, 2, requires_grad=True)
    places = torch.tensor([4, 0, 2])
    y = spread(x, places, 5)
    assert torch.equal(y[places], x)
    assert not y[[1, 3]].any()
    gradient = torch.randn(5, 2)
    y.backward(gradient)
    assert torch.equal(x.grad, gradient[places])


def test_arrays_come_apart_as_they_were_joined() -> None:
    one, other = to_device(torch.device("cpu"), np.arange(3), np.arange(2))
    assert (one.tolist(), other.tolist()) == ([0, 1, 2], [0, 1])
