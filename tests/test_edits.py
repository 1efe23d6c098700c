"""Edits are values: equal by their numbers. Positions move as they say."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from jumok.edits import AttentionEdit, Edits, PositionEdit, exchanged, permutation, shuffled


def test_edits_are_equal_by_their_numbers() -> None:
    one, other = (Edits(bridge=np.full((1, 1, 2), 0.5)) for _ in range(2))
    assert one == other != Edits(bridge=np.zeros((1, 1, 2)))
    assert Edits() == Edits({}) != one
    assert Edits({("cross", 0): AttentionEdit(uniform=(0,))}) != Edits(
        {("cross", 1): AttentionEdit(uniform=(0,))}
    )
    assert Edits(source_positions=PositionEdit("none")) != Edits(target_positions=PositionEdit("none"))
    assert Edits() != "no edits"
    with pytest.raises(TypeError):
        hash(one)


def test_shifted_positions_are_those_of_later_tokens_and_never_below_zero() -> None:
    lengths = np.array([4])
    assert PositionEdit("shift", by=3).of_source(np.arange(4), lengths).tolist() == [3, 4, 5, 6]
    assert PositionEdit("shift", by=-2).of_target(np.arange(4)).tolist() == [0, 0, 0, 1]


def test_no_positions_are_none() -> None:
    edit = PositionEdit("none")
    assert edit.of_source(np.arange(2), np.array([2])) is edit.of_target(np.arange(2)) is None


def test_shuffled_positions_are_within_a_sentence_or_a_block() -> None:
    edit = PositionEdit("shuffle", seed=1)
    laid = edit.of_source(np.zeros(9, dtype=np.int64), np.array([6, 3])).tolist()
    assert sorted(laid[:6]) == list(range(6))
    assert sorted(laid[6:]) == [0, 1, 2]
    target = edit.of_target(np.arange(16)).tolist()
    assert [p - 8 for p in target[8:]] == target[:8] != list(range(8))


@settings(max_examples=20, deadline=None)
@given(lengths=st.lists(st.integers(1, 9), min_size=1, max_size=4), seed=st.integers(0, 99))
def test_shuffling_permutes_each_sentence_by_its_length_alone(lengths: list[int], seed: int) -> None:
    together = shuffled(np.array(lengths), seed)
    for own, n in zip(np.split(together, np.cumsum(lengths)[:-1]), lengths, strict=True):
        assert sorted(own.tolist()) == list(range(n))
        assert np.array_equal(own, shuffled(np.array([n]), seed))


def test_the_seed_decides_the_order() -> None:
    orders = {tuple(shuffled(np.array([9]), seed).tolist()) for seed in range(5)}
    assert len(orders) == 5


@settings(max_examples=20, deadline=None)
@given(first=st.integers(0, 40), seed=st.integers(0, 99))
def test_exchanging_stays_within_blocks_of_eight_and_knows_no_end(first: int, seed: int) -> None:
    everything = exchanged(np.arange(48), seed)
    for block in range(0, 48, 8):
        assert sorted(everything[block : block + 8].tolist()) == list(range(block, block + 8))
    assert np.array_equal(exchanged(np.array([first, 0]), seed), everything[[first, 0]])


@settings(max_examples=30, deadline=None)
@given(count=st.integers(1, 700), seed=st.integers(0, 2**31 - 1))
def test_a_permutation_is_the_one_that_torch_draws(count: int, seed: int) -> None:
    """What a trace was made with once comes out again, with torch and without."""
    theirs = torch.randperm(count, generator=torch.Generator().manual_seed(seed))
    assert permutation(count, seed).tolist() == theirs.tolist()


def test_a_block_that_a_table_cuts_off_stays_as_it_is() -> None:
    """Of 21 rows two blocks are whole: those are exchanged as ever."""
    everything = exchanged(np.arange(24), 1)
    assert not np.array_equal(everything[16:], np.arange(16, 24))
    cut = exchanged(np.arange(21), 1, 21)
    assert np.array_equal(cut[:16], everything[:16])
    assert np.array_equal(cut[16:], np.arange(16, 21))
    assert np.array_equal(exchanged(np.arange(24), 1, 24), everything)
