"""Weights under the names of `transformers`: the same numbers in another order. The twin test is in
test_huggingface.py."""

from math import sqrt

import pytest
import torch

from jumok.config import TransformerConfig
from jumok.export.layouts import layout_of, layout_weights, projections, queries_keys_values
from jumok.models.build import build_model

SMALL = {"width": 8, "heads": 2, "feedforward": 12, "encoder_layers": 1, "decoder_layers": 1}


def weights_of(**settings: object) -> tuple[dict, dict]:
    config = TransformerConfig(**(SMALL | settings))
    torch.manual_seed(3)
    model = build_model(config, 20, 20, shared=True)
    layout = layout_of(config)
    assert layout is not None
    return model.state_dict(), layout_weights(model, config, layout, rows=7)


def test_positions_are_all_sines_and_then_all_cosines() -> None:
    _, theirs = weights_of()
    angles = torch.arange(7)[:, None] / 10_000 ** (torch.arange(0, 8, 2) / 8)
    expected = torch.cat((angles.sin(), angles.cos()), dim=1)
    torch.testing.assert_close(theirs["model.encoder.embed_positions.weight"], expected)
    torch.testing.assert_close(theirs["model.decoder.embed_positions.weight"], expected)


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_what_reads_and_what_writes_the_width_is_in_the_new_order(norm: str) -> None:
    ours, theirs = weights_of(norm=norm)
    order = [0, 2, 4, 6, 1, 3, 5, 7]
    assert torch.equal(theirs["model.shared.weight"], ours["target_embedding.weight"][:, order])
    fc1, fc2 = theirs["model.encoder.layers.0.fc1.weight"], theirs["model.encoder.layers.0.fc2.weight"]
    assert torch.equal(fc1, ours["encoder.0.feedforward.inner.weight"][:, order])
    assert torch.equal(fc2, ours["encoder.0.feedforward.outer.weight"][order])
    assert ("model.decoder.layer_norm.weight" in theirs) == (norm == "pre")


def test_a_learned_table_stays_as_it_is() -> None:
    ours, theirs = weights_of(norm="pre", positions="learned", max_positions=7)
    assert torch.equal(theirs["model.decoder.embed_positions.weight"], ours["target_positions.table"])
    assert torch.equal(theirs["model.shared.weight"], ours["target_embedding.weight"])


def test_queries_grow_where_scores_are_not_divided() -> None:
    ours, theirs = weights_of(norm="pre", positions="learned", max_positions=7, scaled=False)
    weight = ours["decoder.0.cross.project_query.linear.weight"]
    torch.testing.assert_close(theirs["model.decoder.layers.0.encoder_attn.q_proj.weight"], weight * sqrt(4))
    keys = ours["decoder.0.cross.project_memory.linear.weight"][:8]
    assert torch.equal(theirs["model.decoder.layers.0.encoder_attn.k_proj.weight"], keys)


def test_an_untied_model_has_each_embedding_of_its_own() -> None:
    ours, theirs = weights_of(norm="pre", positions="learned", max_positions=7, tied=False)
    assert torch.equal(theirs["lm_head.weight"], ours["output.weight"])
    for name in ("shared", "encoder.embed_tokens", "decoder.embed_tokens"):
        assert torch.equal(theirs[f"model.{name}.weight"], ours["target_embedding.weight"])


def test_one_matrix_per_head_is_the_same_matrix() -> None:
    config = TransformerConfig(**SMALL)
    merged = build_model(config, 20, 20, shared=True)
    split = build_model(TransformerConfig(**SMALL, projection="split"), 20, 20, shared=True)
    split.encoder[0].attention.project.load_merged(merged.encoder[0].attention.project)
    pairs = zip(
        projections(merged.state_dict(), "encoder.0.attention.project"),
        projections(split.state_dict(), "encoder.0.attention.project"),
        strict=True,
    )
    for (weight, bias), (other_weight, other_bias) in pairs:
        assert torch.equal(weight, other_weight)
        assert torch.equal(bias, other_bias)
    assert len(queries_keys_values(split.state_dict(), "decoder.0.cross")) == 3
