"""Interventions: what is made is what was meant, and JSON keeps it."""

import json
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from jumok.errors import ConfigError
from jumok.explain import ops
from jumok.explain.ops import OPS, Op, OpList, ops_to_json, parse_ops

kinds = st.sampled_from(["enc_self", "dec_self", "cross"])
numbers = st.integers(0, 200)
several = st.lists(numbers, min_size=1, max_size=5)
indices = st.one_of(numbers, several, st.just("*"))
texts = st.text(min_size=1, max_size=9).filter(str.strip)
weights = st.dictionaries(numbers, st.floats(0.01, 5), min_size=1, max_size=4)
any_op = st.one_of(
    st.builds(ops.mask_head, kinds, indices, indices),
    st.builds(ops.scale_head, kinds, indices, indices, st.floats(-9, 9)),
    st.builds(ops.mask_edge, kinds, indices, indices, st.one_of(numbers, several), several),
    st.builds(ops.set_row, kinds, indices, indices, numbers, weights),
    st.builds(ops.uniform, kinds, indices, indices),
    st.builds(ops.no_scale, kinds),
    st.builds(
        ops.positions,
        st.sampled_from(["none", "shuffle", "shift"]),
        st.sampled_from(["source", "target", "encoder", "decoder"]),
        numbers,
        st.integers(-9, 9),
    ),
    st.builds(ops.bridge, st.just("zero")),
    st.builds(ops.bridge, st.sampled_from(["mean", "swap"]), texts),
    st.builds(ops.force_prefix, st.one_of(texts, several)),
    st.lists(texts, min_size=1, max_size=3).map(lambda found: ops.ban(*found)),
    st.lists(texts, min_size=1, max_size=3).map(lambda found: ops.require(*found)),
    st.builds(ops.replace_source, numbers, st.text(max_size=9)),
)


@given(st.lists(any_op, max_size=6))
def test_json_keeps_every_intervention(given_ops: list[Op]) -> None:
    plain = ops_to_json(given_ops)
    assert parse_ops(json.loads(json.dumps(plain))) == tuple(given_ops)
    assert ops_to_json(parse_ops(plain)) == plain


def test_all_interventions_have_a_name_and_a_function() -> None:
    assert sorted(OPS) == [
        "ban",
        "bridge",
        "force_prefix",
        "mask_edge",
        "mask_head",
        "no_scale",
        "positions",
        "replace_source",
        "require",
        "scale_head",
        "set_row",
        "uniform",
    ]
    assert all(callable(getattr(ops, name)) for name in OPS)


def test_json_is_short_and_as_people_write_it() -> None:
    made = [
        ops.mask_edge("cross", "*", [1, 0], q=3, k=2),
        ops.no_positions("encoder"),
        ops.set_row("cross", 0, 0, 1, {3: 0.5}),
        ops.ban("movie"),
        ops.force_prefix([7, 8]),
    ]
    assert ops_to_json(made) == [
        {"op": "mask_edge", "kind": "cross", "layer": "*", "head": [0, 1], "q": [3], "k": [2]},
        {"op": "positions", "mode": "none"},
        {"op": "set_row", "kind": "cross", "layer": 0, "head": 0, "q": 1, "weights": {"3": 0.5}},
        {"op": "ban", "text": ["movie"]},
        {"op": "force_prefix", "ids": [7, 8]},
    ]


HEAD = {"op": "mask_head", "kind": "cross", "layer": 0, "head": 0}
HEADS = {"kind": "cross", "layer": 0, "head": "*"}
GOOD: list[dict[str, Any]] = [
    {"op": "mask_head", **HEADS},
    {"op": "scale_head", **HEADS, "factor": -2},
    {"op": "mask_edge", **HEADS, "q": [0, 1], "k": 2},
    {"op": "set_row", **HEADS, "q": 1, "weights": {"0": 1, "2": 0.5}},
    {"op": "uniform", "kind": "enc_self", "layer": [0, 1], "head": 0},
    {"op": "no_scale", "kind": "dec_self"},
    {"op": "positions", "mode": "shift", "side": "encoder", "by": -3},
    {"op": "bridge", "mode": "swap", "text": "a man"},
    {"op": "force_prefix", "text": "the"},
    {"op": "ban", "text": ["movie"]},
    {"op": "require", "text": ["a"]},
    {"op": "replace_source", "unit": 0, "text": ""},
]
"""One of each."""
ANYTHING = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4) | st.lists(st.integers())
)


@settings(max_examples=100, deadline=None)
@given(
    st.sampled_from(GOOD),
    st.dictionaries(st.sampled_from(["op", "kind", "layer", "q", "text", "x"]), ANYTHING),
)
def test_whatever_is_given_is_read_or_refused(good: dict[str, Any], changed: dict[str, Any]) -> None:
    try:
        found = parse_ops([{**good, **changed}])
    except ConfigError:
        return
    assert parse_ops(ops_to_json(found)) == found


