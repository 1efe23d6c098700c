import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from jumok.answers import Answer
from jumok.decoding.beam import BeamSearch
from jumok.decoding.filters import NEVER, forbid
from jumok.decoding.greedy import GreedySearch, best
from jumok.decoding.search import find_lead, run_search, search_steps, shared_beginning

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
