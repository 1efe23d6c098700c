import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.decoding.searches import greedy

from jumok.answers import NotFiniteError
from jumok.decoding.filters import NEVER, forbid
from jumok.decoding.greedy import GreedySearch
from jumok.decoding.sample import sampler, uniforms
from jumok.decoding.search import run_search, search_steps, shared_beginning
from jumok.models.sentences import Sentences
from jumok.text.tokenizer import BOS, EOS

SOURCES = st.lists(st.lists(st.integers(4, 6), min_size=1, max_size=5), min_size=1, max_size=5)


def one_by_one(bench, model, source, limit):
    """The obvious search: run the whole prefix again for every token."""
    memory, ids = bench.memory(model, [source]), []
    while len(ids) < limit:
        target_in = Sentences.lay([[BOS, *ids]], torch.device("cpu"))
        log_probs = model.decode(target_in, memory).logits()[-1].log_softmax(-1)
        log_probs[list(NEVER)] = -math.inf
        token = int(log_probs.argmax())
        if token == EOS:
            return tuple(ids), True
        ids.append(token)
    return tuple(ids), False


@settings(max_examples=40, deadline=None)
@given(sources=SOURCES, seed=st.integers(0, 999))
def test_greedy_takes_the_best_token_at_every_step(bench, sources, seed) -> None:
    model = bench.toy(seed)
    limits = [len(source) + 3 for source in sources]
    answers = greedy(model, bench.memory(model, sources), limits, [forbid(NEVER)])
    for source, limit, answer in zip(sources, limits, answers, strict=True):
        assert (answer.ids, answer.finished) == one_by_one(bench, model, source, limit)


@settings(max_examples=40, deadline=None)
@given(sources=SOURCES, seed=st.integers(0, 999))
def test_the_score_is_the_models_own(bench, sources, seed) -> None:
    model = bench.toy(seed)
    memory = bench.memory(model, sources)
    for row, answer in enumerate(greedy(model, memory, [6] * len(sources), [forbid(NEVER)])):
        assert answer.log_probs == pytest.approx(bench.own_log_probs(model, memory, row, answer), abs=1e-6)


def test_the_limit_counts_the_end_and_marks_what_it_cuts(bench) -> None:
    model = bench.toy(0)
    model.table[:, :, EOS] = -9.0
    [answer] = greedy(model, bench.memory(model, [[4]]), [5], [forbid(NEVER)])
    assert (len(answer.ids), len(answer.log_probs), answer.finished) == (5, 5, False)
    model.table[:, :, EOS] = 9.0
    [answer] = greedy(model, bench.memory(model, [[4]]), [1], [forbid(NEVER)])
    assert (answer.ids, len(answer.log_probs), answer.finished) == ((), 1, True)


def drawn(seed: int, draws: int, choose=None) -> GreedySearch:
    numbers = [uniforms([4, 5], 8, seed=seed, draw=draw) for draw in range(draws)]
    pick = sampler(numbers, temperature=0.5, top_k=0, top_p=1.0)
    return GreedySearch([8] * draws, [forbid(NEVER)], pick, draws=draws, choose=choose)


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 999), draws=st.integers(2, 5), data=st.data())
def test_of_draws_that_are_chosen_at_the_end_only_what_all_share_is_stable(bench, seed, draws, data) -> None:
    model = bench.toy(seed, 9, spread=3.0)
    memory = bench.memory(model, [[4, 5]] * draws)
    [by_probability] = run_search(model, memory, drawn(seed, draws))
    order = data.draw(st.permutations(range(draws)))
    search = drawn(seed, draws, choose=lambda best_first: [best_first[place] for place in order])
    shared = shared_beginning([one.ids for one in by_probability])
    for _ in search_steps(model, memory, search):
        lead = search.lead()
        if not search.done:
            assert lead.stable <= shared
            assert lead.ids[: lead.stable] == by_probability[0].ids[: lead.stable]
    assert search.answers() == [[by_probability[place] for place in order]]
    best = by_probability[order[0]]
    assert (lead.ids, lead.score, lead.stable) == (best.ids, best.score, len(best.ids))


def test_a_draw_that_ended_counts_as_much_as_one_that_goes_on() -> None:
    """Two have ended and differ, one goes on like the more probable of them: nothing is sure yet."""
    tokens = iter([[4, 5, 4], [EOS, EOS, 6]])

    def pick(allowed: torch.Tensor, rows: object) -> torch.Tensor:
        return torch.tensor(next(tokens))

    likely = torch.zeros(3, 9)
    likely[0, 4] = 5.0  # the first draw is by far the most probable
    search = GreedySearch([8] * 3, (), pick, draws=3, choose=lambda best_first: list(best_first)[::-1])
    for logits in (likely, torch.zeros(3, 9)):
        search.advance(logits.log_softmax(dim=1))
    assert not search.done
    assert search.lead().ids == (4,)
    assert search.lead().stable == 0


def test_no_sentences_give_no_answers(bench) -> None:
    model = bench.toy(0)
    memory = bench.memory(model, [[4]]).select(torch.tensor([], dtype=torch.long))
    assert greedy(model, memory, []) == []


def test_a_model_that_gives_nan_is_refused(bench) -> None:
    model = bench.toy(0)
    model.table[(4 + 4 + EOS) % 5] = math.nan  # the mood of the second source
    with pytest.raises(NotFiniteError) as caught:
        greedy(model, bench.memory(model, [[4], [4, 4], [5]]), [9] * 3)
    assert caught.value.sentence == 1
