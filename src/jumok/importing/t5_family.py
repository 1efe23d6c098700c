"""T5, T5 v1.1 and mT5 in the layout of the `transformers` package.

Norms by the root mean square before each sub-layer, no bias anywhere, scores that are not divided, and a
learned number for each distance that is added to them. The first T5 multiplies what the head reads by
D^(-1/2) and has one table W for all: with V = W D^(-1/2), sqrt(D) V embeds as W and V heads as W D^(-1/2).
"""

import numpy as np

from jumok.architectures import TransformerConfig
from jumok.errors import ModelError
from jumok.importing.blueprint import Blueprint, cross_attention, linear, norm, self_attention
from jumok.importing.stored import Made, Parts
from jumok.importing.their_settings import TheirSettings
from jumok.importing.vocabulary import LaidVocabulary

KINDS = ("t5", "mt5")
HEAD, TABLE = "lm_head.weight", "shared.weight"


def t5_config(kind: str, said: TheirSettings, parts: Parts) -> TransformerConfig:
    """Our settings of such a model."""
    network = said.fields.get("feed_forward_proj", "relu" if kind == "t5" else "gated-gelu")
    if not isinstance(network, str):
        raise said.wrong("feed_forward_proj", network, "a name")
    name = network.removeprefix("gated-")
    activation = "gelu_new" if network == "gated-gelu" else name
    layers, width = said.number("num_layers"), said.number("d_model")
    heads, each = said.number("num_heads"), said.number("d_kv")
    tied = is_tied(said, parts)
    return TransformerConfig(
        encoder_layers=layers,
        decoder_layers=said.number("num_decoder_layers", usual=layers),
        width=width,
        heads=heads,
        feedforward=said.number("d_ff"),
        dropout=said.share("dropout_rate", 0.1),
        norm="pre",
        rms_norm=True,
        norm_epsilon=said.share("layer_norm_epsilon", 1e-6),
        scaled=False,
        positions="relative",
        buckets=said.number("relative_attention_num_buckets", usual=32),
        max_distance=said.number("relative_attention_max_distance", usual=128),
        activation=said.activation(activation),
        gated=network.startswith("gated-"),
        head_width=0 if heads * each == width else each,
        embedding_scaled=tied and is_scaled(kind, said),
        logits_bias=True,
        tied=tied,
    )


def is_scaled(kind: str, said: TheirSettings) -> bool:
    """Whether what the head reads is multiplied by D^(-1/2): of the first T5, which ties its tables."""
    if kind != "t5":
        return False
    return said.flag("scale_decoder_outputs", usual=said.flag("tie_word_embeddings", usual=True))


def is_tied(said: TheirSettings, parts: Parts) -> bool:
    """Whether the head is the table of embeddings: there is no other, or it has the same numbers."""
    if HEAD not in parts or TABLE not in parts:
        return True
    head, table = parts.tensors[HEAD], parts.tensors[TABLE]
    if head.shape != table.shape or head.kind != table.kind:
        return False
    if said.fields.get("tie_word_embeddings") is False:
        return False
    return bool(np.array_equal(head.raw(), table.raw()))


def t5_blueprint(
    kind: str, said: TheirSettings, config: TransformerConfig, parts: Parts, laid: LaidVocabulary
) -> Blueprint:
    """Each tensor of ours by what it is made of there."""
    width, rows = config.width, int(laid.rows.max()) + 1
    shrink = width**-0.5 if is_scaled(kind, said) else 1.0
    name = TABLE if TABLE in parts else "encoder.embed_tokens.weight"
    table = laid.table(parts.take(name, rows, width))
    tensors = {"target_embedding.weight": table.times(shrink if config.tied else 1.0)}
    if not config.tied:
        tensors["output.weight"] = laid.table(parts.take(HEAD, rows, width)).times(shrink)
    parts.leave(HEAD, TABLE, "encoder.embed_tokens.weight", "decoder.embed_tokens.weight")
    tensors["logits_bias"] = laid.bias(None)
    for side in ("encoder", "decoder"):
        first = f"{side}.block.0.layer.0.SelfAttention.relative_attention_bias.weight"
        tensors[f"{side}_bias.weight"] = parts.take(first, config.buckets, config.heads)
        last = f"{side}.final_layer_norm.weight"
        tensors |= norm(f"{side}_norm", parts.take(last, width), None)
        for n in range(getattr(config, f"{side}_layers")):
            tensors |= _layer(parts, f"{side}.{n}", f"{side}.block.{n}.layer", config)
    # Old files have a table that no layer reads.
    parts.leave("decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.weight")
    parts.finish()
    return Blueprint(config, tensors)


def _layer(parts: Parts, ours: str, theirs: str, config: TransformerConfig) -> dict[str, Made]:
    width, inner = config.width, config.feedforward
    across = config.heads * (config.head_width or width // config.heads)

    def matrix(name: str, letter: str) -> tuple[Made, Made | None]:
        shape = (width, across) if letter == "o" else (across, width)
        return parts.take(f"{name}.{letter}.weight", *shape), None

    found = self_attention(ours, lambda letter: matrix(f"{theirs}.0.SelfAttention", letter))
    found |= norm(f"{ours}.add_attention.norm", parts.take(f"{theirs}.0.layer_norm.weight", width), None)
    last = 1
    if ours.startswith("decoder"):
        last = 2
        found |= cross_attention(ours, lambda letter: matrix(f"{theirs}.1.EncDecAttention", letter))
        found |= norm(f"{ours}.add_cross.norm", parts.take(f"{theirs}.1.layer_norm.weight", width), None)
    dense = f"{theirs}.{last}.DenseReluDense"
    names = {"inner": "wi_0", "gate": "wi_1"} if config.gated else {"inner": "wi"}
    for name, their in names.items():
        weight = parts.take(f"{dense}.{their}.weight", inner, width)
        found |= linear(f"{ours}.feedforward.{name}", weight, None)
    found |= linear(f"{ours}.feedforward.outer", parts.take(f"{dense}.wo.weight", width, inner), None)
    return found | norm(
        f"{ours}.add_feedforward.norm", parts.take(f"{theirs}.{last}.layer_norm.weight", width), None
    )


def no_layer_bias(kind: str, where: str) -> ModelError:
    """The error for relatives of T5 whose layers have tables of their own."""
    return ModelError(
        f"a model of type {kind} has a table of distances in each layer, and here all layers share one",
        where=where,
        hint="T5, T5 v1.1 and mT5 can be imported",
        code="unsupported",
    )
