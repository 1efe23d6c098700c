import json
import math
from collections import Counter
from typing import Any

import jsonschema_rs
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.decoding.conftest import COPYING
from tests.decoding.searches import beam_search, greedy

from jumok.answers import Answer, NotFiniteError, normalised, ranked
from jumok.decoding.batched import USUAL
from jumok.decoding.beam import BeamSearch, BeamTree, is_done
from jumok.decoding.constraints import Constraint
from jumok.decoding.filters import NEVER, at_least, forbid, no_repeat
from jumok.decoding.jobs import Phrase, Spelling, make_request
from jumok.decoding.search import run_search
from jumok.errors import ConfigError
from jumok.explain.documents import BeamDocument
from jumok.models.build import build_model
from jumok.text.specials import FIRST_BYTE
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


SCHEMA = BeamDocument.model_json_schema()


def record(bench, seed: int, beam: int, alpha: float, limit: int = 6):
    """The answers of one search and its tree."""
    model, tree = bench.toy(seed, 9), BeamTree(beam, alpha)
    memory = bench.memory(model, [[4, 5]])
    plain = BeamSearch([limit], BASE, beam=beam, n_best=beam, length_penalty=alpha)
    recorded = BeamSearch([limit], BASE, beam=beam, n_best=beam, length_penalty=alpha, record=tree)
    answers = run_search(model, memory, recorded)
    assert answers == run_search(model, memory, plain)
    return answers[0], tree


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 999), beam=st.integers(1, 5), alpha=st.sampled_from([0.0, 0.6, 1.0]))
def test_recording_changes_nothing_and_every_number_recomputes(bench, seed, beam, alpha) -> None:
    answers, tree = record(bench, seed, beam, alpha)
    for n, node in enumerate(tree.nodes[1:], start=1):
        parent = tree.nodes[node.parent]
        assert node.parent < n
        assert node.t == parent.t + 1
        assert parent.state == "expanded"
        assert node.score == parent.score + node.logprob
        assert node.norm == normalised(node.score, node.t + 1, alpha)
    path = [tree.nodes[n].id for n in tree.chosen[1:]]
    best = answers[0]
    assert path == [*best.ids, *([EOS] if best.finished else [])]
    assert [tree.nodes[n].logprob for n in tree.chosen[1:]] == list(best.log_probs)
    assert 0 <= tree.stable_prefix <= len(best.ids)


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 999), beam=st.integers(1, 5))
def test_every_step_keeps_a_beam_and_three_rejected_ways_of_each_hypothesis(bench, seed, beam) -> None:
    _, tree = record(bench, seed, beam, 1.0)
    live = Counter(node.t for node in tree.nodes if node.state == "expanded")
    assert all(count <= beam for count in live.values())
    for n, node in enumerate(tree.nodes):
        ways = [other for other in tree.nodes if other.parent == n]
        if not ways:
            continue
        assert node.state == "expanded"
        assert [way.rank for way in ways] == sorted(way.rank for way in ways)
        rejected = [way for way in ways if way.state == "pruned"]
        # Six pieces of the toy are allowed.
        assert len(rejected) == min(3, 6 - len(ways) + len(rejected))
    for t in range(max(node.t for node in tree.nodes)):
        places = [node.beam for node in tree.nodes if node.t == t and node.beam is not None]
        assert sorted(places) == list(range(len(places)))


@pytest.mark.parametrize("options", [{"beam": 1}, {"beam": 4}, {"beam": 3, "prefix": "봤다", "ban": ["a"]}])
def test_the_tree_of_a_translation_has_its_tokens_and_follows_the_schema(translator, options) -> None:
    request = make_request(translator.config.decoding, options)
    [[job]] = translator.jobs(["the dog sees"], request)
    tree = BeamTree(request.decoding.beam, request.decoding.length_penalty)
    run_alone(translator, job, translator.search_for(job, request, record=tree))
    made = json.loads(json.dumps(tree.to_dict(translator.tokenizers.target), allow_nan=False))
    assert jsonschema_rs.is_valid(SCHEMA, made)
    assert not jsonschema_rs.is_valid(SCHEMA, {**made, "nodes": [{**made["nodes"][0], "state": "lost"}]})
    nodes = made["nodes"]
    assert [node["n"] for node in nodes] == list(range(len(nodes)))
    assert (nodes[0]["text"], nodes[0]["parent"], nodes[0]["t"], nodes[0]["norm"]) == ("<s>", None, -1, 0)
    expected = translator.translate("the dog sees", **options)
    chosen = [nodes[n] for n in made["chosen"]][1:]
    assert {node["state"] for node in chosen} == {"chosen"}
    assert [(node["id"], node["text"]) for node in chosen] == [(t.id, t.text) for t in expected.tokens]
    assert chosen[-1]["score"] == pytest.approx(expected.score, abs=1e-5)
    assert made["dropped_candidates"] == "top 3 per hypothesis"


