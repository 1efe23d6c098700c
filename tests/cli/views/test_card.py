"""A model in words; whole cards are tested in tests/cli/test_inspect.py."""

from jumok.checkpoint.bundled import bundled
from jumok.cli.views.card import card_view, describe, has_score, kinds_of
from jumok.config import LuongConfig, RnnConfig, TextConfig, TransformerConfig


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
