"""The parts of a Transformer follow its settings."""

from typing import Any

import pytest
import torch
from torch import nn

from jumok.config import TransformerConfig
from jumok.models.build import build_model
from jumok.models.parts import (
    make_bias,
    make_network,
    make_positions,
    make_residual,
    norm_of,
    relative_to,
)
from jumok.models.sentences import Sentences
from jumok.nn.positions import LearnedPositions, NoPositions, SinusoidalPositions

SIZES: dict[str, Any] = {"width": 8, "heads": 2, "feedforward": 12}


@pytest.mark.parametrize(
    ("positions", "kind"),
    [
        ("sinusoidal", SinusoidalPositions),
        ("learned", LearnedPositions),
        ("rotary", NoPositions),
        ("relative", NoPositions),
        ("none", NoPositions),
    ],
)
def test_positions(positions: Any, kind: type) -> None:
    config = TransformerConfig(**SIZES, positions=positions)
    assert isinstance(make_positions(config), kind)
    assert (make_bias(config, both=True) is not None) is (positions == "relative")


def test_norms() -> None:
    layer = norm_of(TransformerConfig(**SIZES, norm_epsilon=1e-3))
    rms = norm_of(TransformerConfig(**SIZES, rms_norm=True, norm_epsilon=1e-6))
    assert isinstance(layer, nn.LayerNorm)
    assert isinstance(rms, nn.RMSNorm)
    assert (layer.eps, rms.eps) == (1e-3, 1e-6)
    assert [name for name, _ in rms.named_parameters()] == ["weight"]
    residual = make_residual(TransformerConfig(**SIZES, rms_norm=True, norm="pre"))
    assert isinstance(residual.norm, nn.RMSNorm)
    assert residual.whole


def test_a_gate_and_another_activation() -> None:
    plain = make_network(TransformerConfig(**SIZES))
    gated = make_network(TransformerConfig(**SIZES, gated=True, activation="silu"))
    assert plain.plain
    assert not gated.plain
    assert gated.second is not None
    assert plain.second is None
    assert gated.second.weight.shape == gated.first.weight.shape == (12, 8)


def test_a_pass_has_the_bias_of_its_stack_where_tokens_have_positions() -> None:
    bias = make_bias(TransformerConfig(**SIZES, positions="relative"), both=False)
    sentences = Sentences.lay([[4, 5], [6]], torch.device("cpu"))
    assert relative_to(None, sentences.positions, sentences) is None
    assert relative_to(bias, None, sentences) is None
    relative = relative_to(bias, sentences.positions, sentences)
    assert relative is not None
    assert (relative.longest, relative.positions) == (2, None)
    moved = relative_to(bias, sentences.positions + 1, sentences)
    assert moved is not None
    assert moved.positions is not None


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"positions": "relative", "buckets": 8, "max_distance": 10, "norm": "pre", "rms_norm": True},
        {"positions": "relative", "scaled": False, "gated": True, "activation": "gelu_tanh", "head_width": 6},
        {"positions": "learned", "embedding_norm": True, "embedding_scaled": False, "activation": "gelu"},
        {"logits_bias": True, "activation": "silu", "norm_epsilon": 1e-3, "gated": True},
    ],
    ids=lambda options: "-".join(options) or "paper",
)
def test_weights_start_where_they_can_learn(options: dict[str, Any]) -> None:
    """Three pairs are learned by heart in sixty steps, from a loss that begins near that of chance."""
    torch.manual_seed(1)
    config = TransformerConfig(
        width=32, heads=4, feedforward=48, encoder_layers=2, decoder_layers=2, dropout=0, **options
    )
    model = build_model(config, 40, 40, shared=True).train()
    cpu = torch.device("cpu")
    source = Sentences.lay([[5, 6, 7, 2], [8, 9, 2], [7, 6, 5, 2]], cpu)
    target_in = Sentences.lay([[0, 11, 12, 13], [0, 14], [0, 15, 11]], cpu)
    wanted = [11, 12, 13, 2, 14, 2, 15, 11, 2]
    optimizer, losses = torch.optim.Adam(model.parameters(), lr=5e-3), []
    for _ in range(60):
        loss, _ = model(source, target_in).loss(torch.tensor(wanted), 0.0)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(float(loss.detach()) / len(wanted))
    assert 2 < losses[0] < 6  # chance is log 40 = 3.7
    assert losses[-1] < 0.1
