"""Attention with its labels: exact numbers, whole words, nothing hidden."""

from typing import Any

import numpy as np
import pytest
import torch

from jumok.config import LuongConfig, RnnConfig, TextConfig, TransformerConfig
from jumok.edits import Kind
from jumok.errors import ConfigError
from jumok.explain.attention import Attention, Attentions, attention_of
from jumok.explain.heatmap import cells
from jumok.models.build import build_model
from jumok.models.interface import Seq2Seq
from jumok.models.sentences import Sentences
from jumok.text.tokenizer import EOS, Tokenizers, train_tokenizer

TEXT = "2024년 5월 3일, 금요일"


@pytest.fixture(scope="module")
def tokenizers() -> Tokenizers:
    both = train_tokenizer([TEXT, "2024-05-03"], TextConfig(kind="char", vocabulary=400))
    return Tokenizers(both, both)


@pytest.fixture(scope="module")
def model(tokenizers: Tokenizers) -> Seq2Seq:
    torch.manual_seed(0)
    config = TransformerConfig(width=12, heads=3, feedforward=20, encoder_layers=2, decoder_layers=2)
    return build_model(config, tokenizers.source.size, tokenizers.source.size, shared=True).eval()


def attention(model: Seq2Seq, tokenizers: Tokenizers, kind: Kind = "cross") -> Attention:
    found = attention_of(model, tokenizers, TEXT, "2024-05-03", kind)
    assert found is not None
    return found


def test_cross_attention_is_what_explain_gives(model: Seq2Seq, tokenizers: Tokenizers) -> None:
    found = attention(model, tokenizers)
    source = Sentences.lay([[*tokenizers.source.encode(TEXT), EOS]], torch.device("cpu"))
    target_in = Sentences.lay([[0, *tokenizers.target.encode("2024-05-03")]], torch.device("cpu"))
    with torch.no_grad():
        maps = model.explain(target_in, model.encode(source))
    np.testing.assert_allclose(found.weights, torch.cat(maps).numpy(), atol=1e-6)
    assert found.source == (*TEXT, "</s>")
    assert found.target == (*"2024-05-03", "</s>")
    assert found.weights.shape == (2, 3, 11, len(TEXT) + 1)


@pytest.mark.parametrize("kind", ["cross", "enc_self", "dec_self"])
def test_rows_sum_to_one_in_tokens_and_in_words(kind: Kind, model: Seq2Seq, tokenizers: Tokenizers) -> None:
    found = attention(model, tokenizers, kind)
    np.testing.assert_allclose(found.weights.sum(axis=-1), 1, atol=1e-5)
    np.testing.assert_allclose(found.words().weights.sum(axis=-1), 1, atol=1e-5)


def test_self_attention_of_the_decoder_looks_at_what_was_written(
    model: Seq2Seq, tokenizers: Tokenizers
) -> None:
    found = attention(model, tokenizers, "dec_self")
    assert found.source == ("<s>", *"2024-05-03")
    assert found.target == (*"2024-05-03", "</s>")
    assert not np.triu(found.pick(), k=1).any()


def test_pick_takes_one_or_the_mean(model: Seq2Seq, tokenizers: Tokenizers) -> None:
    found = attention(model, tokenizers)
    np.testing.assert_array_equal(found.pick(0, 2), found.weights[0, 2])
    np.testing.assert_allclose(found.pick(), found.weights[-1].mean(axis=0), atol=1e-7)
    np.testing.assert_allclose(found.pick(None, None), found.weights.mean(axis=(0, 1)), atol=1e-7)


def test_models_without_attention_give_none(tokenizers: Tokenizers) -> None:
    V = tokenizers.source.size
    rnn = build_model(RnnConfig(width=8), V, V, shared=True).eval()
    luong = build_model(LuongConfig(width=8), V, V, shared=True).eval()
    assert attention_of(rnn, tokenizers, TEXT, "2024") is None
    assert attention_of(luong, tokenizers, TEXT, "2024", "enc_self") is None
    found = attention_of(luong, tokenizers, TEXT, "2024")
    assert found is not None
    assert found.weights.shape[:2] == (1, 1)
    assert found.name(-1, None) == ("layer 1", "one head")


def test_ids_and_texts_are_the_same(model: Seq2Seq, tokenizers: Tokenizers) -> None:
    by_ids = attention_of(
        model, tokenizers, tokenizers.source.encode(TEXT), tokenizers.target.encode("2024-05-03")
    )
    assert by_ids is not None
    np.testing.assert_array_equal(by_ids.weights, attention(model, tokenizers).weights)


def test_show_folds_special_pieces_and_says_so() -> None:
    weights = np.array([[0.7, 0.1, 0.2], [0.1, 0.8, 0.1], [0.0, 0.0, 1.0]])[None, None]
    found = Attention("cross", (" 나는", ".", "</s>"), ("I", ".", "</s>"), weights)
    assert found.words().show().splitlines()[:4] == [
        "cross · layer 1 · one head · words      specials folded: </s> 0.15",
        "   나는  .",
        "I   ██   ░░",
        ".   ░░   ██",
    ]
    assert found.show(layer=None, head=0).startswith("cross · mean of 1 layers · head 1 · tokens")


