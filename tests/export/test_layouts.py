"""Weights under the names of `transformers`: the same numbers in another order. The twin test is in
test_huggingface.py."""

from math import sqrt
from typing import Any

import pytest
import torch

from jumok.config import DataConfig, DecodingConfig, RunConfig, TransformerConfig
from jumok.export.layouts import layout_of, layout_weights, projections, queries_keys_values, table_rows
from jumok.models.build import build_model

SMALL: dict[str, Any] = {"width": 8, "heads": 2, "feedforward": 12, "encoder_layers": 1, "decoder_layers": 1}


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


def test_every_side_has_its_own_norms_and_tables() -> None:
    """BART's: each has two rows of zeros before its learned positions."""
    config = TransformerConfig(
        **(SMALL | {"positions": "learned", "max_positions": 7, "embedding_norm": True})
    )
    model = build_model(config, 20, 20, shared=True)
    weights = model.state_dict()
    for n, name in enumerate(weights):
        weights[name].fill_(n)
    layout = layout_of(config)
    assert layout is not None
    theirs = layout_weights(model, config, layout, rows=7)
    for side, our in (("encoder", "source"), ("decoder", "target")):
        table = theirs[f"model.{side}.embed_positions.weight"]
        assert torch.equal(table[:2], torch.zeros(2, 8))
        assert torch.equal(table[2:], weights[f"{our}_positions.table"])
        for what in ("weight", "bias"):
            mine = weights[f"{our}_norm.{what}"]
            assert torch.equal(theirs[f"model.{side}.layernorm_embedding.{what}"], mine)
    norms = [("self_attn_layer_norm", "attention"), ("encoder_attn_layer_norm", "cross")]
    for their, mine in [*norms, ("final_layer_norm", "feedforward")]:
        found = theirs[f"model.decoder.layers.0.{their}.weight"]
        assert torch.equal(found, weights[f"decoder.0.add_{mine}.norm.weight"])


def test_which_layout_has_which_norms_and_positions() -> None:
    def name(**settings: Any) -> str | None:
        found = layout_of(TransformerConfig(**(SMALL | settings)))
        return None if found is None else f"{found.type} {found.architecture} {found.waves} {found.offset}"

    learned: dict[str, Any] = {"positions": "learned", "max_positions": 7}
    assert name() == "marian MarianMTModel True 0"
    assert name(norm="pre") == "pegasus PegasusForConditionalGeneration True 0"
    assert name(norm="pre", **learned) == "blenderbot BlenderbotForConditionalGeneration False 0"
    assert name(embedding_norm=True, **learned) == "bart BartForConditionalGeneration False 2"
    assert name(norm="pre", embedding_norm=True, **learned) == "mbart MBartForConditionalGeneration False 2"
    assert name(**learned) is None
    assert name(embedding_norm=True) is None
    t5: dict[str, Any] = {"positions": "relative", "norm": "pre", "rms_norm": True}
    assert name(**t5) == "t5 T5ForConditionalGeneration False 0"
    for other in ({"norm": "post"}, {"rms_norm": False}, {"embedding_norm": True}):
        assert name(**(t5 | other)) is None


def test_a_table_has_rows_for_what_is_read_and_what_is_written() -> None:
    """Each with one more, for the end or the start; a learned one as many as it has."""

    def config(longest: int, written: int, **settings: Any) -> RunConfig:
        model = TransformerConfig(**(SMALL | settings))
        return RunConfig(
            model=model, data=DataConfig(max_length=longest), decoding=DecodingConfig(max_len=written)
        )

    assert table_rows(config(20, 10)) == 21
    assert table_rows(config(10, 20)) == 21
    assert table_rows(config(10, 20), 21) == 21
    assert table_rows(config(10, 20), 22) == 22
    assert table_rows(config(10, 20, positions="learned", max_positions=30), 512) == 30