def run_alone(translator, job, search) -> None:
    from jumok.decoding.batched import encode

    run_search(translator.model, encode(translator.model, [job], [1]), search)


def test_a_tree_is_of_one_sentence_and_of_a_beam(luong) -> None:
    with pytest.raises(ValueError, match="a tree records one sentence, not 2"):
        BeamSearch([4, 5], beam=2, record=BeamTree(2, 1.0))
    request = make_request(luong.config.decoding, {"sample": True})
    [[job]] = luong.jobs(["a"], request)
    with pytest.raises(ConfigError, match="drawn at random has no beam tree\n  set sample to false"):
        luong.search_for(job, request, record=BeamTree(5, 1.0))


@settings(max_examples=30, deadline=None)
@given(
    seed=st.integers(0, 999),
    beam=st.integers(1, 4),
    limits=st.lists(st.integers(1, 6), min_size=1, max_size=3),
    more=st.integers(0, 2),
)
def test_a_search_that_is_handed_the_best_tokens_of_each_row_goes_the_same_way(
    seed, beam, limits, more
) -> None:
    """Twice as many as the beam is wide are enough, and more change nothing."""
    generator = torch.Generator().manual_seed(seed)
    plain, handed = (BeamSearch(limits, beam=beam, n_best=beam) for _ in range(2))
    while not plain.done:
        log_probs = torch.randn(len(plain.tokens), 12, generator=generator).log_softmax(dim=1)
        values, ids = log_probs.topk(2 * beam + more)
        rows = plain.advance(log_probs)
        wanted = list(range(len(log_probs))) if rows is None else rows.tolist()
        assert handed.advance_with(log_probs, values.tolist(), ids.tolist()) == wanted
        assert handed.tokens == plain.tokens
    assert handed.done
    for found, others in zip(handed.answers(), plain.answers(), strict=True):
        assert [(one.ids, one.finished) for one in found] == [(one.ids, one.finished) for one in others]


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 999), alpha=ALPHA, limit=st.integers(2, 4), soft=st.booleans())
def test_a_beam_of_full_width_finds_the_best_answer_that_has_a_phrase(
    bench, seed, alpha, limit, soft
) -> None:
    pieces = [b"", b"", b"", b"", b"a", b"b", b" c"]
    wanted = Phrase((Spelling("ab", (4, 5)),), soft=soft)
    constraint = Constraint((wanted,), pieces, 3**4 * 2)
    model = bench.toy(seed, vocabulary=7)
    memory = bench.memory(model, [[4]])
    [[best, *_]] = beam_search(
        model, memory, [limit], BASE, beam=3**4 * 2, length_penalty=alpha, constraints=[constraint]
    )
    every = list(bench.every_answer(model, memory, 0, limit))
    having = [one for one in every if b"ab" in b"".join(pieces[token] for token in one.ids)]
    truth = constraint.ranked(every if soft else having, alpha)[0]
    assert best.ids == truth.ids
    assert best.score == pytest.approx(truth.score, abs=1e-5)


def test_the_best_tokens_are_wanted_only_where_the_usual_filter_changes_nothing() -> None:
    def wanted(limit: int = 9, filters: Any = (USUAL,), token: int | None = None, **more: Any) -> int:
        search = BeamSearch([limit], filters, beam=3, **more)
        if token is not None:
            search.tokens = [token]
        return search.wants(USUAL)

    assert wanted() == 6
    assert wanted(filters=()) == wanted(filters=(USUAL, at_least(2))) == 0
    assert wanted(record=BeamTree(3, 1.0)) == 0
    assert wanted(token=FIRST_BYTE + 0x41) == 6
    assert wanted(token=FIRST_BYTE + 0xC3) == 0  # a character that goes on
    assert [wanted(limit) for limit in (3, 4)] == [0, 6]  # a character may take four tokens
    wish = Constraint((Phrase((Spelling("a", (300,)),)),), [], 3)
    assert wanted(constraints=[wish]) == 0
