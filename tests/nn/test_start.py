"""With which numbers training starts: how far they spread, and which of them are zero or one."""

from collections.abc import Callable

import pytest
import torch
from torch import nn

from jumok.nn.attention import AttentionOutput, LuongAttention, exact_weights, make_projection
from jumok.nn.copying import Copying
from jumok.nn.layers import Embedding, FeedForward, Residual
from jumok.nn.patches import PatchEmbedding
from jumok.nn.positions import LearnedPositions
from jumok.nn.relative import RelativeBias


def glorot(inputs: int, outputs: int) -> float:
    """How far numbers spread that are drawn evenly between plus and minus √(6 / (inputs + outputs))."""
    return float((2 / (inputs + outputs)) ** 0.5)


STARTS: dict[str, tuple[Callable[[], nn.Module], dict[str, float]]] = {
    "embedding": (lambda: Embedding(90, 64), {"weight": 1 / 8}),
    "feed-forward": (
        lambda: FeedForward(64, 100, gated=True),
        {
            **{"inner.weight": glorot(64, 100), "inner.bias": 0, "gate.weight": glorot(64, 100)},
            **{"gate.bias": 0, "outer.weight": glorot(100, 64), "outer.bias": 0},
        },
    ),
    # As if each of the three had been drawn by itself, for all heads at once.
    "merged": (
        lambda: make_projection("merged", 64, 4, 3, 30),
        {"linear.weight": glorot(64, 120), "linear.bias": 0},
    ),
    "split": (lambda: make_projection("split", 64, 4, 3, 30), {"weight": glorot(64, 120), "bias": 0}),
    "output": (lambda: AttentionOutput(64, 120), {"linear.weight": glorot(120, 64), "linear.bias": 0}),
    "dot": (lambda: LuongAttention(64, "dot"), {"w_c.weight": glorot(128, 64)}),
    "general": (lambda: LuongAttention(64, "general"), {"w_a": 1 / 8, "w_c.weight": glorot(128, 64)}),
    "concat": (
        lambda: LuongAttention(1024, "concat"),
        {"w_query": 1 / 32, "w_memory": 1 / 32, "v_a": 1 / 32, "w_c.weight": glorot(2048, 1024)},
    ),
    "copying": (
        lambda: Copying(64),
        {
            **{"query.weight": glorot(64, 64), "query.bias": 0, "key.weight": glorot(64, 64)},
            **{"gate.weight": glorot(128, 1), "gate.bias": 0},
        },
    ),
    "patches": (
        lambda: PatchEmbedding(48, 64, 64),
        {"positions": 0.02, "project.weight": glorot(48, 64), "project.bias": 0},
    ),
    "learned positions": (lambda: LearnedPositions(60, 64), {"table": 1 / 8}),
    "relative positions": (lambda: RelativeBias(64, 40, 128, 256, both=True), {"weight": 1 / 16}),
}


@pytest.mark.parametrize("name", STARTS)
def test_weights_start_as_wide_as_they_should(name: str) -> None:
    make, spread = STARTS[name]
    torch.manual_seed(0)
    parameters = dict(make().named_parameters())
    assert parameters.keys() == spread.keys()
    for key, std in spread.items():
        near = 0.08 if parameters[key].numel() > 500 else 0.25
        assert parameters[key].std(correction=0).item() == pytest.approx(std, rel=near), key
        assert abs(parameters[key].mean().item()) <= 0.2 * std, key


@pytest.mark.parametrize("kind", ["merged", "split"])
def test_heads_are_as_wide_as_the_model_together_unless_it_is_said(kind: str) -> None:
    for head_width, wide in ((0, 64), (30, 120)):
        matrix = make_projection(kind, 64, 4, 2, head_width).matrix  # type: ignore[arg-type]
        assert (matrix.weight.shape, matrix.bias.shape) == ((2 * wide, 64), (2 * wide,))
    assert AttentionOutput(64).linear.in_features == 64


def test_what_add_and_norm_reads_is_read_in_float32() -> None:
    model = nn.ModuleDict(
        {
            "plain": Residual(8, 0.0, "post"),
            "rms": Residual(8, 0.0, "pre", rms=True),
            "none": Residual(8, 0.0, "none"),
            "output": AttentionOutput(8),
            "network": FeedForward(8, 12, gated=True),
        }
    )
    exact = exact_weights(model)
    assert {name for name, weight in model.named_parameters() if weight in exact} == {
        *("plain.norm.weight", "plain.norm.bias", "rms.norm.weight"),
        *("output.linear.bias", "network.outer.bias"),
    }
    for name in ("plain", "rms"):
        assert torch.equal(model[name].norm.weight, torch.ones(8))  # type: ignore[union-attr, arg-type]
    assert Residual(8, 0.0, "post").norm.eps == 1e-5
    assert Residual(8, 0.0, "post", rms=True, epsilon=0.5).norm.eps == 0.5
