import json
from collections import Counter

import jsonschema_rs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jumok.answers import normalised
from jumok.decoding.beam import BeamSearch
from jumok.decoding.filters import NEVER, forbid
from jumok.decoding.jobs import make_request
from jumok.decoding.search import run_search
from jumok.decoding.tree import BeamTree
from jumok.errors import ConfigError
from jumok.explain.documents import BeamDocument
from jumok.text.tokenizer import EOS

SCHEMA = BeamDocument.model_json_schema()
BASE = [forbid(NEVER)]


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
