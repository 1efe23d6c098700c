"""Shapes as a table, and the texts that are too long for it."""

import pytest

from jumok.checkpoint.bundled import bundled
from jumok.cli.views.shapes import shapes_view
from jumok.errors import ConfigError, LimitError


def test_layers_that_are_the_same_are_written_once() -> None:
    view = shapes_view(bundled()["transformer"], "5. März 2024", None)
    assert view.plain["target"] == "2024-03-05"
    assert "encoder layer 2  the same" in view.text.splitlines()
    assert view.line == "[B,S] int64 → [B,S,D] → … → [B,T,V] float32"


def test_a_text_and_its_translation_or_the_given_target() -> None:
    assert shapes_view(bundled()["luong"], " 5. März 2024 ", None).plain["target"] == "2024-03-05"
    assert shapes_view(bundled()["luong"], "5. März 2024", "x").plain["target"] == "x"
    with pytest.raises(ConfigError, match="the text is empty"):
        shapes_view(bundled()["luong"], " \n", None)


def test_a_text_that_is_too_long_is_refused_or_cut(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(LimitError, match="text 1 has 300 pieces, and this model takes 96"):
        shapes_view(bundled()["luong"], "1 " * 300, None)
    assert shapes_view(bundled()["luong"], "1 " * 300, "x").plain["sizes"]["S"] == 97
    assert capsys.readouterr().err == "warning: source cut from 300 to 96 tokens\n"
