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
    ],
    ids=lambda settings: "-".join(map(str, settings.values())) or "default",
)
def test_a_ragged_batch_gets_our_numbers(settings: dict, tmp_path: Path) -> None:
    check_onnx(TransformerConfig(**(SMALL | settings)), tmp_path)
