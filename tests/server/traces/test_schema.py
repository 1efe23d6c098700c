"""The shapes of requests and answers around traces."""

import pytest
from pydantic import ValidationError

from jumok.server.gates.problems import from_validation
from jumok.server.traces.schema import (
    CompareRequest,
    SweepRequest,
    TraceRequest,
)


def test_options_are_flat_and_only_those_given_are_chosen() -> None:
    asked = TraceRequest.model_validate({"text": "a", "beam": 2, "prefix": "b", "model": "rnn", "ban": ["x"]})
    assert asked.chosen() == {"beam": 2, "prefix": "b", "ban": ["x"]}
    assert asked.interventions == ()


@pytest.mark.parametrize(
    ("model", "body"),
    [
        (TraceRequest, {}),
        (TraceRequest, {"text": "a", "texts": ["a"]}),
        (TraceRequest, {"text": "a" * 5001}),
        (TraceRequest, {"text": "a", "target": 3}),
        (TraceRequest, {"text": "a", "interventions": [{}] * 65}),
        (TraceRequest, {"text": "a", "interventions": ["mask"]}),
        (TraceRequest, {"text": "a", "fingerprint": "abc"}),
        (SweepRequest, {"text": "a", "kinds": ["self"]}),
        (SweepRequest, {"text": "a", "kinds": []}),
        (CompareRequest, {"text": "a", "models": ["one"]}),
        (CompareRequest, {"text": "a", "models": ["1", "2", "3", "4"]}),
        (CompareRequest, {"text": "a", "models": ["1", "2"], "model": "1"}),
        (CompareRequest, {"text": "a", "models": ["1", "2"], "cuts": [0]}),
        (CompareRequest, {"text": "a", "models": ["1", "2"], "cuts": [1] * 33}),
        (CompareRequest, {"text": "a", "models": ["1", "2"], "cuts": [True]}),
    ],
)
def test_what_goes_beyond_is_refused(
    model: type[TraceRequest | CompareRequest], body: dict[str, object]
) -> None:
    with pytest.raises(ValidationError):
        model.model_validate(body)


HEAD = {"kind": "cross", "layer": 0, "head": "*"}


@pytest.mark.parametrize(
    ("op", "detail"),
    [
        ("GEHEIM", ": give an object with op"),
        ({}, "op: give one of ban, bridge, force_prefix, mask_edge, mask_head"),
        ({"op": "GEHEIM"}, "op: known: ban, bridge"),
        ({"op": 3}, "op: known: ban, bridge"),
        (
            {"op": "mask_head", "kind": "cross", "layer": 0},
            "head: give head: mask_head has kind, layer, head",
        ),
        ({"op": "mask_head", **HEAD, "spice": "GEHEIM"}, "spice: known: head, kind, layer"),
        ({"op": "mask_head", **HEAD, "<b>": 1}, "?: known: head, kind, layer"),
        ({"op": "mask_head", **HEAD, "kind": "GEHEIM"}, "kind: it must be one of enc_self, dec_self, cross"),
        ({"op": "mask_head", **HEAD, "layer": -1}, "layer: it must be a whole number from 0 up, a list of"),
        ({"op": "mask_head", **HEAD, "head": True}, "head: it must be a whole number from 0 up"),
        ({"op": "scale_head", **HEAD, "factor": 1e9}, "factor: it must be a number between -1000 and 1000"),
        ({"op": "mask_edge", **HEAD, "q": [], "k": 0}, "q: it must be a whole number from 0 up, or a list"),
        ({"op": "set_row", **HEAD, "q": 0, "weights": {"GEHEIM": 1}}, "weights: it must be weights from 0"),
        ({"op": "positions", "mode": "fly"}, "mode: it must be one of none, shuffle, shift"),
        ({"op": "ban", "text": [" "]}, "text: it must be a list of 1 to 128 texts, none of them blank"),
        ({"op": "force_prefix", "text": "GEHEIM", "ids": [5]}, ": give text or ids, and not both"),
        (
            {"op": "bridge", "mode": "zero", "text": "GEHEIM"},
            ": mode zero takes no text, mean and swap need one",
        ),
    ],
)
def test_a_refusal_names_the_field_and_never_what_it_held(op: object, detail: str) -> None:
    good = {"op": "mask_head", **HEAD}
    with pytest.raises(ValidationError) as error:
        TraceRequest.model_validate({"text": "a", "interventions": [good, op]})
    found = from_validation(error.value.errors())
    path = "interventions.1" + ("" if detail.startswith(":") else ".")
    assert (found.status_code, found.code) == (422, "bad_parameter")
    assert found.sentence.startswith(path + detail)
    assert (found.field or "").startswith("interventions.1")
    assert "GEHEIM" not in found.sentence
