import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from jumok.answers import Answer, NotFiniteError, length_penalty, normalised, ranked
from jumok.decoding.beam import BeamSearch
from jumok.decoding.filters import NEVER, forbid
from jumok.decoding.greedy import GreedySearch, best
from jumok.decoding.search import check_finite, find_lead, run_search, search_steps, shared_beginning, top

IDS = st.lists(st.lists(st.integers(4, 6), max_size=5).map(tuple), min_size=1, max_size=5)
BASE = [forbid(NEVER)]


def searches():
    return [GreedySearch([6, 4], BASE, best), BeamSearch([6, 4], BASE, beam=3, n_best=3)]


@given(IDS)
def test_the_shared_beginning_is_the_longest_that_all_have(sequences) -> None:
    n = shared_beginning(sequences)
    assert len({sequence[:n] for sequence in sequences}) == 1
    longer = {sequence[: n + 1] for sequence in sequences}
    assert len(longer) > 1 or min(map(len, sequences)) == n


def test_the_lead_is_the_best_of_what_can_still_come_first() -> None:
    live = [
        Answer((4, 5, 6), (-0.1, -0.1, -0.2), finished=False),
        Answer((4, 5, 5), (-3.0,) * 3, finished=False),
    ]
    good = Answer((4, 5), (-0.1, -0.1, -0.9), finished=True)
    poor = Answer((6,), (-5.0, -5.0), finished=True)  # it can no longer win, so nobody waits for it
    lead = find_lead(live, [poor, good], 1.0)
    assert (lead.ids, lead.score, lead.stable) == ((4, 5, 6), pytest.approx(-0.4), 2)
    assert find_lead([], [poor, good], 1.0).stable == 2
    assert find_lead(live, [poor], 1.0).stable == 0


def test_a_search_takes_turns_with_the_model(bench) -> None:
    model = bench.toy(4)
    memory = bench.memory(model, [[4, 5], [6]])
    for plain, looked_at in zip(searches(), searches(), strict=True):
        for steps, _ in enumerate(search_steps(model, memory, looked_at), start=1):
            assert not torch.is_inference_mode_enabled()
            assert looked_at.lead().stable <= len(looked_at.lead().ids) <= steps
        assert looked_at.done
        assert len(looked_at.token) == 0
        assert looked_at.answers() == run_search(model, memory, plain)


def test_nothing_is_selected_when_all_rows_go_on_and_when_none_does(bench) -> None:
    model, selected = bench.toy(0), []
    model.table[:, :, 2] = -9.0  # the end never comes: both sentences are cut off

    class Watched:
        def __init__(self, state):
            self.state = state

        def select(self, rows):
            selected.append(rows.tolist())
            return Watched(self.state.select(rows))

    class Model(type(model)):
        def start(self, memory):
            return Watched(super().start(memory))

        def step(self, token, state):
            logits, state = super().step(token, state.state)
            return logits, Watched(state)

    watching = Model(model.table.data)
    run_search(watching, bench.memory(model, [[4], [5]]), GreedySearch([5, 3], BASE))
    assert selected == [[0]]


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
