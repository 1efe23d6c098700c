"""The T5 layout: its settings and names; `test_huggingface.py` compares its numbers with ours."""

import torch

from jumok.config import TransformerConfig
from jumok.export.t5 import t5_config, t5_reasons, t5_weights
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