@pytest.mark.parametrize("tokens", [97, 98])
def test_a_picture_fits_100_cells_unless_told_otherwise(tokens: int) -> None:
    found = Attention("cross", ("x",) * tokens, ("y",), np.full((1, 1, 1, tokens), 1 / tokens))
    assert max(map(cells, found.show().splitlines()[1:3])) <= 100
    assert max(map(cells, found.show(width=101).splitlines()[1:3])) == tokens + 3  # in one piece


def test_what_is_copied_stands_beside_the_words() -> None:
    weights = np.array([[0.7, 0.1, 0.2], [0.1, 0.6, 0.3], [0.0, 0.0, 1.0]])[None, None]
    found = Attention("copy", (" a", " b", "</s>"), (" x", "y", "</s>"), weights, copied=(0.2, 0.4, 1.0))
    assert found.show().splitlines()[:4] == [
        "copy · layer 1 · one head · tokens · %: the share copied      specials folded: </s> 0.25",
        "        a b",
        "x  20%  ██░░",
        "y  40%  ░░▓▓",
    ]
    words = found.words()
    assert (words.target, words.copied) == (("xy", "</s>"), (pytest.approx(0.3), 1.0))
    np.testing.assert_allclose(words.weights[0, 0], [[0.4, 0.35, 0.25], [0, 0, 1]])
    assert found.mean().copied == found.copied
    assert words.to_dict() == {
        "kind": "copy",
        "unit": "words",
        "source": ["a", "b", "</s>"],
        "target": ["xy", "</s>"],
        "layers": 1,
        "heads": 1,
        "weights": words.weights.tolist(),
        "copied": list(words.copied),
    }


def test_show_without_a_single_piece_is_only_a_title() -> None:
    assert Attention("cross", ("</s>",), ("</s>",), np.ones((1, 1, 1, 1))).show() == (
        "cross · layer 1 · one head · tokens"
    )


def test_to_dict_has_every_number(model: Seq2Seq, tokenizers: Tokenizers) -> None:
    found = attention(model, tokenizers)
    plain = found.to_dict()
    assert (plain["layers"], plain["heads"], plain["kind"], plain["unit"]) == (2, 3, "cross", "tokens")
    np.testing.assert_array_equal(np.array(plain["weights"]), found.weights)


def test_layers_and_heads_are_indices(model: Seq2Seq, tokenizers: Tokenizers) -> None:
    found = attention(model, tokenizers)
    np.testing.assert_array_equal(found[1, 2], found.weights[1, 2])
    np.testing.assert_array_equal(found[-1, -1], found.weights[1, 2])
    assert found[0].shape == found.weights.shape[1:]
    with pytest.raises(IndexError, match="out of bounds"):
        found[2, 0]


def test_a_mean_is_attention_with_one_head(model: Seq2Seq, tokenizers: Tokenizers) -> None:
    found = attention(model, tokenizers)
    np.testing.assert_allclose(found.mean(layer=0)[0, 0], found.weights[0].mean(axis=0), atol=1e-7)
    assert found.mean().words().ascii().startswith("cross · layer 2 · mean of 3 heads · words")
    assert found.mean(layer=None).ascii() == found.show(layer=None)


def test_numbers_cannot_be_overwritten(model: Seq2Seq, tokenizers: Tokenizers) -> None:
    found = attention(model, tokenizers)
    for one in (found, found.mean(), found.words()):
        with pytest.raises(ValueError, match="read-only"):
            one.weights[0, 0, 0, 0] = 1
    assert repr(found) == f"Attention(cross, 2 × 3 × 11 × {len(TEXT) + 1}, tokens)"


def test_stages_are_those_of_the_last_layer_unless_told_otherwise() -> None:
    asked: list[tuple[int, int]] = []

    def find(layer: int, head: int) -> Any:
        asked.append((layer, head))

    found = Attention("cross", ("a",), ("b",), np.ones((2, 1, 1, 1)), find=find)
    found.stages()
    assert asked == [(-1, 0)]  # like `pick` and `show`


def test_merged_weights_have_no_stages(model: Seq2Seq, tokenizers: Tokenizers) -> None:
    with pytest.raises(ConfigError, match="no longer those of a single head") as caught:
        attention(model, tokenizers).words().stages(0, 0)
    assert caught.value.code == "bad_parameter"


def test_all_attention_as_plain_values(model: Seq2Seq, tokenizers: Tokenizers) -> None:
    found = attention(model, tokenizers)
    assert Attentions(cross=found).to_dict() == {"cross": found.to_dict(), "enc_self": None, "dec_self": None}
    assert Attentions().cross is None
