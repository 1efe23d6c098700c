"""Transformer encoder-decoder (Vaswani et al. 2017).

    encoder layer:  self-attention -> add & norm -> FFN -> add & norm
    decoder layer:  masked self-attention -> add & norm -> cross-attention -> add & norm -> FFN -> add & norm

In cross-attention Q comes from the decoder, K and V from the encoder. In training all target positions are
computed at once under a causal mask; in inference one position at a time, with the keys and values of the
earlier ones kept (`cache.py`). A model may do without the sums, the norms or the division by sqrt(d_k).

Axis letters: B batch, S source, T target, D width, H heads, K width of one head, N layers.
"""

from dataclasses import dataclass, replace
from functools import partial

import torch
from torch import Tensor, nn

from jumok.config import TransformerConfig
from jumok.models.cache import KeyValues, TransformerState
from jumok.models.interface import (
    Edits,
    Memory,
    PackedBatch,
    Probe,
    Seq2Seq,
    as_probe,
    edits_of,
    probe_at,
)
from jumok.models.packed import packed_features, packed_logits
from jumok.nn.attention import AttentionOutput, AttentionProbe, make_projection
from jumok.nn.copying import Copying, Pointed
from jumok.nn.functional import causal_mask
from jumok.nn.layers import Dropout, Embedding, FeedForward, Residual, embedding_scale
from jumok.nn.patches import PatchEmbedding, Patches, read_source
from jumok.nn.positions import LearnedPositions, NoPositions, SinusoidalPositions, rotate, sinusoidal


@dataclass(frozen=True)
class Now:
    """Where the next token of each row stands, in its text and in the cache."""

    positions: Tensor | None  # (1,) or (B, 1); None: edited away
    mask: Tensor | None  # (B, 1, 1, L), the past of each row; None: all of the cache
    first: int | Tensor  # the token's place in its own text, for edits of attention
    begin: Tensor | None


class SelfAttention(nn.Module):
    """Q, K and V all come from the same sequence."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.project = make_projection(config.projection, config.width, config.heads, parts=3)
        self.output = AttentionOutput(config.width, scale=config.scaled)
        self.heads, self.rotary = config.heads, config.positions == "rotary"

    def project_at(self, x: Tensor, positions: Tensor | None) -> tuple[Tensor, Tensor, Tensor]:
        """Q, K, V (B, H, L, K) of tokens that stand at these positions, (L,) or (B, L)."""
        query, key, value = self.project(x)
        if self.rotary and positions is not None:
            query, key = rotate(query, positions), rotate(key, positions)
        return query, key, value

    def forward(
        self, x: Tensor, mask: Tensor, positions: Tensor | None, probe: AttentionProbe | None = None
    ) -> Tensor:
        query, key, value = self.project_at(x, positions)
        return self.output(query, key, value, mask, probe)  # type: ignore[no-any-return]  # (B, L, D)


class CrossAttention(nn.Module):
    """Q from the decoder, K and V from the encoder's output."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.project_query = make_projection(config.projection, config.width, config.heads, parts=1)
        self.project_memory = make_projection(config.projection, config.width, config.heads, parts=2)
        self.output = AttentionOutput(config.width, scale=config.scaled)

    def keys_values(self, memory: Tensor) -> tuple[Tensor, Tensor]:
        key, value = self.project_memory(memory)
        return key, value  # (B, H, S, K) each

    def forward(
        self,
        x: Tensor,
        source: tuple[Tensor, Tensor],
        mask: Tensor,
        probe: AttentionProbe | None = None,
        first: int | Tensor = 0,
    ) -> Tensor:
        (query,) = self.project_query(x)
        return self.output(query, *source, mask, probe, first)  # type: ignore[no-any-return]  # (B, T, D)


