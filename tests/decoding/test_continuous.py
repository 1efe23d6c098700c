import copy
from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.decoding.conftest import untrained

from jumok.answers import NotFiniteError
from jumok.backends.torch import TorchBackend
from jumok.config import TransformerConfig
from jumok.decoding.beam import BeamSearch
from jumok.decoding.continuous import Continuous
from jumok.decoding.filters import NEVER, forbid
from jumok.decoding.jobs import Job, make_request
from jumok.decoding.search import run_search
from jumok.decoding.translator import Translator
from jumok.text.tokenizer import EOS

TEXTS = ["a", "a man", "the dog sees a man!", "나는 영화를", "one two three", "two 😀", "man man dog"]
OPTIONS = [
    *({"beam": beam} for beam in (1, 2, 5)),
    {"beam": 3, "n_best": 3, "length_penalty": 0.3},
    {"beam": 4, "prefix": "봤다", "no_repeat_ngram": 2},
    {"beam": 2, "ban": ["a", "는"], "min_len": 3},
    {"beam": 3, "require": ["12"], "max_len": 20},
    {"sample": True, "n_best": 3, "seed": 7},
]
PLAN = st.lists(
    st.tuples(
        st.integers(0, 3),  # steps before it arrives
        st.sampled_from(TEXTS),
        st.sampled_from(OPTIONS),
        st.one_of(st.none(), st.none(), st.integers(0, 4)),  # steps until it is cancelled
    ),
    min_size=1,
    max_size=6,
)


@pytest.fixture(scope="module")
def exact(translator):
    """A translator that computes in float64, so that the size of a batch changes no digit that counts."""
    other = copy.copy(translator)
    other.model = copy.deepcopy(translator.model).double()
    other.model.ops = TorchBackend()  # the C library computes in float32
    return other


def job_of(translator, text, options):
    request = make_request(translator.config.decoding, options)
    [[job]] = translator.jobs([text], request)
    return job, translator.search_for(job, request)


def finish_all(batch) -> dict:
    over = []
    while len(batch):
        over += batch.step()
    return dict(over)


def close(found, alone) -> bool:
    """Equal answers, and equal scores but for the last digit of a float32."""
    return [(a.ids, a.finished) for a in found] == [(a.ids, a.finished) for a in alone] and all(
        a.log_probs == pytest.approx(b.log_probs, abs=2e-6) for a, b in zip(found, alone, strict=True)
    )


@settings(max_examples=10, deadline=None)
@given(plan=PLAN)
def test_no_answer_depends_on_who_else_is_in_the_batch(exact, plan) -> None:
    batch, over, leaving = Continuous(exact.model), [], {}
    waiting = list(enumerate(plan))
    while waiting or len(batch):
        while waiting and waiting[0][1][0] == 0:
            key, (_, text, options, stay) = waiting.pop(0)
            batch.add(key, *job_of(exact, text, options))
            leaving |= {} if stay is None else {key: stay}
        if waiting:
            key, (steps, *others) = waiting[0]
            waiting[0] = (key, (steps - 1, *others))
        for key in [key for key, stay in leaving.items() if stay == 0]:
            batch.cancel(key)
        leaving = {key: stay - 1 for key, stay in leaving.items() if stay > 0}
        over += batch.step()
    found = dict(over)
    assert len(found) == len(over)
    assert batch.rows == 0
    for key, (_, text, options, stay) in enumerate(plan):
        assert key in found or stay is not None
        if key in found:
            job, search = job_of(exact, text, options)
            assert close(found[key], alone(exact, job, search))


def alone(translator, job, search):
    """The answers of a search without company."""
    batch = Continuous(translator.model)
    batch.add("alone", job, search)
    return finish_all(batch)["alone"]


@pytest.mark.parametrize("options", OPTIONS)
def test_texts_are_those_of_translate(exact, options) -> None:
    request = make_request(exact.config.decoding, options)
    batch = Continuous(exact.model)
    for text in TEXTS[1:6:2]:
        batch.add(text, *job_of(exact, text, options))
    found = finish_all(batch)
    for text in TEXTS[1:6:2]:
        expected = exact.translate(text, **options)
        result = exact.finish(text, exact.jobs([text], request)[0].layout, [found[text]], request)
        for one, other in zip(result.hypotheses, expected.hypotheses, strict=True):
            assert [token.id for token in one.tokens] == [token.id for token in other.tokens]
            assert one.text == other.text
            assert one.score_per_token == pytest.approx(other.score_per_token, abs=1e-5)


