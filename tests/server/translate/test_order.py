"""Orders: what a request costs, and that an answer belongs to it."""

from dataclasses import replace
from typing import Any

import pytest
from tests.decoding.conftest import TINY, untrained

from jumok.config import TransformerConfig
from jumok.decoding.engines import NativeEngine
from jumok.decoding.translator import Translator, load
from jumok.errors import ConfigError
from jumok.native.library import available
from jumok.server.gates.limits import Limits
from jumok.server.gates.problems import Problem
from jumok.server.translate.order import digest_of, make_order


@pytest.fixture(scope="module")
def luong(tiny_models: dict[str, Translator]) -> Translator:
    return tiny_models["luong"]


def test_the_cost_is_beams_times_pieces_and_new_tokens(luong: Translator) -> None:
    order = make_order(luong, ["a man", "a man", ""], {"beam": 3, "max_len": 5}, Limits())
    assert order.cost == 3 * (2 + 1 + 5)  # equal texts are decoded once, blank ones not at all
    drawn = make_order(luong, ["a man"], {"sample": True, "n_best": 2, "max_len": 5}, Limits())
    assert drawn.cost == 2 * (2 + 1 + 5)
    chosen = make_order(luong, ["a man"], {"mbr": 7, "max_len": 5}, Limits())
    assert chosen.cost == 7 * (2 + 1 + 5)


@pytest.mark.skipif(not available(), reason="the C library was not built")
def test_the_engine_that_answers_is_made_with_the_order(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not in the worker, where everyone would wait while PyTorch is loaded."""
    made, to_torch = list[str](), NativeEngine.to_torch

    def noted(self: NativeEngine, what: str) -> Any:
        made.append(what)
        return to_torch(self, what)

    monkeypatch.setattr(NativeEngine, "to_torch", noted)
    translator = load("demo/rnn", "cpu")
    make_order(translator, ["5. März 2024"], {"beam": 2}, Limits())
    assert made == []
    make_order(translator, ["5. März 2024"], {"no_repeat_ngram": 2}, Limits())
    assert made == ["no_repeat_ngram"]
    chosen = load("demo/rnn", "cpu", engine="native")
    with pytest.raises(ConfigError, match="the native engine has no no_repeat_ngram"):
        make_order(chosen, ["5. März 2024"], {"no_repeat_ngram": 2}, Limits())


def test_a_folder_that_says_mbr_is_held_to_the_draws_and_the_work_that_are_allowed() -> None:
    drawing = Translator(untrained(TINY["luong"], mbr=256, n_best=70))
    order = make_order(drawing, ["a man"], {}, Limits())
    assert order.cost == 64 * (2 + 1 + 16)
    assert (order.request.decoding.mbr, order.request.decoding.n_best) == (64, 64)
    texts = ["a man", "a dog", "two men", "two dogs"]
    small = Limits(work=1_000)  # four times as much for 64 draws: 16 hypotheses are allowed
    assert 3_000 < make_order(drawing, texts[:3], {}, small).cost < 4_000
    with pytest.raises(Problem, match="and 4,000 are allowed: send fewer texts at once, or lower mbr or max"):
        make_order(drawing, texts, {}, small)
    assert make_order(drawing, texts, {"beam": 2}, small).request.decoding.mbr == 0


def test_a_text_may_be_as_long_as_the_limits_and_no_longer(luong: Translator) -> None:
    """By characters, which costs nothing to count, and then by tokens; the text that is too long is named."""
    texts = ["a", "a man"]
    for limits in (Limits(characters=5), Limits(tokens=2), Limits(work=10 + 6 * 2)):
        assert make_order(luong, texts, {"beam": 2, "max_len": 3}, limits).texts == ("a", "a man")
    for limits, message in (
        (Limits(characters=4), "source text 2 has more than 4 characters"),
        (Limits(tokens=1), "source text 2 has 2 tokens, and 1 are allowed"),
        (Limits(work=21), "the request costs 22 beam-tokens, and 21 are allowed: send fewer texts at once"),
    ):
        with pytest.raises(Problem, match=message) as caught:
            make_order(luong, texts, {"beam": 2, "max_len": 3}, limits)
        assert caught.value.status_code == 422


def test_a_model_that_would_write_more_is_held_to_the_limit(luong: Translator) -> None:
    order = make_order(luong, ["a"], {}, Limits(new_tokens=7))
    assert order.request.decoding.max_len == 7


def test_learned_positions_bound_the_answer() -> None:
    config = replace(TINY["transformer"], positions="learned", max_positions=14)
    assert isinstance(config, TransformerConfig)
    translator = Translator(untrained(config))
    assert make_order(translator, ["a"], {"max_len": 100}, Limits()).request.decoding.max_len == 14


def test_answers_to_other_texts_are_held_back(luong: Translator) -> None:
    order = make_order(luong, ["a man", "a dog"], {}, Limits())
    right = luong.translate(["a man", "a dog"], max_len=2)
    order.check(right)
    for wrong in (right[::-1], right[:1], luong.translate(["a man", "a cat"], max_len=2)):
        with pytest.raises(Problem, match="the answer belongs to another request"):
            order.check(wrong)


def test_digests_keep_texts_apart() -> None:
    assert len({digest_of(texts) for texts in (["ab"], ["a", "b"], ["b", "a"], [], [""], ['a","b'])}) == 6
