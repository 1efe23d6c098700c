"""The types of a trace: what they say as JSON Schema, and what they take."""

import json
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from pydantic import BaseModel, ValidationError

from jumok.explain.capture import IN_ORDER
from jumok.explain.documents import (
    BeamDocument,
    BeamNode,
    DocumentPart,
    KindSize,
    Manifest,
    TraceDecode,
    TraceStep,
    TraceToken,
    TraceWord,
)
from jumok.explain.trace import open_trace

OLD = Path(__file__).parents[1] / "fixtures" / "run-0.1"


@pytest.mark.parametrize("document", [Manifest, BeamDocument])
def test_each_is_a_schema_with_words(document: type[BaseModel]) -> None:
    schema = document.model_json_schema()
    assert jsonschema_rs.meta.is_valid(schema)
    assert schema["properties"]["schema"]["const"] in ("trace/1", "beam/1")
    assert "description" in schema


def test_the_stages_are_those_that_are_recorded() -> None:
    about = Manifest.model_json_schema()["$defs"]["TraceAttention"]
    assert about["properties"]["stages"]["items"]["enum"] == list(IN_ORDER)


@pytest.mark.parametrize("name", ["transformer", "luong", "rnn", "what-if"])
def test_old_traces_keep_to_it_with_keys_that_are_not_known(name: str) -> None:
    manifest = open_trace(OLD / f"{name}.trace").manifest
    found = Manifest.model_validate({**manifest, "later": 1})
    written = found.model_dump(mode="json", by_alias=True, exclude_unset=True)
    written["interventions"] = manifest["interventions"]
    assert json.dumps(written, sort_keys=True) == json.dumps({**manifest, "later": 1}, sort_keys=True)


def test_a_key_that_is_left_out_is_never_null() -> None:
    step = {"t": 0, "id": 3, "text": "a", "logprob": None, "entropy": 1.0, "top": []}
    TraceStep.model_validate(step)
    schema = TraceStep.model_json_schema()
    assert "copied" not in schema["required"]
    with pytest.raises(ValidationError):
        TraceStep.model_validate({**step, "copied": 1.5})


def test_a_byte_is_any_of_256() -> None:
    token = {"i": 0, "id": 4, "text": "<00>", "piece": "<00>", "type": "byte", "span": (0, 1), "word": 0}
    assert [TraceToken.model_validate({**token, "byte": byte}).byte for byte in (0, 255)] == [0, 255]
    for byte in (-1, 256):
        with pytest.raises(ValidationError, match="byte"):
            TraceToken.model_validate({**token, "byte": byte})


def test_a_model_has_at_least_one_layer_and_a_head_and_a_text_may_have_no_token() -> None:
    sizes = {"layers": 1, "heads": 1, "d_head": 1}
    assert KindSize.model_validate(sizes).layers == 1
    for name in sizes:
        with pytest.raises(ValidationError, match="Input should be greater than or equal to 1"):
            KindSize.model_validate({**sizes, name: 0})


@pytest.mark.parametrize("name", ["beam", "n_best", "max_len", "min_len", "no_repeat_ngram"])
def test_settings_of_a_search_may_be_nothing_but_not_less(name: str) -> None:
    step = {"method": "given", "score": None, "score_per_token": None, "finished": True, "ms": None}
    assert TraceDecode.model_validate({**step, name: 0}).model_dump(exclude_unset=True)[name] == 0
    with pytest.raises(ValidationError, match="Input should be greater than or equal to 0"):
        TraceDecode.model_validate({**step, name: -1})


NODE = {"n": 0, "parent": None, "t": -1, "id": 0, "text": "<s>", "state": "expanded", "rank": 0} | {
    "beam": 0, "logprob": 0.0, "score": 0.0, "norm": 0.0
}  # fmt: skip
TREE = {"schema": "beam/1", "beam": 1, "length_penalty": 0.0, "nodes": [NODE], "chosen": [0]} | {
    "stable_prefix": 0, "dropped_candidates": "none"
}  # fmt: skip
STEP = {"t": 0, "id": 3, "text": "a", "logprob": None, "entropy": 1.0, "top": []}
GIVEN = {"method": "given", "score": None, "score_per_token": None, "finished": True, "ms": None}


@pytest.mark.parametrize(
    ("part", "least", "wrong"),
    [
        (BeamNode, NODE, {"t": -2}),
        (BeamNode, NODE, {"n": -1}),
        (BeamNode, NODE, {"logprob": 0.001}),
        (BeamNode, NODE, {"score": 0.001}),
        (BeamNode, NODE, {"norm": 0.001}),
        (BeamDocument, TREE, {"beam": 0}),
        (BeamDocument, TREE, {"length_penalty": -0.001}),
        (BeamDocument, TREE, {"nodes": []}),
        (TraceWord, {"i": 0, "text": "a", "tokens": [0]}, {"tokens": []}),
        (TraceStep, {**STEP, "copied": 0}, {"copied": -0.001}),
        (TraceStep, {**STEP, "copied": 1}, {"copied": 1.001}),
        (TraceDecode, {**GIVEN, "mbr": 2}, {"mbr": 1}),
    ],
)
def test_what_is_least_is_taken_and_what_is_less_is_not(
    part: type[DocumentPart], least: dict[str, Any], wrong: dict[str, Any]
) -> None:
    assert part.model_validate(least)
    [name] = wrong
    with pytest.raises(ValidationError) as caught:
        part.model_validate({**least, **wrong})
    assert [error["loc"] for error in caught.value.errors()] == [(name,)]
