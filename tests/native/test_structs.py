from typing import Any

import pytest

from jumok.architectures import LuongConfig, ModelConfig, RnnConfig
from jumok.config import TransformerConfig
from jumok.native.structs import c_config


def test_a_config_as_the_library_gets_it() -> None:
    config = TransformerConfig(width=16, heads=4, feedforward=8, norm="pre", positions="rotary", scaled=False)
    shape = c_config(config, 5, 6)
    assert (shape.arch, shape.width, shape.heads, shape.norm, shape.positions) == (2, 16, 4, 1, 2)
    assert (shape.source_vocab, shape.target_vocab, shape.scaled, shape.residual) == (5, 6, 0, 1)
    assert shape.embedding_scale == 4.0


SIZES: dict[str, Any] = {
    "heads": 3,
    "feedforward": 8,
    "encoder_layers": 4,
    "decoder_layers": 5,
    "max_positions": 60,
    "buckets": 8,
    "max_distance": 20,
}
IN_C = {"width": 36, "source_vocab": 6, "target_vocab": 7}
LAYERS = {"encoder_layers": 4, "decoder_layers": 5}
TRANSFORMER = {
    **IN_C,
    **LAYERS,
    "arch": 2,
    "heads": 3,
    "feedforward": 8,
    "head_width": 12,
    "embedding_scale": 6,
}
PLAIN = {"residual": 1, "scaled": 1, "norm_epsilon": pytest.approx(1e-5)}
CONFIGS: list[tuple[ModelConfig, dict[str, Any]]] = [
    (TransformerConfig(width=36, **SIZES), {**TRANSFORMER, **PLAIN}),
    (
        TransformerConfig(width=36, **SIZES, norm="none", positions="learned", residual=False, scaled=False),
        {
            **TRANSFORMER,
            "norm": 2,
            "positions": 1,
            "max_positions": 60,
            "norm_epsilon": pytest.approx(1e-5),
        },
    ),
    (
        TransformerConfig(
            width=36,
            **SIZES,
            positions="relative",
            activation="silu",
            gated=True,
            rms_norm=True,
            norm_epsilon=0.5,
            head_width=7,
            embedding_norm=True,
            logits_bias=True,
            embedding_scaled=False,
        ),
        {
            **TRANSFORMER,
            **{"residual": 1, "scaled": 1, "positions": 4, "buckets": 8, "max_distance": 20},
            **{"activation": 3, "gated": 1, "rms_norm": 1, "norm_epsilon": 0.5, "head_width": 7},
            **{"embedding_norm": 1, "logits_bias": 1, "embedding_scale": 1},
        },
    ),
    (
        RnnConfig(width=8, layers=3, cell="lstm", bidirectional=False),
        {**IN_C, "width": 8, "encoder_layers": 3, "decoder_layers": 3, "cell": 2, "embedding_scale": 1},
    ),
    (
        LuongConfig(width=8, layers=3, cell="gru", score="concat", input_feeding=True, bidirectional=True),
        {
            **{**IN_C, "arch": 1, "width": 8, "encoder_layers": 3, "decoder_layers": 3, "cell": 1},
            **{"embedding_scale": 1, "score": 2, "input_feeding": 1, "bidirectional": 1},
        },
    ),
]


@pytest.mark.parametrize(("config", "told"), CONFIGS)
def test_every_field_has_its_number(config: ModelConfig, told: dict[str, Any]) -> None:
    """What is not named here is 0."""
    shape = c_config(config, 6, 7)
    fields = [name for name, *_ in shape._fields_]
    assert {name: getattr(shape, name) for name in fields} == dict.fromkeys(fields, 0) | told