INDEX = 'it must be a whole number from 0 up, a list of 1 to 128 of them or "*"'


@pytest.mark.parametrize(
    ("given_op", "message", "field", "hint"),
    [
        (5, "an intervention must be an object; it is 5", "", "give an object with op and the fields"),
        ({}, "op is missing", "op", "give one of ban, bridge"),
        ({"op": "mask_hed"}, "unknown op 'mask_hed'", "op", "did you mean 'mask_head'?"),
        ({"op": ["mask_head"]}, "unknown op ['mask_head']", "op", "did you mean 'mask_head'?"),
        ({**HEAD, "hed": 1}, "mask_head: unknown field 'hed'", "hed", "did you mean 'head'?"),
        ({"op": "mask_head", "hed": 1}, "mask_head: unknown field 'hed'", "hed", "did you mean 'head'?"),
        (
            {"op": "mask_head", "kind": "cross", "layer": 0},
            "mask_head: head is missing",
            "head",
            "give head: mask_head has kind, layer, head",
        ),
        (
            {**HEAD, "kind": "cros"},
            "mask_head: kind is 'cros'",
            "kind",
            "it must be one of enc_self, dec_self, cross, copy; did you mean 'cross'?",
        ),
        ({**HEAD, "layer": -1}, "mask_head: layer is -1", "layer", INDEX),
        ({**HEAD, "layer": "all"}, "mask_head: layer is 'all'", "layer", INDEX),
        (
            {"op": "bridge", "mode": "swap"},
            "bridge: text is '', and mode='swap' needs a text",
            "",
            "mode zero takes no text, mean and swap need one",
        ),
        (
            {"op": "bridge", "mode": "zero", "text": "a"},
            "bridge: text is 'a', and mode='zero' takes no text",
            "",
            "mode zero takes no text, mean and swap need one",
        ),
        (
            {"op": "force_prefix"},
            "force_prefix: neither a text nor ids are given",
            "",
            "give text or ids, and not both",
        ),
        (
            {"op": "force_prefix", "text": "a", "ids": [5]},
            "force_prefix: both text and ids are given",
            "",
            "give text or ids, and not both",
        ),
        (
            {"op": "scale_head", "kind": "cross", "layer": 0, "head": 0, "factor": "x" * 99},
            "scale_head: factor is '" + "x" * 58 + "…",
            "factor",
            "it must be a number between -1000 and 1000",
        ),
    ],
)
def test_errors_name_the_place_the_op_and_the_field(
    given_op: object, message: str, field: str, hint: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_ops([HEAD, given_op])
    assert caught.value.message == message
    assert caught.value.where == "interventions[1]"
    assert caught.value.field == "interventions.1" + (f".{field}" if field else "")
    assert caught.value.hint.startswith(hint)
    assert caught.value.code == "bad_parameter"


def test_a_name_that_is_none_of_these_is_refused_with_the_nearest() -> None:
    ops.check_name("unit", "words", ("words", "tokens"))
    with pytest.raises(ConfigError) as caught:
        ops.check_name("unit", "word", ("words", "tokens"))
    assert (caught.value.message, caught.value.hint) == ("unit='word' is unknown", "did you mean 'words'?")


def test_values_of_up_to_sixty_characters_are_quoted_whole() -> None:
    assert ops.brief("x" * 58) == repr("x" * 58)
    assert ops.brief("x" * 59) == "'" + "x" * 58 + "…"
    assert len(ops.brief("x" * 59)) == 60


@pytest.mark.parametrize("given_ops", ["mask_head", None, {"op": "mask_head"}])
def test_interventions_are_a_list(given_ops: object) -> None:
    with pytest.raises(ConfigError, match="interventions must be a list"):
        parse_ops(given_ops)


def test_64_interventions_are_the_most() -> None:
    assert len(parse_ops([HEAD] * 64)) == 64
    with pytest.raises(ConfigError, match="there are 65 interventions, and 64 is the most"):
        parse_ops([HEAD] * 65)


def test_the_published_schema_takes_what_is_written() -> None:
    schema = TypeAdapter(OpList).json_schema()
    assert set(schema["items"]["discriminator"]["mapping"]) == set(OPS)
    jsonschema_rs.validator_for(schema).validate(ops_to_json(parse_ops(GOOD)))
    jsonschema_rs.validator_for(schema).validate(GOOD)


def test_functions_check_as_json_does() -> None:
    with pytest.raises(ConfigError, match="it must be one of enc_self"):
        ops.mask_head("crosss", 0, 0)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="it must be source or target"):
        ops.no_positions("left")


def test_an_intervention_does_not_change() -> None:
    """It is checked when it is made, and counts as itself wherever it is kept."""
    op = ops.mask_head("cross", 0, 1)
    with pytest.raises(ValidationError, match="Instance is frozen"):
        op.layer = 3  # type: ignore[misc]
    assert op == ops.mask_head("cross", 0, 1)
