"""Shapes of requests: strict, closed, bounded."""

from dataclasses import fields

import pytest
from pydantic import ValidationError

from jumok.config import DecodingConfig
from jumok.server.schema import SearchFields, StreamRequest, TranslateRequest


def test_options_are_those_of_a_translator() -> None:
    known = {field.name for field in fields(DecodingConfig)} | {
        "prefix",
        "ban",
        "require",
        "long",
        "sentences",
        "protect",
        "to",
        "from_language",
    }
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


BOUNDS: dict[str, tuple[object, object]] = {  # the furthest that is taken, and one step beyond it
    "model": ("m" * 128, "m" * 129),
    "length_penalty": (10, 10.5),
    "temperature": (100, 100.5),
    "top_k": (1_000_000, 1_000_001),
    "top_p": (1, 1.01),
    "seed": ((1 << 53) - 1, 1 << 53),
    "ban": (["x" * 200] * 16, ["x" * 200] * 17),
    "require": (["x" * 200], ["x" * 201]),
}


@pytest.mark.parametrize("name", BOUNDS)
def test_bounds_are_taken_and_what_is_beyond_them_is_not(name: str) -> None:
    taken, refused = BOUNDS[name]
    assert getattr(StreamRequest.model_validate({"text": "a", name: taken}), name) == taken
    with pytest.raises(ValidationError, match=rf"1 validation error for StreamRequest\n{name}"):
        StreamRequest.model_validate({"text": "a", name: refused})


@pytest.mark.parametrize(
    ("name", "least"),
    [
        ("beam", 1),
        ("n_best", 1),
        ("max_len", 1),
        ("min_len", 0),
        ("no_repeat_ngram", 0),
        ("top_k", 0),
        ("seed", 0),
        ("mbr", 0),
    ],
)
def test_counts_have_a_least_number(name: str, least: int) -> None:
    assert getattr(StreamRequest.model_validate({"text": "a", name: least}), name) == least
    with pytest.raises(ValidationError, match=f"greater than or equal to {least}"):
        StreamRequest.model_validate({"text": "a", name: least - 1})


@pytest.mark.parametrize("name", ["temperature", "top_p"])
def test_shares_of_zero_are_refused(name: str) -> None:
    with pytest.raises(ValidationError, match="greater than 0"):
        StreamRequest.model_validate({"text": "a", name: 0})