def test_a_newcomer_joins_at_the_next_step_and_leaves_when_it_is_done(luong) -> None:
    batch = Continuous(luong.model)
    batch.add("long", *job_of(luong, "one two three", {"beam": 3, "min_len": 9}))
    assert (len(batch), batch.rows) == (1, 1)
    for _ in range(4):
        assert batch.step() == []
    assert batch.rows == 3
    batch.add("short", *job_of(luong, "a", {"beam": 2, "max_len": 2}))
    assert (len(batch), batch.rows) == (2, 4)
    over = batch.step() + batch.step()
    assert [key for key, _ in over] == ["short"]
    assert (len(batch), batch.rows) == (1, 3)


def test_cancelling(luong) -> None:
    batch = Continuous(luong.model)
    for key in "abc":
        batch.add(key, *job_of(luong, "one two three", {"beam": 2, "min_len": 5}))
    with pytest.raises(ValueError, match="already a search with the key 'a'"):
        batch.add("a", *job_of(luong, "a", {}))
    batch.cancel("a")
    batch.cancel("nobody")
    batch.step()
    assert len(batch) == 2
    batch.cancel("b")
    assert set(finish_all(batch)) == {"c"}
    for key in "de":
        batch.add(key, *job_of(luong, "a", {"min_len": 5}))
    batch.step()
    batch.cancel("d")
    batch.cancel("e")
    assert batch.step() == []
    assert len(batch) == 0


@pytest.mark.parametrize("width", [1, 3])
def test_numbers_that_are_not_finite_are_the_trouble_of_one_search(bench, width) -> None:
    model = bench.toy(0)
    memories = {key: bench.memory(model, [source]) for key, source in {"a": [4], "bad": [4, 4]}.items()}
    expected = run_search(model, memories["a"], BeamSearch([1], [forbid(NEVER)], beam=width))[0]
    model.table[int(memories["bad"].states[0, 0])] = torch.nan  # the mood that this source begins with
    batch = Continuous(model)
    batch.add("bad", Job((4, 4)), BeamSearch([1], [forbid(NEVER)], beam=width))
    batch.add("a", Job((4,)), BeamSearch([1], [forbid(NEVER)], beam=width))
    found = finish_all(batch)
    assert isinstance(found["bad"], NotFiniteError)
    assert found["a"] == expected


def test_a_shortlist_with_numbers_that_are_not_finite(translator, broken) -> None:
    batch = Continuous(broken(translator).model)
    batch.add("a", *job_of(translator, "a man", {"beam": 2}))
    [(_, error)] = batch.step()
    job, _ = job_of(translator, "a man", {})
    assert isinstance(error, NotFiniteError)
    assert "for the text 'a man'" in str(translator.explain(error, [job]))


@pytest.fixture(scope="module")
def short() -> Translator:
    """A Transformer with eight learned positions."""
    config = TransformerConfig(
        width=16,
        heads=2,
        feedforward=32,
        encoder_layers=1,
        decoder_layers=1,
        positions="learned",
        max_positions=8,
    )
    loaded = untrained(config)
    loaded.model.double().ops = TorchBackend()
    with torch.no_grad():
        loaded.model.target_embedding.weight[EOS] = 0  # it seldom ends by itself
    return Translator(loaded)


def test_a_source_without_positions_fails_alone(short) -> None:
    batch = Continuous(short.model)
    batch.add("good", *job_of(short, "a", {"max_len": 6}))
    batch.add("long", replace(job_of(short, "a", {})[0], source=(300,) * 8), job_of(short, "a", {})[1])
    batch.add("fine", *job_of(short, "man", {"max_len": 6}))
    found = finish_all(batch)
    assert isinstance(found["long"], LookupError)
    for key, text in {"good": "a", "fine": "man"}.items():
        assert close(found[key], alone(short, *job_of(short, text, {"max_len": 6})))


def test_an_answer_without_positions_fails_alone(short) -> None:
    batch = Continuous(short.model)
    batch.add("long", *job_of(short, "a", {"beam": 2, "min_len": 12, "max_len": 16}))
    batch.step()
    batch.add("good", *job_of(short, "man", {"beam": 3, "min_len": 7, "max_len": 8}))
    found = finish_all(batch)
    assert isinstance(found["long"], LookupError)
    assert close(found["good"], alone(short, *job_of(short, "man", {"beam": 3, "min_len": 7, "max_len": 8})))
    assert short.explain(found["long"], []).code == "too_long"
    assert isinstance(alone(short, *job_of(short, "a", {"min_len": 12, "max_len": 16})), LookupError)
