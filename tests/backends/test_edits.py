"""Edits are values: equal by their numbers. Positions move as they say."""

import numpy as np
import pytest
import torch

from jumok.backends.edits import Edits, PositionEdit
from jumok.nn.edit import AttentionEdit


def test_edits_are_equal_by_their_numbers() -> None:
    one, other = (Edits(bridge=torch.full((1, 1, 2), 0.5)) for _ in range(2))
    assert one == other != Edits(bridge=torch.zeros(1, 1, 2))
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
    assert PositionEdit("shift", by=3).of_source(torch.arange(4), lengths).tolist() == [3, 4, 5, 6]
    assert PositionEdit("shift", by=-2).of_target(torch.arange(4)).tolist() == [0, 0, 0, 1]


def test_no_positions_are_none() -> None:
    edit = PositionEdit("none")
    assert edit.of_source(torch.arange(2), np.array([2])) is edit.of_target(torch.arange(2)) is None


def test_shuffled_positions_are_within_a_sentence_or_a_block() -> None:
    edit = PositionEdit("shuffle", seed=1)
    laid = edit.of_source(torch.zeros(9, dtype=torch.long), np.array([6, 3])).tolist()
    assert sorted(laid[:6]) == list(range(6))
    assert sorted(laid[6:]) == [0, 1, 2]
    target = edit.of_target(torch.arange(16)).tolist()
    assert [p - 8 for p in target[8:]] == target[:8] != list(range(8))
