import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.decoding.searches import greedy

from jumok.decoding.filters import NEVER, forbid
from jumok.decoding.sample import HEAD, draw, draw_sorted, keep_top_k, keep_top_p, sampler, uniforms

FALLING = torch.tensor([[0.5, 0.25, 0.125, 0.125]])
SOURCES = st.lists(st.lists(st.integers(4, 6), min_size=1, max_size=5), min_size=1, max_size=5)


def sampled(bench, model, sources, *, seed, temperature=1.0, top_k=0, top_p=1.0):
    numbers = [uniforms(source, 8, seed=seed, draw=0) for source in sources]
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


def test_random_numbers_belong_to_seed_draw_and_source() -> None:
    one = uniforms([4, 5], 6, seed=1, draw=0)
    assert torch.equal(one, uniforms([4, 5], 6, seed=1, draw=0))
    for other in (
        uniforms([4, 6], 6, seed=1, draw=0),
        uniforms([4, 5], 6, seed=2, draw=0),
        uniforms([4, 5], 6, seed=1, draw=1),
    ):
        assert not torch.equal(one, other)
    assert ((one >= 0) & (one < 1)).all()


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
