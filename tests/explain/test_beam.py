"""The tree behind a trace is that of the very search that found its target."""

from typing import Any

import pytest
from tests.explain.conftest import Workshop

from jumok.decoding.translator import Translator
from jumok.explain.ops import mask_head
from jumok.explain.subject import beam_tree
from jumok.explain.trace import make_trace

TEXT = "a man rides 영화를 봤다."


def written(tree: dict[str, Any]) -> list[int]:
    """The ids on the way to the answer."""
    return [tree["nodes"][n]["id"] for n in tree["chosen"][1:]]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"beam": 1},
        {"beam": 4, "n_best": 3, "length_penalty": 0.2},
        {"prefix": "one", "ban": ["man"], "require": ["two"]},
        {"min_len": 4, "no_repeat_ngram": 2, "max_len": 9},
    ],
)
def test_the_tree_leads_to_the_target(options: dict[str, Any], translator: Translator) -> None:
    trace = make_trace(translator, TEXT, options=options)
    tree = beam_tree(translator, trace.manifest)
    assert tree is not None
    assert tree["schema"] == "beam/1"
    assert written(tree) == trace.target_ids
    assert tree == trace.beam()


def test_interventions_are_in_force(transformer: Translator) -> None:
    trace = make_trace(transformer, TEXT, ops=[mask_head("cross", "*", "*")])
    tree = trace.beam()
    assert tree is not None
    assert written(tree) == trace.target_ids
    assert written(tree) != make_trace(transformer, TEXT).target_ids


def test_a_text_that_was_cut(workshop: Workshop) -> None:
    trace = make_trace(workshop.translator("luong", max_length=3), TEXT)
    tree = trace.beam()
    assert tree is not None
    assert written(tree) == trace.target_ids


@pytest.mark.parametrize(
    "asked", [{"target": "one two"}, {"options": {"sample": True}}, {"options": {"mbr": 3}}]
)
def test_without_a_search_there_is_no_tree(asked: dict[str, Any], transformer: Translator) -> None:
    trace = make_trace(transformer, TEXT, **asked)
    assert trace.beam() is None
    assert beam_tree(transformer, trace.manifest) is None


def test_a_text_that_was_cut_before_a_character(workshop: Workshop) -> None:
    translator = workshop.translator("luong", max_length=4)
    trace = make_trace(translator, "a 뷁뷁뷁", options={"require": ["two"]})
    text = trace.manifest["source"]["text"]
    assert text == "a "  # whole characters only; tidied, it has fewer pieces than were read
    assert len(trace.manifest["source"]["tokens"]) - 1 > len(translator.tokenizers.source.encode("a"))
    tree = trace.beam()
    assert tree is not None
    assert written(tree) == trace.target_ids
