"""Interventions of a request: what is read, what is refused and how, and what clients are told about them."""

from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jumok.explain.ops import OPS, ops_to_json, readers
from jumok.server.gates.problems import Problem
from jumok.server.traces.interventions import FORMS, ops_schema, read_ops

HEAD = {"kind": "cross", "layer": 0, "head": "*"}
GOOD: list[dict[str, Any]] = [
    {"op": "mask_head", **HEAD},
    {"op": "scale_head", **HEAD, "factor": -2},
    {"op": "mask_edge", **HEAD, "q": [0, 1], "k": 2},
    {"op": "set_row", **HEAD, "q": 1, "weights": {"0": 1, "2": 0.5}},
    {"op": "uniform", "kind": "enc_self", "layer": [0, 1], "head": 0},
    {"op": "no_scale", "kind": "dec_self"},
    {"op": "positions", "mode": "shift", "side": "encoder", "by": -3},
    {"op": "bridge", "mode": "swap", "text": "a man"},
    {"op": "force_prefix", "text": "the"},
    {"op": "ban", "text": ["GEHEIM"]},
    {"op": "require", "text": ["a"]},
    {"op": "replace_source", "unit": 0, "text": ""},
]


def test_every_intervention_is_read_and_fits_the_published_schema() -> None:
    ops = read_ops(GOOD)
    assert [op.op for op in ops] == list(OPS) == [one["op"] for one in GOOD]
    assert read_ops(ops_to_json(ops)) == ops
    jsonschema_rs.validator_for(ops_schema()).validate(GOOD)


def test_every_reader_of_a_field_has_a_published_form() -> None:
    titles = {one["title"]: one for one in ops_schema()["items"]["oneOf"]}
    assert set(titles) == set(OPS)
    for name, of in OPS.items():
        assert set(titles[name]["properties"]) == {"op", *readers(of)}
    used = {read for of in OPS.values() for read in readers(of).values()}
    assert set(FORMS) <= used


@pytest.mark.parametrize(
    ("op", "detail"),
    [
        ({}, "op: one of these is needed: ban, bridge, force_prefix, mask_edge, mask_head"),
        ({"op": "GEHEIM"}, "op: one of these is needed"),
        ({"op": 3}, "op: one of these is needed"),
        ({"op": "mask_head", "kind": "cross", "layer": 0}, "head: field required"),
        (
            {"op": "mask_head", **HEAD, "spice": "GEHEIM"},
            "spice: unknown field: mask_head has kind, layer, head",
        ),
        ({"op": "mask_head", **HEAD, "<b>": 1}, "?: unknown field"),
        ({"op": "mask_head", **HEAD, "kind": "GEHEIM"}, "kind: must be one of enc_self, dec_self, cross"),
        ({"op": "mask_head", **HEAD, "layer": -1}, "layer: must be a whole number from 0 up, a list of them"),
        ({"op": "mask_head", **HEAD, "head": True}, "head: must be a whole number from 0 up"),
        ({"op": "scale_head", **HEAD, "factor": 1e9}, "factor: must be a number between -1000 and 1000"),
        ({"op": "mask_edge", **HEAD, "q": [], "k": 0}, "q: must have 1 to 128 entries"),
        ({"op": "set_row", **HEAD, "q": 0, "weights": {"GEHEIM": 1}}, "weights: must be a whole number"),
        ({"op": "set_row", **HEAD, "q": 0, "weights": {"0": 0}}, "weights: must have no weight below 0"),
        ({"op": "positions", "mode": "fly"}, "mode: must be one of none, shuffle, shift"),
        ({"op": "ban", "text": [" "]}, "text: must have no blank text"),
        ({"op": "force_prefix", "text": "GEHEIM", "ids": [5]}, ": give text or ids, and not both"),
        ({"op": "force_prefix"}, ": give text or ids, and not both"),
        (
            {"op": "bridge", "mode": "zero", "text": "GEHEIM"},
            ": mode zero takes no text, mean and swap need one",
        ),
    ],
)
def test_a_refusal_names_the_field_and_never_what_it_held(op: dict[str, Any], detail: str) -> None:
    with pytest.raises(Problem) as error:
        read_ops([GOOD[0], op])
    assert (error.value.status_code, error.value.code) == (422, "bad_parameter")
    path = "interventions.1" + ("" if detail.startswith(":") else ".")
    assert error.value.sentence.startswith(path + detail)
    assert "GEHEIM" not in error.value.sentence


values = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4) | st.lists(st.integers())
)


@settings(max_examples=100, deadline=None)
@given(
    st.sampled_from(GOOD), st.dictionaries(st.sampled_from(["op", "kind", "layer", "q", "text", "x"]), values)
)
def test_whatever_is_sent_is_read_or_refused(good: dict[str, Any], changed: dict[str, Any]) -> None:
    try:
        ops = read_ops([{**good, **changed}])
    except Problem:
        return
    assert read_ops(ops_to_json(ops)) == ops
