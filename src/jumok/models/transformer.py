"""Transformer encoder-decoder (Vaswani et al. 2017).

    encoder layer:  self-attention -> add & norm -> FFN -> add & norm
    decoder layer:  masked self-attention -> add & norm -> cross-attention -> add & norm -> FFN -> add & norm

In cross-attention Q comes from the decoder, K and V from the encoder. In training all target positions are
computed at once under a causal mask; in inference one position at a time, with the keys and values of the
earlier ones kept (`cache.py`).

Axis letters: B batch, S source, T target, D width, H heads, K width of one head, N layers.
"""

from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor, nn

from jumok.config import TransformerConfig
from jumok.models.cache import KeyValues
from jumok.models.interface import Kind, Memory, Record, Seq2Seq
from jumok.nn.attention import AttentionOutput, RecordStages, make_projection
from jumok.nn.functional import causal_mask
from jumok.nn.layers import Dropout, Embedding, FeedForward, Residual, embedding_scale
from jumok.nn.positions import LearnedPositions, NoPositions, SinusoidalPositions, rotate


@dataclass(frozen=True)
class TransformerState:
    """What one step needs: keys and values of earlier tokens, and of the source, for each layer."""

    past: tuple[KeyValues, ...]  # N of (B, H, L, K)
    source: tuple[tuple[Tensor, Tensor], ...]  # N pairs (B, H, S, K)
    mask: Tensor  # (B, 1, 1, S)
    sentence: Tensor  # (B,), rows with equal numbers read the same source

    def select(self, rows: Tensor) -> "TransformerState":
        past = tuple(one.select(rows) for one in self.past)
        sentence = self.sentence[rows]
        if torch.equal(sentence, self.sentence):  # a beam reordered itself: the sources stay where they are
            return TransformerState(past, self.source, self.mask, sentence)
        source = tuple((keys[rows], values[rows]) for keys, values in self.source)
        return TransformerState(past, source, self.mask[rows], sentence)


class SelfAttention(nn.Module):
    """Q, K and V all come from the same sequence."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.project = make_projection(config.projection, config.width, config.heads, parts=3)
        self.output = AttentionOutput(config.width)
        self.rotary = config.positions == "rotary"

    def project_at(self, x: Tensor, first: int) -> tuple[Tensor, Tensor, Tensor]:
        """Q, K, V (B, H, L, K) of tokens that stand at `first`, `first` + 1, …"""
        query, key, value = self.project(x)
        if self.rotary:
            positions = torch.arange(first, first + x.shape[1], device=x.device)
            query, key = rotate(query, positions), rotate(key, positions)
        return query, key, value

    def forward(self, x: Tensor, mask: Tensor, record: RecordStages | None = None) -> Tensor:
        query, key, value = self.project_at(x, 0)
        return self.output(query, key, value, mask, record)  # type: ignore[no-any-return]  # (B, L, D)


class CrossAttention(nn.Module):
    """Q from the decoder, K and V from the encoder's output."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.project_query = make_projection(config.projection, config.width, config.heads, parts=1)
        self.project_memory = make_projection(config.projection, config.width, config.heads, parts=2)
        self.output = AttentionOutput(config.width)

    def keys_values(self, memory: Tensor) -> tuple[Tensor, Tensor]:
        key, value = self.project_memory(memory)
        return key, value  # (B, H, S, K) each

    def forward(
        self, x: Tensor, source: tuple[Tensor, Tensor], mask: Tensor, record: RecordStages | None = None
    ) -> Tensor:
        (query,) = self.project_query(x)
        return self.output(query, *source, mask, record)  # type: ignore[no-any-return]  # (B, T, D)


class EncoderLayer(nn.Module):
    """Self-attention, then the feed-forward network, each with add & norm."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.attention = SelfAttention(config)
        self.feedforward = FeedForward(config.width, config.feedforward)
        self.add_attention = Residual(config.width, config.dropout, config.norm)
        self.add_feedforward = Residual(config.width, config.dropout, config.norm)

    def forward(self, x: Tensor, mask: Tensor, record: RecordStages | None = None) -> Tensor:
        x = self.add_attention(x, partial(self.attention, mask=mask, record=record))
        return self.add_feedforward(x, self.feedforward)  # type: ignore[no-any-return]  # (B, S, D)


class DecoderLayer(nn.Module):
    """Masked self-attention, cross-attention, feed-forward network, each with add & norm."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.attention = SelfAttention(config)
        self.cross = CrossAttention(config)
        self.feedforward = FeedForward(config.width, config.feedforward)
        self.add_attention = Residual(config.width, config.dropout, config.norm)
        self.add_cross = Residual(config.width, config.dropout, config.norm)
        self.add_feedforward = Residual(config.width, config.dropout, config.norm)

    def forward(
        self,
        x: Tensor,
        causal: Tensor,
        memory: Memory,
        record_self: RecordStages | None = None,
        record_cross: RecordStages | None = None,
    ) -> Tensor:
        source = self.cross.keys_values(memory.states)
        source_mask = memory.mask[:, None, None, :]  # (B, 1, 1, S)
        x = self.add_attention(x, partial(self.attention, mask=causal, record=record_self))
        x = self.add_cross(x, partial(self.cross, source=source, mask=source_mask, record=record_cross))
        return self.add_feedforward(x, self.feedforward)  # type: ignore[no-any-return]  # (B, T, D)

    def step(
        self, x: Tensor, past: KeyValues, source: tuple[Tensor, Tensor], mask: Tensor
    ) -> tuple[Tensor, KeyValues]:
        """One position: x (B, 1, D) with the keys and values of all earlier ones."""
        grown = past

        def attend(y: Tensor) -> Tensor:
            nonlocal grown
            query, key, value = self.attention.project_at(y, past.length)  # (B, H, 1, K)
            grown = past.append(key, value)
            return self.attention.output(query, grown.keys, grown.values, None)  # type: ignore[no-any-return]

        x = self.add_attention(x, attend)
        x = self.add_cross(x, partial(self.cross, source=source, mask=mask))
        return self.add_feedforward(x, self.feedforward), grown  # (B, 1, D)