class EncoderLayer(nn.Module):
    """Self-attention, then the feed-forward network, each with add & norm."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.attention = SelfAttention(config)
        self.feedforward = FeedForward(config.width, config.feedforward)
        self.add_attention = make_residual(config)
        self.add_feedforward = make_residual(config)

    def forward(
        self, x: Tensor, mask: Tensor, positions: Tensor | None, probe: AttentionProbe | None = None
    ) -> Tensor:
        x = self.add_attention(x, partial(self.attention, mask=mask, positions=positions, probe=probe))
        return self.add_feedforward(x, self.feedforward)  # type: ignore[no-any-return]  # (B, S, D)


Probes = tuple[AttentionProbe | None, AttentionProbe | None]
"""What is asked of the self-attention and of the cross-attention of one decoder layer."""


class DecoderLayer(nn.Module):
    """Masked self-attention, cross-attention, feed-forward network, each with add & norm."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.attention = SelfAttention(config)
        self.cross = CrossAttention(config)
        self.feedforward = FeedForward(config.width, config.feedforward)
        self.add_attention = make_residual(config)
        self.add_cross = make_residual(config)
        self.add_feedforward = make_residual(config)

    def forward(
        self,
        x: Tensor,
        causal: Tensor,
        positions: Tensor | None,
        memory: Memory,
        probes: Probes = (None, None),
    ) -> Tensor:
        of_self, of_cross = probes
        source = self.cross.keys_values(memory.states)
        source_mask = memory.mask[:, None, None, :]  # (B, 1, 1, S)
        attend = partial(self.attention, mask=causal, positions=positions, probe=of_self)
        x = self.add_attention(x, attend)
        x = self.add_cross(x, partial(self.cross, source=source, mask=source_mask, probe=of_cross))
        return self.add_feedforward(x, self.feedforward)  # type: ignore[no-any-return]  # (B, T, D)

    def step(
        self,
        x: Tensor,
        now: Now,
        past: KeyValues,
        source: tuple[Tensor, Tensor],
        mask: Tensor,
        probes: Probes = (None, None),
    ) -> tuple[Tensor, KeyValues]:
        """One position: x (B, 1, D) with the keys and values of all earlier ones."""
        of_self, of_cross = probes
        grown = past

        def attend(y: Tensor) -> Tensor:
            nonlocal grown
            query, key, value = self.attention.project_at(y, now.positions)  # (B, H, 1, K)
            grown = past.append(key, value)
            output = self.attention.output
            return output(query, grown.keys, grown.values, now.mask, of_self, now.first, now.begin)  # type: ignore[no-any-return]

        x = self.add_attention(x, attend)
        look = partial(self.cross, source=source, mask=mask, probe=of_cross, first=now.first)
        x = self.add_cross(x, look)
        return self.add_feedforward(x, self.feedforward), grown  # (B, 1, D)


