"""A model in words; whole cards are tested in tests/cli/test_inspect.py."""

import pytest

from jumok.checkpoint.bundled import bundled
from jumok.cli.views.model import (
    card_view,
    cost_view,
    describe,
    growth,
    has_score,
    kinds_of,
    parents_of,
    shapes_view,
)
from jumok.config import LuongConfig, RnnConfig, TextConfig, TransformerConfig
from jumok.errors import ConfigError, LimitError
from jumok.models.cost import forward_cost


def test_a_model_is_described_in_words() -> None:
    words = list(describe(TransformerConfig()))
    assert words[:4] == ["transformer", "6+6 layers", "width 512", "8 heads"]
    assert "post-norm" in words
    bare = list(describe(TransformerConfig(norm="none", residual=False, scaled=False)))
    assert set(bare) - set(words) == {"no norms", "no residuals", "scores not scaled"}
    assert "general score" in describe(LuongConfig())
    assert "encoder in one direction" in describe(RnnConfig())
    assert list(describe(RnnConfig(tied=False)))[-1] == "own output"


def test_the_card_of_a_bundled_model() -> None:
    view = card_view(bundled()["luong"])
    assert view.text.startswith("architecture  luong · gru cells · 1+1 layers · width 64")
    assert view.plain["shared_vocabulary"] is True
    assert view.line.startswith("luong ")


def test_a_score_needs_a_metric_and_a_number() -> None:
    assert has_score({"metric": "exact", "score": 99.0})
    assert not has_score({"metric": "exact", "score": None})
    assert not has_score({"score": 99.0})


def test_how_both_sides_are_cut() -> None:
    assert kinds_of(TextConfig()) == "bpe"
    assert kinds_of(TextConfig(kind="char", target_kind="word")) == "char → word"
    assert kinds_of(TextConfig(kind="char", target_kind="char", jamo=True)) == "char, Korean in letters"


def test_the_cost_of_a_bundled_model_is_the_same_by_formula_and_as_counted() -> None:
    view = cost_view(bundled()["transformer"], [10, 20])
    assert view.plain["parameters"]["predicted"] == view.plain["parameters"]["measured"] == int(view.line)
    assert [one["flops"] == one["measured_flops"] for one in view.plain["lengths"]] == [True, True]
    assert "so it grows with the square of the length" in view.text


def test_a_recurrent_model_has_nothing_that_grows_with_the_square() -> None:
    assert "all parts grow in proportion" in cost_view(bundled()["rnn"], [10, 100]).text


def test_a_share_too_small_to_be_seen_grows_all_the_same() -> None:
    costs = [forward_cost(TransformerConfig(), n, n, 32_000) for n in (1, 500)]
    assert growth(*costs).endswith("in proportion: it is 0.0 % at 1 and 13.2 % at 500 tokens.")
    assert growth(costs[1], costs[1]).endswith("in proportion: it is 13.2 % at 500 tokens.")


def test_layers_that_are_the_same_are_written_once() -> None:
    view = shapes_view(bundled()["transformer"], "5. März 2024", None, {})
    assert view.plain["target"] == "2024-03-05"
    assert "encoder layer 2  the same" in view.text.splitlines()
    assert view.line == "[B,S] int64 → [B,S,D] → … → [B,T,V] float32"


def test_a_text_and_its_translation_or_the_given_target() -> None:
    assert shapes_view(bundled()["luong"], " 5. März 2024 ", None, {}).plain["target"] == "2024-03-05"
    assert shapes_view(bundled()["luong"], "5. März 2024", "x", {}).plain["target"] == "x"
    with pytest.raises(ConfigError, match="the text is empty"):
        shapes_view(bundled()["luong"], " \n", None, {})


def test_a_text_that_is_too_long_is_refused_or_cut(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(LimitError, match="text 1 has 300 tokens, and this model takes 96"):
        shapes_view(bundled()["luong"], "1 " * 300, None, {})
    assert shapes_view(bundled()["luong"], "1 " * 300, "x", {}).plain["sizes"]["S"] == 97
    assert capsys.readouterr().err == "warning: source cut from 300 to 96 tokens\n"


def test_the_models_that_it_was_started_from_are_named() -> None:
    parents = [{"name": "runs/de-en", "sha256": "ab" * 32}, 5, {"name": "demo/rnn"}]
    assert parents_of({"descends_from": parents}) == "runs/de-en (abababababab…), demo/rnn (None…)"
    assert parents_of({"descends_from": "x"}) == parents_of({}) == ""