class TransformerSeq2Seq(Seq2Seq):
    """Stacks of encoder and decoder layers between an embedding and the logits."""

    def __init__(
        self, config: TransformerConfig, source_vocab: int, target_vocab: int, *, shared: bool
    ) -> None:
        super().__init__()
        D, scale = config.width, embedding_scale(config.width)
        self.heads = config.heads
        self.target_embedding = Embedding(target_vocab, D, scale=scale)
        self.source_embedding = self.target_embedding if shared else Embedding(source_vocab, D, scale=scale)
        self.source_positions, self.target_positions = make_positions(config), make_positions(config)
        self.encoder = nn.ModuleList(EncoderLayer(config) for _ in range(config.encoder_layers))
        self.decoder = nn.ModuleList(DecoderLayer(config) for _ in range(config.decoder_layers))
        # Pre-norm leaves the last sum without a norm of its own.
        last_norm = nn.LayerNorm if config.norm == "pre" else nn.Identity
        self.encoder_norm, self.decoder_norm = last_norm(D), last_norm(D)
        self.output = None if config.tied else nn.Linear(D, target_vocab, bias=False)
        self.dropout = Dropout(config.dropout)
        shrink_branches(self.encoder, config.encoder_layers)
        shrink_branches(self.decoder, config.decoder_layers)

    def encode(self, source: Tensor, source_mask: Tensor, record: Record | None = None) -> Memory:
        x = self.dropout(self.source_positions(self.source_embedding(source)))  # (B, S, D)
        mask = source_mask[:, None, None, :]  # (B, 1, 1, S)
        for n, layer in enumerate(self.encoder):
            x = layer(x, mask, bind(record, "enc_self", n))
        return Memory(self.encoder_norm(x), source_mask)

    def decode(self, target_in: Tensor, memory: Memory, record: Record | None = None) -> Tensor:
        x = self.dropout(self.target_positions(self.target_embedding(target_in)))  # (B, T, D)
        causal = causal_mask(x.shape[1], x.device)  # (T, T)
        for n, layer in enumerate(self.decoder):
            x = layer(x, causal, memory, bind(record, "dec_self", n), bind(record, "cross", n))
        return self.logits(x)  # (B, T, V)

    def start(self, memory: Memory) -> TransformerState:
        B, _, D = memory.states.shape
        empty = (KeyValues.empty(B, self.heads, D // self.heads, memory.states) for _ in self.decoder)
        source = (layer.cross.keys_values(memory.states) for layer in self.decoder)  # type: ignore[union-attr, operator]
        rows = torch.arange(B, device=memory.mask.device)
        return TransformerState(tuple(empty), tuple(source), memory.mask[:, None, None, :], rows)

    def step(self, token: Tensor, state: TransformerState) -> tuple[Tensor, TransformerState]:
        x = self.target_embedding(token[:, None])  # (B, 1, D)
        x = self.dropout(self.target_positions(x, first=state.past[0].length))
        past = []
        for layer, one, source in zip(self.decoder, state.past, state.source, strict=True):
            x, grown = layer.step(x, one, source, state.mask)  # type: ignore[operator]
            past.append(grown)
        after = TransformerState(tuple(past), state.source, state.mask, state.sentence)
        return self.logits(x[:, 0]), after  # (B, V)

    def logits(self, x: Tensor) -> Tensor:
        x = self.decoder_norm(x)
        return self.target_embedding.logits(x) if self.output is None else self.output(x)


def shrink_branches(stack: nn.Module, layers: int) -> None:
    """Start what each sub-layer adds at 1/sqrt(2N) of its size, so that N layers add up to one.

    Post-norm then trains with the learning rates of pre-norm.
    """
    for module in stack.modules():
        if isinstance(module, AttentionOutput):
            module.linear.weight.data *= (2 * layers) ** -0.5
        elif isinstance(module, FeedForward):
            module.outer.weight.data *= (2 * layers) ** -0.5


def make_positions(config: TransformerConfig) -> nn.Module:
    match config.positions:
        case "sinusoidal":
            return SinusoidalPositions()
        case "learned":
            return LearnedPositions(config.max_positions, config.width)
        case "rotary" | "none":
            return NoPositions()  # rotary turns queries and keys inside attention instead


def bind(record: Record | None, kind: Kind, layer: int) -> RecordStages | None:
    """`record` for one attention layer; None stays None, which is the fast path."""
    return None if record is None else lambda stages: record(kind, layer, stages)
