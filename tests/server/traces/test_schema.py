"""The shapes of requests and answers around traces."""

import json

import pytest
from pydantic import ValidationError

from jumok.server.traces.schema import (
    BeamOut,
    CompareRequest,
    SweepRequest,
    TraceOut,
    TraceRequest,
    published,
)


def test_published_schemas_stand_on_their_own() -> None:
    for name, model in (("trace-1", TraceOut), ("beam-1", BeamOut)):
        schema = published(name)
        text = json.dumps(schema)
        assert "$ref" not in text
        assert "$defs" not in text
        assert model.model_json_schema() == schema
        assert schema["properties"]["schema"] == {"const": name.replace("-", "/")}


def test_a_description_beside_a_reference_stays() -> None:
    target_in = published("trace-1")["properties"]["target_in"]
    assert target_in["description"].startswith("The target as the decoder reads it")
    assert "tokens" in target_in["properties"]


def test_options_are_flat_and_only_those_given_are_chosen() -> None:
    asked = TraceRequest.model_validate({"text": "a", "beam": 2, "prefix": "b", "model": "rnn", "ban": ["x"]})
    assert asked.chosen() == {"beam": 2, "prefix": "b", "ban": ["x"]}
    assert asked.interventions == []


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
