"""A model's settings and weights as the structs of jumok.h."""

import ctypes
from collections.abc import Mapping
from typing import Any

from numpy.typing import NDArray

from jumok.architectures import ARCHS, LuongConfig, ModelConfig, TransformerConfig
from jumok.native.library import F32, I8, CConfig, CTensor
from jumok.native.weights import PackedWeights

NORMS = ("post", "pre", "none")
POSITIONS = ("sinusoidal", "learned", "rotary", "none", "relative")
ACTIVATIONS = ("relu", "gelu", "gelu_tanh", "silu")
CELLS = ("rnn", "gru", "lstm")
SCORES = ("dot", "general", "concat")


def c_config(config: ModelConfig, source_vocab: int, target_vocab: int) -> CConfig:
    """The settings of a model as numbers."""
    shape = CConfig(
        arch=ARCHS.index(config.arch),
        width=config.width,
        source_vocab=source_vocab,
        target_vocab=target_vocab,
        embedding_scale=1.0,
    )
    if isinstance(config, TransformerConfig):
        shape.encoder_layers, shape.decoder_layers = config.encoder_layers, config.decoder_layers
        shape.heads, shape.feedforward = config.heads, config.feedforward
        shape.norm, shape.positions = NORMS.index(config.norm), POSITIONS.index(config.positions)
        shape.residual, shape.scaled = config.residual, config.scaled
        shape.max_positions = config.max_positions if config.positions == "learned" else 0
        shape.embedding_scale = config.width**0.5 if config.embedding_scaled else 1.0
        shape.activation, shape.gated = ACTIVATIONS.index(config.activation), config.gated
        shape.rms_norm, shape.norm_epsilon = config.rms_norm, config.norm_epsilon
        shape.head_width = config.d_k
        shape.embedding_norm, shape.logits_bias = config.embedding_norm, config.logits_bias
        if config.positions == "relative":
            shape.buckets, shape.max_distance = config.buckets, config.max_distance
    else:
        shape.encoder_layers = shape.decoder_layers = config.layers
        shape.cell, shape.bidirectional = CELLS.index(config.cell), config.bidirectional
        if isinstance(config, LuongConfig):
            shape.score, shape.input_feeding = SCORES.index(config.score), config.input_feeding
    return shape


def c_tensors(parts: Mapping[str, PackedWeights]) -> "ctypes.Array[CTensor]":
    """The parts as an array for the library; it holds addresses, so the parts must live on."""
    return (CTensor * len(parts))(
        *(
            CTensor(
                name=name.encode(),
                type=F32 if part.scale is None else I8,
                rows=part.rows,
                columns=part.columns,
                data=address(part.data),
                scale=None if part.scale is None else address(part.scale),
                bias=None if part.bias is None else address(part.bias),
            )
            for name, part in parts.items()
        )
    )


def address(array: NDArray[Any]) -> int:
    return int(array.ctypes.data)
