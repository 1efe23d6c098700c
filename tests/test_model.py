"""Model: what `jumok.load` returns. It translates like a translator, shows how, and can be changed."""

import asyncio
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jumok
from jumok.decoding.results import Translation
from jumok.decoding.stream import Final
from jumok.decoding.translator import Translator
from jumok.errors import ConfigError, ModelError
from jumok.explain.ops import (
    Op,
    ban,
    force_prefix,
    mask_edge,
    mask_head,
    no_positions,
    replace_source,
    require,
    scale_head,
)
from jumok.explain.traced import TracedTranslation
from jumok.explain.what_if import what_if
from jumok.model import Model, load
from jumok.native.library import available
from tests.explain.conftest import Workshop, workshop

__all__ = ["workshop"]

TEXT = "a man rides 영화를 봤다."
TEXTS = [TEXT, " ", "나는", "the dog sees two men! one two three", TEXT]
MASK = mask_head("cross", "*", "*")


@pytest.fixture(scope="module", params=["rnn", "luong", "transformer"])
def model(request: pytest.FixtureRequest, workshop: Workshop) -> Model:
    return workshop.model(request.param)


@pytest.fixture(scope="module")
def transformer(workshop: Workshop) -> Model:
    return workshop.model("transformer")


def plain(answers: list[Translation]) -> list[dict[str, Any]]:
    return [one.to_dict() for one in answers]


def ids(answer: Translation) -> list[int]:
    return [token.id for token in answer.tokens]


def test_load_gives_a_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    model = jumok.load("demo/transformer")
    assert isinstance(model, Model)
    assert isinstance(model, Translator)
    assert repr(model) == "Model('transformer', transformer)"
    found = model.translate("5. März 2024", attention=True)
    assert found.text == "2024-03-05"
    assert ("März", "03") in [(one.source, one.target) for one in found.align()]
    with pytest.raises(ModelError, match="there is no model folder runs/x"):
        load("runs/x")


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"beam": 4, "n_best": 2},
        {"sample": True, "seed": 3},
        {"mbr": 4, "utility": "rouge1"},
        {"prefix": ["one", "", "", "two", ""]},
    ],
)
def test_looking_changes_nothing(options: dict[str, Any], model: Model) -> None:
    usual = Translator.translate(model, TEXTS, **options)
    seen = model.translate(TEXTS, attention=True, **options)
    assert plain(list(seen)) == plain(usual) == plain(model.translate(TEXTS, **options))
    if not {"sample", "mbr"} & options.keys():
        assert plain(model.translate(TEXTS, attention=True, record_beam=True, **options)) == plain(usual)
    for one in seen:
        for part in one.parts or (one,):
            assert part.made is None or part.trace.target_ids == ids(part)
        assert [id for part in one.parts or (one,) for id in ids(part)] == ids(one)


def test_shape_follows_input(model: Model) -> None:
    one = model.translate(TEXT, attention=True)
    several = model.translate(TEXTS, attention=True)
    assert type(one) is TracedTranslation
    assert [type(each) for each in several] == [TracedTranslation] * 5
    assert [each.made is None for each in several] == [False, True, False, False, False]
    assert several[0].trace.id == one.trace.id == model.trace(TEXT).id
    assert type(model.translate(TEXT)) is Translation
    assert model.translate([], attention=True) == []


def test_a_text_in_parts_is_traced_from_its_beginning(workshop: Workshop) -> None:
    short = workshop.model("luong", max_length=6)
    found = short.translate(TEXT, attention=True, sentences="as-is")
    assert found.text == short.translate(TEXT, sentences="as-is").text
    assert found.trace.manifest["warnings"][0]["code"] == "source_truncated"


def test_a_trace_of_a_given_target(model: Model) -> None:
    trace = model.trace(TEXT, "one two")
    assert trace.manifest["target"]["origin"] == "given"
    assert model.trace(TEXT, beam=1).manifest["decode"]["beam"] == 1


def test_drawn_answers_have_no_beam(transformer: Model) -> None:
    with pytest.raises(ConfigError, match="drawn at random has no beam tree"):
        transformer.translate(TEXT, record_beam=True, sample=True)
    with pytest.raises(ConfigError, match="no beam tree\n  set sample to false and mbr to 0"):
        transformer.translate(TEXT, record_beam=True, mbr=3)


def test_unknown_options_are_refused(transformer: Model) -> None:
    with pytest.raises(TypeError, match="unknown option 'beams'"):
        transformer.translate(TEXT, attention=True, beams=3)


def test_it_can_be_awaited(transformer: Model) -> None:
    found = asyncio.run(transformer.atranslate([TEXT], attention=True))
    assert isinstance(found[0], TracedTranslation)


def test_positions(model: Model) -> None:
    rows = model.positions(7)
    if model.config.model.arch == "transformer":
        assert rows is not None
        assert rows.shape == (7, 16)
        assert rows[0, :2].tolist() == [0, 1]
    else:
        assert rows is None


