"""Shapes of requests: strict, closed, bounded."""

from dataclasses import fields

import pytest
from pydantic import ValidationError

from jumok.config import DecodingConfig
from jumok.server.schema import SearchFields, StreamRequest, TranslateRequest


def test_options_are_those_of_a_translator() -> None:
    known = {field.name for field in fields(DecodingConfig)} | {"prefix", "ban", "require", "long"}
    assert set(SearchFields.model_fields) - {"model"} <= known
    assert known - set(SearchFields.model_fields) == {"prefix", "batch_tokens"}


def test_only_what_was_given_is_passed_on() -> None:
    asked = TranslateRequest(texts=["a"], beam=2, sample=False, prefix=["x"], model="m", align=True)
    assert asked.chosen() == {"beam": 2, "sample": False, "prefix": ["x"]}
    assert StreamRequest(text="a").chosen() == {}


@pytest.mark.parametrize("value", [float("nan"), float("inf"), "1", True, None])
def test_numbers_are_numbers(value: object) -> None:
    if value is None:
        assert StreamRequest.model_validate({"text": "a", "top_p": None}).top_p is None
        return
    with pytest.raises(ValidationError):
        StreamRequest.model_validate({"text": "a", "top_p": value})


def test_unknown_fields_are_refused() -> None:
    with pytest.raises(ValidationError, match="extra_forbidden"):
        StreamRequest.model_validate({"text": "a", "batch_tokens": 5})