class TransformerSeq2Seq(Seq2Seq):
    """Stacks of encoder and decoder layers between an embedding and the logits."""

    def __init__(
        self,
        config: TransformerConfig,
        source_vocab: int,
        target_vocab: int,
        *,
        shared: bool,
        patches: Patches | None = None,
    ) -> None:
        super().__init__()
        D, scale, located = config.width, embedding_scale(config.width), config.positions != "none"
        self.heads, self.rotary, self.scaled = config.heads, config.positions == "rotary", config.scaled
        self.target_embedding = Embedding(target_vocab, D, scale=scale)
        self.source_embedding = (
            self.target_embedding
            if shared
            else read_source(source_vocab, D, patches, scale=scale, located=located)
        )
        # Patches bring the vectors of their places along.
        self.source_positions = make_positions(config) if patches is None else NoPositions()
        self.target_positions = make_positions(config)
        self.rows = config.max_positions if config.positions == "learned" else None
        self.encoder = nn.ModuleList(EncoderLayer(config) for _ in range(config.encoder_layers))
        self.decoder = nn.ModuleList(DecoderLayer(config) for _ in range(config.decoder_layers))
        # Pre-norm leaves the last sum without a norm of its own.
        last_norm = nn.LayerNorm if config.norm == "pre" else nn.Identity
        self.encoder_norm, self.decoder_norm = last_norm(D), last_norm(D)
        self.output = None if config.tied else nn.Linear(D, target_vocab, bias=False)
        self.copying = Copying(D) if config.copy else None
        self.dropout = Dropout(config.dropout)
        if config.residual:  # else nothing adds up, and a signal that shrinks in each layer would be lost
            shrink_branches(self.encoder, config.encoder_layers)
            shrink_branches(self.decoder, config.decoder_layers)

    def encode(self, source: Tensor, source_mask: Tensor, probe: Probe | None = None) -> Memory:
        edit = None if probe is None else probe.edits.source_positions
        S = source.shape[1]
        plain = torch.arange(S, device=source.device)
        positions, end = (plain, S) if edit is None else (edit.of_source(source_mask), None)
        x = self.dropout(self.embed_source(source, positions, end))  # (B, S, D)
        mask = source_mask[:, None, None, :]  # (B, 1, 1, S)
        if edits_of(probe) is not None:  # padding sees all, so that no edit can leave it without a key
            mask = mask | ~source_mask[:, None, :, None]  # (B, 1, S, S)
        for n, layer in enumerate(self.encoder):
            x = layer(x, mask, positions, probe_at(probe, "enc_self", n))
        return Memory(self.encoder_norm(x), source_mask, tokens=source if self.copies else None)

    def decode(self, target_in: Tensor, memory: Memory, probe: Probe | None = None) -> Tensor:
        T = target_in.shape[1]
        edits = None if probe is None else probe.edits
        x, positions = self.embed_target(target_in, torch.arange(T, device=target_in.device), T, edits)
        causal = causal_mask(T, x.device)  # (T, T)
        for n, layer in enumerate(self.decoder):
            x = layer(x, causal, positions, memory, probes_at(probe, n))
        x, mask = self.decoder_norm(x), memory.mask[:, None]
        return self.logits(x, self.pointed(memory), mask, probe_at(probe, "copy", 0))  # (B, T, V)

    def start(self, memory: Memory, probe: Probe | None = None) -> TransformerState:
        B, _, D = memory.states.shape
        empty = (KeyValues.empty(B, self.heads, D // self.heads, memory.states) for _ in self.decoder)
        source = (layer.cross.keys_values(memory.states) for layer in self.decoder)  # type: ignore[union-attr, operator]
        rows = torch.arange(B, device=memory.mask.device)
        mask = memory.mask[:, None, None, :]
        pointed = self.pointed(memory)
        return TransformerState(tuple(empty), tuple(source), mask, rows, None, edits_of(probe), pointed)

    def step(self, token: Tensor, state: TransformerState) -> tuple[Tensor, TransformerState]:
        x, now = self.embed_next(token, state)
        probe, past = as_probe(state.edits), []
        layers = zip(self.decoder, state.past, state.source, strict=True)
        for n, (layer, one, source) in enumerate(layers):
            x, grown = layer.step(x, now, one, source, state.mask, probes_at(probe, n))  # type: ignore[operator]
            past.append(grown)
        after = replace(state, past=tuple(past))
        point = probe_at(probe, "copy", 0)
        logits = self.logits(self.decoder_norm(x), state.pointed, state.mask[:, 0], point, now.first)
        return logits[:, 0], after  # (B, V)

    @property
    def reads_pictures(self) -> bool:
        return isinstance(self.source_embedding, PatchEmbedding)

    def embed_source(self, source: Tensor, positions: Tensor | None, end: int | None) -> Tensor:
        """Tokens (B, S), or patches (B, S, P), at these positions -> (B, S, D)."""
        if isinstance(self.source_embedding, PatchEmbedding):
            return self.source_embedding(source, positions, bare=positions is None)  # type: ignore[no-any-return]
        return self.source_positions(self.source_embedding(source), positions, end)  # type: ignore[no-any-return]

    def embed_next(self, token: Tensor, state: TransformerState) -> tuple[Tensor, Now]:
        """x (B, 1, D) of the next token of each row (B,), and where it stands."""
        length, begin = state.past[0].length, state.begin
        places = torch.arange(length + 1, device=token.device)
        if begin is None:
            x, positions = self.embed_target(token[:, None], places[length:], length + 1, state.edits)
            return x, Now(positions, None, length, None)
        own = length - begin  # (B,)
        x, positions = self.embed_target(token[:, None], own[:, None], length + 1, state.edits)
        return x, Now(positions, (places >= begin[:, None])[:, None, None, :], own, begin)

    def embed_target(
        self, tokens: Tensor, positions: Tensor, end: int, edits: Edits | None
    ) -> tuple[Tensor, Tensor | None]:
        """Tokens (B, T) at positions before `end` -> x (B, T, D), and the positions after an edit."""
        edit = None if edits is None else edits.target_positions
        at, before = (positions, end) if edit is None else (edit.of_target(positions, self.rows), None)
        return self.dropout(self.target_positions(self.target_embedding(tokens), at, before)), at

    @torch.inference_mode()
    def position_rows(self, count: int) -> Tensor | None:
        """What is added to the source's first `count` tokens (P, D); a learned table may end before.

        Rotary positions add nothing: their rows are the sine and cosine of each angle in turn, (P, K).
        """
        if isinstance(self.source_embedding, PatchEmbedding):
            table = self.source_embedding.positions
            return None if table is None else table[:count]
        weight, places = self.source_embedding.weight, self.source_positions
        if isinstance(places, LearnedPositions):
            count = min(count, len(places.table))
        positions = torch.arange(count, device=weight.device)
        if self.rotary:
            return sinusoidal(positions, weight.shape[1] // self.heads)
        if isinstance(places, NoPositions):
            return None
        rows: Tensor = places(weight.new_zeros(1, count, weight.shape[1]), positions, count)
        return rows[0]

    def features(self, batch: PackedBatch) -> Tensor:
        return packed_features(self, batch)  # (M, D)

    @property
    def head(self) -> Tensor:
        return self.target_embedding.weight if self.output is None else self.output.weight  # (V, D)

    @property
    def copies(self) -> bool:
        return self.copying is not None

    def packed_logits(self, batch: PackedBatch) -> Tensor:
        return packed_logits(self, batch)  # (M, V)

    def pointed(self, memory: Memory) -> Pointed | None:
        if self.copying is None or memory.tokens is None:
            return None
        return self.copying.pointed(memory.states, memory.tokens)

    def logits(
        self,
        x: Tensor,
        pointed: Pointed | None,
        mask: Tensor,
        probe: AttentionProbe | None = None,
        first: int | Tensor = 0,
    ) -> Tensor:
        """x (B, T, D) after its last norm -> (B, T, V); the mask (B, 1, S) is that of what is pointed at."""
        logits = self.target_embedding.logits(x) if self.output is None else self.output(x)
        return logits if self.copying is None else self.copying(x, logits, pointed, mask, probe, first)


def shrink_branches(stack: nn.Module, layers: int) -> None:
    """Start what each sub-layer adds at 1/sqrt(2N) of its size, so that N layers add up to one.

    Post-norm then trains with the learning rates of pre-norm.
    """
    for module in stack.modules():
        if isinstance(module, AttentionOutput):
            module.linear.weight.data *= (2 * layers) ** -0.5
        elif isinstance(module, FeedForward):
            module.outer.weight.data *= (2 * layers) ** -0.5


def make_residual(config: TransformerConfig) -> Residual:
    return Residual(config.width, config.dropout, config.norm, add=config.residual)


def make_positions(config: TransformerConfig) -> nn.Module:
    match config.positions:
        case "sinusoidal":
            return SinusoidalPositions()
        case "learned":
            return LearnedPositions(config.max_positions, config.width)
        case "rotary" | "none":
            return NoPositions()  # rotary turns queries and keys inside attention instead


def probes_at(probe: Probe | None, layer: int) -> Probes:
    """What is asked of one decoder layer."""
    return probe_at(probe, "dec_self", layer), probe_at(probe, "cross", layer)