EDITS: list[tuple[Op, ...]] = [
    (MASK,),
    (scale_head("cross", 1, 0, 3.0), no_positions("encoder")),
    (ban("man", "two"), MASK),
    (force_prefix("one two"), require("three")),
]


@pytest.mark.parametrize("ops", EDITS)
def test_an_edited_model_answers_as_what_if_does(ops: tuple[Op, ...], transformer: Model) -> None:
    with transformer.edit(*ops) as edited:
        assert isinstance(edited, Model)
        assert edited.ops == ops
        found = edited.translate([TEXT, "나는"], attention=True)
        for text, one in zip([TEXT, "나는"], found, strict=True):
            answer = what_if(transformer, text, ops)
            assert ids(one) == ids(answer.edited) == ids(edited.translate(text))
            assert one.score == pytest.approx(answer.edited.score, abs=1e-3)
            assert one.trace.id == edited.trace(text).id == answer.edited_trace.id
        (*_, last) = edited.stream(TEXT)
        assert isinstance(last, Final)
        assert ids(last.translation) == ids(found[0])
        assert [one.text for one in edited.translate_iter([TEXT])] == [found[0].text]
    assert transformer.ops == ()
    assert transformer.translate(TEXT).text == Translator.translate(transformer, TEXT).text


def test_an_edit_changes_something(transformer: Model) -> None:
    assert transformer.edit(MASK).translate(TEXT).text != transformer.translate(TEXT).text
    scores = transformer.score(TEXT, "one").score, transformer.edit(MASK).score(TEXT, "one").score
    assert scores[0] != scores[1]


def test_edits_add_up(transformer: Model) -> None:
    twice = transformer.edit(mask_head("cross", 0, 0)).edit(mask_head("cross", 1, 1), ban("two"))
    once = transformer.edit(mask_head("cross", 0, 0), mask_head("cross", 1, 1), ban("two"))
    assert twice.ops == once.ops
    assert twice.trace(TEXT).id == once.trace(TEXT).id
    own = once.translate(TEXT, ban=["one"])
    assert own.text == transformer.edit(*once.ops, ban("one")).translate(TEXT).text


def test_edits_that_cannot_be(transformer: Model, workshop: Workshop) -> None:
    with pytest.raises(TypeError, match="intervention 1 is of type str"):
        transformer.edit("mask_head")  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="replace_source changes a text"):
        transformer.edit(replace_source(0, "x"))
    with pytest.raises(ConfigError, match="layer 5 does not exist"):
        transformer.edit(mask_head("cross", 5, 0))
    with pytest.raises(ConfigError, match="has no cross attention"):
        workshop.model("rnn").edit(MASK)
    with pytest.raises(ConfigError, match="this translator has interventions already"):
        transformer.edit(MASK).what_if(TEXT, [MASK])


def test_a_text_that_loses_every_key(transformer: Model) -> None:
    edited = transformer.edit(mask_edge("cross", 0, 0, q=0, k=range(8)))
    long = "the dog sees two men! one two three"
    assert edited.translate(long).finished
    with pytest.raises(ConfigError, match="every key of head 0, query 0 is cut"):
        edited.translate("a")
    with pytest.raises(ConfigError, match="would lose every key"):
        edited.trace("a")


def test_what_if(transformer: Model) -> None:
    found = transformer.what_if(TEXT, [MASK], beam=1)
    assert found.to_dict() == what_if(transformer, TEXT, [MASK], beam=1).to_dict()
    assert np.isfinite(found.baseline_logprob_under_edit)


@pytest.mark.skipif(not available(), reason="the C library was not built")
def test_every_engine_is_looked_into_and_what_it_lacks_is_refused() -> None:
    text, ops = "5. März 2024", [mask_head("cross", 0, 0)]
    auto, whole, native = (load("demo/luong", "cpu", engine=one) for one in ("auto", "torch", "native"))
    assert auto.engine["name"] == native.engine["name"] == "native"
    assert auto.translate(text).text == native.translate(text).text == whole.translate(text).text
    assert auto.what_if(text, ops).edited.text == whole.what_if(text, ops).edited.text
    assert auto.translate(text, attention=True).score == pytest.approx(whole.translate(text).score, abs=1e-4)
    assert auto.trace(text).manifest["source"] == whole.trace(text).manifest["source"]
    assert native.what_if(text, ops).edited.text == whole.what_if(text, ops).edited.text
    asked = {
        "forward_pass": lambda: native.forward_pass(text),
        "gradients": lambda: native.gradients(text),
        "free_running": lambda: native.free_running(text, "2024"),
    }
    for what, ask in asked.items():
        with pytest.raises(ConfigError, match=f"the native engine has no {what}\n"):
            ask()
