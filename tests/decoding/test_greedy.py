import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.decoding.searches import greedy

from jumok.answers import NotFiniteError
from jumok.decoding.filters import NEVER, forbid
from jumok.decoding.greedy import (
    HEAD,
    GreedySearch,
    draw,
    draw_sorted,
    keep_top_k,
    keep_top_p,
    sampler,
)
from jumok.decoding.search import run_search, search_steps, shared_beginning
from jumok.decoding.uniforms import uniform_tables
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
    [numbers] = uniform_tables([[4, 5]], [8], seed=seed, draws=draws)
    pick = sampler(list(numbers), temperature=0.5, top_k=0, top_p=1.0)
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


FALLING = torch.tensor([[0.5, 0.25, 0.125, 0.125]])


def sampled(bench, model, sources, *, seed, temperature=1.0, top_k=0, top_p=1.0):
    numbers = [table[0] for table in uniform_tables(sources, [8] * len(sources), seed=seed, draws=1)]
    pick = sampler(numbers, temperature=temperature, top_k=top_k, top_p=top_p)
    return greedy(model, bench.memory(model, sources), [8] * len(sources), [forbid(NEVER)], pick)


def test_top_k_keeps_the_first_k() -> None:
    assert keep_top_k(FALLING, 2).tolist() == [[0.5, 0.25, 0, 0]]
    assert keep_top_k(FALLING, 0) is FALLING


def test_top_p_keeps_the_fewest_that_reach_p() -> None:
    assert keep_top_p(FALLING, 0.5).tolist() == [[0.5, 0, 0, 0]]
    assert keep_top_p(FALLING, 0.51).tolist() == [[0.5, 0.25, 0, 0]]
    assert keep_top_p(FALLING, 0.01).tolist() == [[0.5, 0, 0, 0]]
    assert keep_top_p(FALLING, 1.0) is FALLING


def test_top_p_counts_what_top_k_has_left() -> None:
    assert keep_top_p(keep_top_k(FALLING, 2), 0.6).tolist() == [[0.5, 0, 0, 0]]  # 0.5 of 0.75


def test_draw_inverts_the_distribution_function() -> None:
    log_probs = torch.tensor([[0.25, 0.5, 0.25]]).log().expand(4, 3)
    uniform = torch.tensor([0.0, 0.49, 0.51, 0.99], dtype=torch.float64)
    assert draw(log_probs, uniform).tolist() == [1, 1, 0, 2]  # best first, then by id


@settings(max_examples=30, deadline=None)
@given(temperature=st.sampled_from([0.5, 1.0, 2.0]), seed=st.integers(0, 99))
def test_draws_have_the_frequencies_of_the_distribution(temperature, seed) -> None:
    log_probs = torch.randn(1, 5, generator=torch.Generator().manual_seed(seed)).log_softmax(1)
    uniform = (torch.arange(20_000, dtype=torch.float64) + 0.5) / 20_000
    drawn = draw(log_probs.expand(20_000, 5), uniform, temperature=temperature)
    share = torch.bincount(drawn, minlength=5) / 20_000
    torch.testing.assert_close(share, (log_probs[0] / temperature).softmax(0), atol=2e-4, rtol=0)


@settings(max_examples=40, deadline=None)
@given(
    spread=st.sampled_from([0.0, 0.1, 1.0, 4.0]),
    size=st.sampled_from([HEAD, HEAD + 1, 4 * HEAD]),
    seed=st.integers(0, 99),
)
def test_a_draw_from_the_head_is_that_from_the_whole_order(spread: float, size: int, seed: int) -> None:
    """A flat distribution lies mostly beyond the head, a steep one inside."""
    numbers = torch.Generator().manual_seed(seed)
    falling = torch.linspace(0, -1e-3, size)[torch.randperm(size, generator=numbers)]  # no two alike
    log_probs = (falling + spread * torch.randn(9, size, generator=numbers)).log_softmax(1)
    uniform = torch.rand(9, generator=numbers, dtype=torch.float64)
    whole = draw_sorted(log_probs.double() / 0.7, uniform)
    assert draw(log_probs, uniform, temperature=0.7).tolist() == whole.tolist()


def test_forbidden_pieces_are_never_drawn() -> None:
    log_probs = torch.tensor([[-torch.inf, 0.0, -torch.inf, -40.0]]).expand(1000, 4)
    drawn = draw(log_probs, torch.rand(1000, dtype=torch.float64), temperature=20.0)
    assert set(drawn.tolist()) == {1, 3}


@settings(max_examples=30, deadline=None)
@given(sources=SOURCES, seed=st.integers(0, 999), whole=st.booleans())
def test_top_1_is_greedy_search(bench, sources, seed, whole) -> None:
    model = bench.toy(seed, whole=whole)
    plain = greedy(model, bench.memory(model, sources), [8] * len(sources), [forbid(NEVER)])
    assert sampled(bench, model, sources, seed=seed, temperature=3.0, top_k=1) == plain


@settings(max_examples=30, deadline=None)
@given(sources=SOURCES, seed=st.integers(0, 999))
def test_a_draw_depends_on_its_own_sentence_only(bench, sources, seed) -> None:
    model = bench.toy(seed)
    together = sampled(bench, model, sources, seed=seed, top_p=0.9)
    assert together == sampled(bench, model, sources[::-1], seed=seed, top_p=0.9)[::-1]
    for source, answer in zip(sources, together, strict=True):
        assert sampled(bench, model, [source], seed=seed, top_p=0.9) == [answer]


def test_sampling_reports_the_models_own_scores(bench) -> None:
    model = bench.toy(3)
    memory = bench.memory(model, [[4, 5]])
    [answer] = sampled(bench, model, [[4, 5]], seed=1, temperature=2.5)
    assert answer.log_probs == pytest.approx(bench.own_log_probs(model, memory, 0, answer), abs=1e-6)


def test_seeds_differ(bench) -> None:
    model = bench.toy(3)
    assert len({sampled(bench, model, [[4, 5]], seed=seed)[0].ids for seed in range(20)}) > 5
