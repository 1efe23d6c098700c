"""Every kind of Transformer as ONNX gives the numbers that PyTorch gives."""

from pathlib import Path

import pytest
from tests.export.forced import check_onnx

from jumok.config import TransformerConfig

SMALL = {"width": 16, "heads": 2, "feedforward": 24, "encoder_layers": 2, "decoder_layers": 2}


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"norm": "pre", "positions": "learned", "max_positions": 9, "tied": False},
        {"positions": "rotary", "projection": "split", "scaled": False},
        {"norm": "none", "positions": "none", "decoder_layers": 1},
        {"norm": "pre", "residual": False, "positions": "sinusoidal"},
        {"positions": "relative", "buckets": 4, "max_distance": 3, "rms_norm": True, "norm": "pre"},
        {"positions": "relative", "scaled": False, "head_width": 5, "activation": "gelu_tanh", "gated": True},
        {"activation": "gelu", "embedding_norm": True, "embedding_scaled": False, "logits_bias": True},
        {"activation": "silu", "embedding_norm": True, "rms_norm": True, "norm_epsilon": 0.01, "tied": False},
    ],
    ids=lambda settings: "-".join(map(str, settings.values())) or "default",
)
def test_a_ragged_batch_gets_our_numbers(settings: dict, tmp_path: Path) -> None:
    check_onnx(TransformerConfig(**(SMALL | settings)), tmp_path)
