"""Shapes as a table, and the texts that are too long for it."""

import pytest

from jumok.checkpoint.bundled import bundled
from jumok.cli.views.shapes import check_length, read_pair, shapes_view
from jumok.decoding.translator import Translator
from jumok.errors import ConfigError, LimitError


def test_layers_that_are_the_same_are_written_once() -> None:
    view = shapes_view(bundled()["transformer"], "5. März 2024", None)
    assert view.plain["target"] == "2024-03-05"
    assert "encoder layer 2  the same" in view.text.splitlines()
    assert view.line == "[B,S] int64 → [B,S,D] → … → [B,T,V] float32"


def test_a_pair_is_a_text_and_its_translation_or_the_given_target(models: dict[str, Translator]) -> None:
    assert read_pair(models["luong"], " 5. März 2024 ", None).target == "2024-03-05"
    assert read_pair(models["luong"], "5. März 2024", "x").target == "x"
    with pytest.raises(ConfigError, match="the text is empty"):
        read_pair(models["luong"], " \n", None)


def test_the_limit_is_said_with_both_numbers(models: dict[str, Translator]) -> None:
    check_length(models["rnn"], "text", [7] * 1024)
    with pytest.raises(LimitError, match="the text has 1,025 pieces, more than 1,024"):
        check_length(models["rnn"], "text", [7] * 1025)
