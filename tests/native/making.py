"""Small models with random weights for the tests of the native engine, in torch and as arrays."""

from typing import Any

import torch

from jumok.architectures import LuongConfig, ModelConfig, RnnConfig, TransformerConfig
from jumok.models.build import build_model
from jumok.models.interface import Seq2Seq

SIZES = {"width": 12, "heads": 2, "feedforward": 20, "encoder_layers": 2, "decoder_layers": 1}
CONFIGS: dict[str, ModelConfig] = {
    "transformer": TransformerConfig(**SIZES),
    "pre": TransformerConfig(**SIZES, norm="pre", positions="learned", max_positions=30, tied=False),
    "split": TransformerConfig(**SIZES, norm="none", positions="rotary", projection="split", scaled=False),
    "t5": TransformerConfig(
        **SIZES,
        norm="pre",
        positions="relative",
        buckets=8,
        max_distance=20,
        head_width=5,
        scaled=False,
        activation="gelu_tanh",
        gated=True,
        rms_norm=True,
        norm_epsilon=1e-6,
        embedding_scaled=False,
        logits_bias=True,
    ),
    "bart": TransformerConfig(
        **SIZES,
        positions="learned",
        max_positions=30,
        activation="gelu",
        embedding_norm=True,
        embedding_scaled=False,
        logits_bias=True,
        tied=False,
    ),
    "rnn": RnnConfig(width=8, layers=2, bidirectional=True),
    "lstm": RnnConfig(width=8, cell="lstm", tied=False),
    "luong": LuongConfig(width=8, score="general", input_feeding=True, layers=2),
    "concat": LuongConfig(width=8, score="concat", cell="rnn", bidirectional=False),
}
VOCABULARY = 277


def make(config: ModelConfig, *, shared: bool = True, seed: int = 0) -> tuple[Seq2Seq, dict[str, Any]]:
    """A model, and the arrays of its state dict."""
    torch.manual_seed(seed)
    factor = 1.0 if getattr(config, "norm", "") == "none" else 1.5  # nothing would hold the numbers together
    model = build_model(config, VOCABULARY if shared else 265, VOCABULARY, shared=shared).eval()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "norm" not in name:
                parameter.mul_(factor)
            if parameter.dim() == 1:
                parameter.add_(torch.randn_like(parameter) * 0.1)
    return model, {name: tensor.numpy().copy() for name, tensor in model.state_dict().items()}
