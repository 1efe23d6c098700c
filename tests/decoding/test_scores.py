import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from jumok.answers import Answer, NotFiniteError, length_penalty, normalised, ranked
from jumok.decoding.scores import check_finite, top


def test_length_penalty_is_one_for_a_single_token() -> None:
    assert length_penalty(1, 0.6) == 1


def test_length_penalty_of_zero_leaves_the_sum() -> None:
    assert normalised(-7.5, 12, 0.0) == -7.5


def test_length_penalty_follows_the_formula() -> None:
    assert length_penalty(7, 1.0) == 2.0  # (5 + 7) / 6
    assert normalised(-6.0, 7, 1.0) == -3.0


def test_a_score_is_the_sum_of_all_log_probabilities() -> None:
    assert Answer((4, 5), (-0.5, -0.25, -1.0), finished=True).score == -1.75


def test_ranking_prefers_finished_then_normalised_scores() -> None:
    long = Answer((4,) * 6, (-0.5,) * 7, finished=True)  # -3.5 / 2 = -1.75
    short = Answer((4,), (-1.0, -1.0), finished=True)  # -2.0 / (7 / 6) = -1.71
    cut = Answer((4, 4), (-0.1, -0.1), finished=False)
    assert ranked([cut, long, short], 1.0) == [short, long, cut]
    assert ranked([cut, short, long], 2.0) == [long, short, cut]


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.lists(st.integers(-3, 0), min_size=6, max_size=6), min_size=1, max_size=4), st.integers(1, 6)
)
def test_top_is_the_beginning_of_a_stable_sort(rows: list[list[int]], k: int) -> None:
    scores = torch.tensor(rows, dtype=torch.float32)
    values, ids = top(scores, k)
    order = [sorted(range(6), key=lambda i, row=row: (-row[i], i))[:k] for row in rows]
    assert ids.tolist() == order
    assert values.tolist() == [[row[i] for i in best] for row, best in zip(rows, order, strict=True)]


def test_top_does_not_mind_forbidden_ties() -> None:
    values, ids = top(torch.tensor([[-math.inf, -2.0, -math.inf, -1.0]]), 3)
    assert ids[0, :2].tolist() == [3, 1]
    assert values.tolist() == [[-1.0, -2.0, -math.inf]]


def test_numbers_that_are_not_finite_name_their_sentence() -> None:
    check_finite(torch.tensor([-1.0, -2.0]), torch.tensor([3, 5]))
    with pytest.raises(NotFiniteError, match="sentence 5 of the batch") as caught:
        check_finite(torch.tensor([-1.0, math.nan]), torch.tensor([3, 5]))
    assert caught.value.sentence == 5
