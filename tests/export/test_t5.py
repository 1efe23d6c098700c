"""The T5 layout: its settings and names; `test_huggingface.py` compares its numbers with ours."""

from dataclasses import replace

import pytest
import torch

from jumok.config import TransformerConfig
from jumok.errors import ConfigError
from jumok.export.t5 import check_biases, t5_config, t5_reasons, t5_weights
from jumok.models.build import build_model

SMALL = TransformerConfig(
    width=8,
    heads=2,
    feedforward=12,
    encoder_layers=2,
    decoder_layers=1,
    positions="relative",
    norm="pre",
    rms_norm=True,
    gated=True,
    activation="gelu_tanh",
)


def test_settings_in_its_words() -> None:
    found = t5_config(SMALL)
    assert (found["d_kv"], found["num_layers"], found["num_decoder_layers"]) == (4, 2, 1)
    assert found["feed_forward_proj"] == "gated-gelu"
    assert t5_reasons(SMALL) == []


def test_weights_under_its_names() -> None:
    ours = build_model(SMALL, 20, 20, shared=True).state_dict()
    found = t5_weights(ours, SMALL)
    assert torch.allclose(found["shared.weight"], ours["target_embedding.weight"] * 8**0.5)
    assert "lm_head.weight" not in found
    query = ours["decoder.0.cross.project_query.linear.weight"]
    assert torch.allclose(found["decoder.block.0.layer.1.EncDecAttention.q.weight"], query / 2)
    assert found["encoder.block.1.layer.1.DenseReluDense.wi_1.weight"].shape == (12, 8)
    assert not [name for name in found if "block.1.layer.0.SelfAttention.relative" in name]


def test_every_setting_and_every_name() -> None:
    assert t5_config(SMALL) == {
        "tie_word_embeddings": True,
        "d_model": 8,
        "d_kv": 4,
        "d_ff": 12,
        "num_layers": 2,
        "num_decoder_layers": 1,
        "num_heads": 2,
        "relative_attention_num_buckets": SMALL.buckets,
        "relative_attention_max_distance": SMALL.max_distance,
        "dropout_rate": SMALL.dropout,
        "layer_norm_epsilon": SMALL.norm_epsilon,
        "feed_forward_proj": "gated-gelu",
    }
    found = t5_weights(build_model(SMALL, 20, 20, shared=True).state_dict(), SMALL)
    attention = [f"{letter}.weight" for letter in "qkvo"]
    network = ["DenseReluDense.wi_0.weight", "DenseReluDense.wi_1.weight", "DenseReluDense.wo.weight"]
    names = {"shared.weight"}
    for side, layers in (("encoder", 2), ("decoder", 1)):
        names |= {
            f"{side}.final_layer_norm.weight",
            f"{side}.block.0.layer.0.SelfAttention.relative_attention_bias.weight",
        }
        kinds = ["SelfAttention", "EncDecAttention"][: 1 + (side == "decoder")]
        for n in range(layers):
            for place, kind in enumerate(kinds):
                names |= {f"{side}.block.{n}.layer.{place}.{kind}.{one}" for one in attention}
            names |= {f"{side}.block.{n}.layer.{place}.layer_norm.weight" for place in range(len(kinds) + 1)}
            names |= {f"{side}.block.{n}.layer.{len(kinds)}.{one}" for one in network}
    assert found.keys() == names


@pytest.mark.parametrize("scaled", [True, False])
def test_a_table_that_is_used_as_it_is_goes_there_twice(*, scaled: bool) -> None:
    config = replace(SMALL, embedding_scaled=False, scaled=scaled)
    ours = build_model(config, 20, 20, shared=True).state_dict()
    found = t5_weights(ours, config)
    assert t5_config(config)["tie_word_embeddings"] is False
    assert torch.equal(found["shared.weight"], ours["target_embedding.weight"])
    assert torch.equal(found["lm_head.weight"], ours["target_embedding.weight"])
    query = ours["encoder.1.attention.project.linear.weight"][
        :8
    ]  # of queries, keys and values below each other
    wanted = query / 2 if scaled else query
    assert torch.allclose(found["encoder.block.1.layer.0.SelfAttention.q.weight"], wanted)
    untied = replace(SMALL, tied=False)
    ours = build_model(untied, 20, 20, shared=True).state_dict()
    assert torch.equal(t5_weights(ours, untied)["lm_head.weight"], ours["output.weight"])


def test_what_it_cannot_hold_is_said() -> None:
    gelu = replace(SMALL, activation="gelu")
    assert t5_reasons(gelu) == ["model.activation=gelu with model.gated=true: T5 gates GELU by tanh"]
    plain = replace(gelu, gated=False)
    assert t5_reasons(plain) == []
    assert t5_config(plain)["feed_forward_proj"] == "gelu"
    ours = build_model(SMALL, 20, 20, shared=True).state_dict()
    ours["decoder.0.feedforward.outer.bias"][3] = 1e-9
    said = r"and decoder.0.feedforward.outer.bias of this model is not 0\n  train it with --freeze biases"
    with pytest.raises(ConfigError, match=said):
        t5_weights(ours, SMALL)
    with pytest.raises(ConfigError, match="and logits_bias of this model is not 0"):
        check_biases({"a.weight": torch.ones(1), "logits_bias": torch.ones(2)})
