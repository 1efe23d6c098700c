import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.decoding.conftest import COPYING
from tests.decoding.searches import beam_search, greedy

from jumok.answers import Answer, NotFiniteError, normalised, ranked
from jumok.decoding.beam import is_done
from jumok.decoding.filters import NEVER, at_least, forbid, no_repeat
from jumok.models.build import build_model
from jumok.text.tokenizer import EOS

SOURCES = st.lists(st.lists(st.integers(4, 6), min_size=1, max_size=5), min_size=1, max_size=5)
ALPHA = st.sampled_from([0.0, 0.6, 1.0, 2.0])
BASE = [forbid(NEVER)]


@settings(max_examples=60, deadline=None)
@given(sources=SOURCES, seed=st.integers(0, 999), whole=st.booleans(), strict=st.booleans(), alpha=ALPHA)
def test_beam_one_is_greedy_search_even_between_equal_scores(
    bench, sources, seed, whole, strict, alpha
) -> None:
    model = bench.toy(seed, whole=whole)
    memory, limits = bench.memory(model, sources), [len(source) + 3 for source in sources]
    filters = [*BASE, no_repeat(2), at_least(2)] if strict else BASE
    beams = beam_search(model, memory, limits, filters, beam=1, length_penalty=alpha)
    assert [beam[0] for beam in beams] == greedy(model, memory, limits, filters)
    assert all(len(beam) == 1 for beam in beams)


@settings(max_examples=20, deadline=None)
@given(sources=SOURCES, seed=st.integers(0, 99), beam=st.integers(2, 4), alpha=ALPHA)
def test_a_model_that_copies_points_at_its_own_source_in_every_beam(
    bench, sources, seed, beam, alpha
) -> None:
    torch.manual_seed(seed)
    model = build_model(COPYING, 7, 7, shared=True).eval()
    memory, limits = bench.memory(model, sources), [len(source) + 3 for source in sources]
    alone = beam_search(model, memory, limits, BASE, beam=1, length_penalty=alpha)
    wide = beam_search(model, memory, limits, BASE, beam=beam, n_best=beam, length_penalty=alpha)
    assert [answer.ids for [answer] in alone] == [
        answer.ids for answer in greedy(model, memory, limits, BASE)
    ]
    for row, answers in enumerate(wide):
        for answer in [*alone[row], *answers]:
            own = bench.own_log_probs(model, memory, row, answer)
            assert answer.log_probs == pytest.approx(own, abs=1e-4)


@settings(max_examples=30, deadline=None)
@given(
    seed=st.integers(0, 999),
    alpha=ALPHA,
    n_best=st.integers(1, 4),
    limits=st.lists(st.integers(1, 4), min_size=1, max_size=3),
)
def test_a_beam_of_full_width_is_exhaustive_search(bench, seed, alpha, n_best, limits) -> None:
    model = bench.toy(seed, vocabulary=7)
    memory = bench.memory(model, [[4 + i] for i in range(len(limits))])
    beams = beam_search(model, memory, limits, BASE, beam=3**4 * 2, n_best=n_best, length_penalty=alpha)
    for row, (limit, beam) in enumerate(zip(limits, beams, strict=True)):
        truth = ranked(bench.every_answer(model, memory, row, limit), alpha)[:n_best]
        assert [answer.ids for answer in beam[: len(truth)]] == [answer.ids for answer in truth]
        for found, true in zip(beam, truth, strict=False):
            assert found.score == pytest.approx(true.score, abs=1e-5)
            assert found.finished == true.finished


@settings(max_examples=40, deadline=None)
@given(sources=SOURCES, seed=st.integers(0, 999), beam=st.integers(1, 6), alpha=ALPHA)
def test_answers_are_sorted_distinct_and_have_the_models_own_scores(
    bench, sources, seed, beam, alpha
) -> None:
    model = bench.toy(seed)
    memory = bench.memory(model, sources)
    found = beam_search(model, memory, [6] * len(sources), BASE, beam=beam, n_best=beam, length_penalty=alpha)
    for row, answers in enumerate(found):
        assert 1 <= len(answers) <= beam
        assert len({(a.ids, a.finished) for a in answers}) == len(answers)
        keys = [(a.finished, normalised(a.score, len(a.log_probs), alpha)) for a in answers]
        assert keys == sorted(keys, reverse=True)
        for answer in answers:
            own = bench.own_log_probs(model, memory, row, answer)
            assert answer.log_probs == pytest.approx(own, abs=1e-6)


@settings(max_examples=40, deadline=None)
@given(sources=SOURCES, seed=st.integers(0, 999), beam=st.integers(1, 5))
def test_a_sentence_gets_the_same_answers_alone_and_in_any_batch(bench, sources, seed, beam) -> None:
    model = bench.toy(seed)
    limits = [len(source) + 3 for source in sources]
    together = beam_search(model, bench.memory(model, sources), limits, BASE, beam=beam, n_best=beam)
    backwards = beam_search(
        model, bench.memory(model, sources[::-1]), limits[::-1], BASE, beam=beam, n_best=beam
    )
    assert together == backwards[::-1]
    for source, limit, answers in zip(sources, limits, together, strict=True):
        [alone] = beam_search(model, bench.memory(model, [source]), [limit], BASE, beam=beam, n_best=beam)
        assert alone == answers


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 999), beam=st.integers(2, 5))
def test_a_wide_beam_with_one_allowed_token_has_no_ghosts(bench, seed, beam) -> None:
    model = bench.toy(seed)
    only_four = [forbid([*NEVER, 5, 6])]
    [answers] = beam_search(model, bench.memory(model, [[4]]), [3], only_four, beam=beam, n_best=beam)
    assert {answer.ids for answer in answers} <= {(), (4,), (4, 4), (4, 4, 4)}
    assert all(math.isfinite(answer.score) for answer in answers)


def test_an_unfinished_answer_comes_only_when_nothing_has_ended(bench) -> None:
    model = bench.toy(1)
    model.table[:, :, EOS] = -20.0
    [answers] = beam_search(model, bench.memory(model, [[4]]), [4], BASE, beam=3)
    assert [answer.finished for answer in answers] == [False] * 3
    assert all(len(answer.ids) == 4 for answer in answers)


def test_the_search_stops_when_no_live_hypothesis_can_win() -> None:
    good = Answer((4,), (-0.1, -0.1), finished=True)
    assert is_done([good], -2.0, 10, beam=5, n_best=1, alpha=1.0)  # -2 / 2.5 < -0.2 / 1.17
    assert not is_done([good], -0.3, 10, beam=5, n_best=1, alpha=1.0)  # -0.12 is still possible
    assert not is_done([good], -2.0, 10, beam=5, n_best=2, alpha=1.0)
    assert is_done([], -math.inf, 10, beam=5, n_best=1, alpha=1.0)
    assert is_done([good] * 5, -0.0, 10, beam=5, n_best=1, alpha=1.0)


def test_a_model_that_gives_nan_is_refused(bench) -> None:
    model = bench.toy(0)
    model.table[(4 + 4 + EOS) % 5] = math.nan
    with pytest.raises(NotFiniteError) as caught:
        beam_search(model, bench.memory(model, [[4], [4, 4], [5]]), [9] * 3, beam=3)
    assert caught.value.sentence == 1
