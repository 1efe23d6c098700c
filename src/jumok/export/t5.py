"""The T5 layout of the `transformers` package: what it can hold, its settings, and our weights by its names.

T5 (Raffel et al. 2020) has no biases, and does not divide scores by sqrt(d_k): queries are made smaller
instead. Its embeddings are not scaled, and where they are the output too, its last states are divided by
sqrt(D). That is our scaled embedding in other numbers.
"""

from collections.abc import Iterator, Mapping
from math import sqrt
from typing import Any

from torch import Tensor

from jumok.config import TransformerConfig
from jumok.errors import ConfigError
from jumok.export.layouts import queries_keys_values

NETWORKS = {"relu": "relu", "gelu_tanh": "gelu_new", "gelu": "gelu", "silu": "silu"}
GATED = {"relu": "gated-relu", "gelu_tanh": "gated-gelu", "silu": "gated-silu"}
"""`gated-gelu` is the formula with tanh, by an old habit of the package."""


def t5_reasons(config: TransformerConfig) -> list[str]:
    """Why T5 cannot hold a model with its norms and positions."""
    reasons = []
    if config.gated and config.activation not in GATED:
        reasons.append(f"model.activation={config.activation} with model.gated=true: T5 gates GELU by tanh")
    return reasons


def one_table(config: TransformerConfig) -> bool:
    """Whether the table of embeddings is the head. T5 then divides what the head reads, so one table that is
    used as it is, as mT5's may be, goes there twice."""
    return config.tied and config.embedding_scaled


def t5_config(config: TransformerConfig) -> dict[str, Any]:
    """Its own settings, beside those that all layouts have."""
    names = GATED if config.gated else NETWORKS
    return {
        "tie_word_embeddings": one_table(config),
        "d_model": config.width,
        "d_kv": config.d_k,
        "d_ff": config.feedforward,
        "num_layers": config.encoder_layers,
        "num_decoder_layers": config.decoder_layers,
        "num_heads": config.heads,
        "relative_attention_num_buckets": config.buckets,
        "relative_attention_max_distance": config.max_distance,
        "dropout_rate": config.dropout,
        "layer_norm_epsilon": config.norm_epsilon,
        "feed_forward_proj": names[config.activation],
    }


def t5_weights(ours: Mapping[str, Tensor], config: TransformerConfig) -> dict[str, Tensor]:
    """Every weight under its name there. A bias that is not 0, of the logits too, is a ConfigError."""
    check_biases(ours)
    scale = sqrt(config.width) if config.embedding_scaled else 1.0
    theirs = {"shared.weight": ours["target_embedding.weight"] * scale}
    if not one_table(config):
        theirs["lm_head.weight"] = ours["target_embedding.weight" if config.tied else "output.weight"]
    for side in ("encoder", "decoder"):
        first = f"{side}.block.0.layer.0.SelfAttention.relative_attention_bias.weight"
        theirs[first] = ours[f"{side}_bias.weight"]
        theirs[f"{side}.final_layer_norm.weight"] = ours[f"{side}_norm.weight"]
        for n in range(getattr(config, f"{side}_layers")):
            theirs |= dict(_block(ours, f"{side}.{n}", f"{side}.block.{n}.layer", config))
    return theirs


def check_biases(ours: Mapping[str, Tensor]) -> None:
    for name, tensor in ours.items():
        if name.endswith((".bias", "logits_bias")) and tensor.any():
            raise ConfigError(
                f"T5 has no biases, and {name} of this model is not 0",
                hint="train it with --freeze biases, or export it to ctranslate2 or onnx, which have them",
                code="unsupported",
            )


def _block(
    ours: Mapping[str, Tensor], name: str, their: str, config: TransformerConfig
) -> Iterator[tuple[str, Tensor]]:
    """The weights of one layer: its attentions, then its network."""
    kinds = (("attention", "SelfAttention"), ("cross", "EncDecAttention"))
    found = [pair for pair in kinds if f"{name}.{pair[0]}.output.linear.weight" in ours]
    for place, (kind, attention) in enumerate(found):
        parts = queries_keys_values(ours, f"{name}.{kind}")
        for letter, (weight, _) in zip("qkv", parts, strict=True):
            smaller = sqrt(config.d_k) if letter == "q" and config.scaled else 1.0
            yield f"{their}.{place}.{attention}.{letter}.weight", weight / smaller
        yield f"{their}.{place}.{attention}.o.weight", ours[f"{name}.{kind}.output.linear.weight"]
        yield f"{their}.{place}.layer_norm.weight", ours[f"{name}.add_{kind}.norm.weight"]
    network = f"{their}.{len(found)}.DenseReluDense"
    inner = "wi_0" if config.gated else "wi"
    yield f"{network}.{inner}.weight", ours[f"{name}.feedforward.inner.weight"]
    if config.gated:
        yield f"{network}.wi_1.weight", ours[f"{name}.feedforward.gate.weight"]
    yield f"{network}.wo.weight", ours[f"{name}.feedforward.outer.weight"]
    yield f"{their}.{len(found)}.layer_norm.weight", ours[f"{name}.add_feedforward.norm.weight"]
