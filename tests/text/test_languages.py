"""Which codes are a translation."""

import pytest

from jumok.text.languages import translates


@pytest.mark.parametrize(("source", "target"), [("de", "en"), ("zh-Hans", "ko"), ("pt_BR", "pt")])
def test_two_languages(source: str, target: str) -> None:
    assert translates(source, target)


@pytest.mark.parametrize(
    ("source", "target"), [("de", "de"), ("de", "DE"), ("", "en"), ("en", "ipa"), ("text", "12")]
)
def test_anything_else(source: str, target: str) -> None:
    assert not translates(source, target)
