"""Transformer encoder-decoder (Vaswani et al. 2017).

    encoder layer:  self-attention -> add & norm -> FFN -> add & norm
    decoder layer:  masked self-attention -> add & norm -> cross-attention -> add & norm -> FFN -> add & norm

In cross-attention Q comes from the decoder, K and V from the encoder. In training all target positions are
computed at once, each under the span that it sees; in inference one position at a time, with the keys and
values of the earlier ones kept (`cache.py`). The layers are the same. A model may do without the sums, the
norms or the division by sqrt(d_k), and have what later models changed: another activation, a gate, RMSNorm,
relative positions, heads of their own width, normed embeddings, a bias of the logits.

Axis letters: L tokens, N source tokens, M target tokens, R rows of a search, D width, H heads, K width of one
head, F inner width, V vocabulary.
"""

from collections.abc import Iterator
from itertools import repeat
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from jumok.backends.torch import TorchBackend, normed_by
from jumok.backends.values import Projected
from jumok.config import AlignHead, TransformerConfig, taught_head
from jumok.models.cache import Cache, GrowingCache, Heads, KeyValues, TransformerState, WholePass
from jumok.models.interface import (
    HeadPrediction,
    Memory,
    PlainPrediction,
    Prediction,
    Seq2Seq,
    edits_of,
)
from jumok.models.parts import (
    make_bias,
    make_network,
    make_positions,
    make_residual,
    norm_of,
    relative_to,
)
from jumok.models.sentences import Sentences
from jumok.nn.attention import AttentionOutput, make_projection
from jumok.nn.copying import Copying
from jumok.nn.functional import split_heads
from jumok.nn.layers import Dropout, Embedding, FeedForward, Matrix, Residual, embedding_scale
from jumok.nn.patches import PatchEmbedding, Patches, read_source
from jumok.nn.positions import LearnedPositions, NoPositions, rotate, sinusoidal


class Stream(NamedTuple):
    """The residual stream between two sub-layers: the sum that goes on, and what the next one reads of it.

    Post-norm goes on from the normed sum itself. Pre-norm goes on from the sum, and the norm that the next
    sub-layer reads through is made together with it; None: the reader makes it.
    """

    sum: Tensor  # (L, D)
    normed: Tensor | None  # (L, D)


class Pass:
    """One way through a stack of layers: the back end, and what its sub-layers look at."""

    def __init__(
        self, model: "TransformerSeq2Seq", cache: Cache, positions: Tensor | None, end: int | None
    ) -> None:
        self.ops: TorchBackend = model.ops
        self.cache, self.training = cache, model.training
        self.angles: Tensor | None = None  # (L, K), by which rotary positions turn queries and keys
        if model.rotary and positions is not None:
            kind = model.target_embedding.weight.dtype
            self.angles = self.ops.sinusoids(positions, end, model.heads.width, kind)
        self.seeds: Iterator[Tensor | None] = repeat(None)  # of dropout, in training

    def read(self, x: Stream, matrix: Matrix, residual: Residual, *, owed: bool) -> tuple[Projected, Stream]:
        """The first product of a sub-layer (L, ·)."""
        normed = normed_by(residual.norm, x.sum) if x.normed is None else x.normed
        # A gradient that no norm has made anew is not ours to add to.
        product, after = self.ops.branch(normed, *matrix, owed=owed, own=residual.whole)
        return product, Stream(x.sum, normed) if residual.pre else Stream(after, after)

    def add(
        self, x: Stream, states: Tensor, linear: nn.Linear, residual: Residual, then: nn.Module | None
    ) -> Stream:
        """Add what the last matrix of a sub-layer makes of these states; pre-norm reads on through `then`."""
        norm = then if residual.pre else residual.norm
        total, normed = self.ops.add_norm(
            x.sum,
            states,
            linear,
            norm,
            residual.dropout.share,
            training=self.training,
            seed=next(self.seeds),
            add=residual.add,
        )
        return Stream(total, normed) if residual.pre else Stream(normed, normed)  # type: ignore[arg-type]

    def feed_forward(
        self, x: Stream, network: FeedForward, residual: Residual, then: nn.Module | None
    ) -> Stream:
        """Read through the network and add what it makes."""
        normed = normed_by(residual.norm, x.sum) if x.normed is None else x.normed
        stream, norm = (x.sum, then) if residual.pre else (None, residual.norm)
        total, after = self.ops.feed_forward(
            normed, stream, network, residual, norm, training=self.training, seed=next(self.seeds)
        )
        return Stream(total, after) if residual.pre else Stream(after, after)  # type: ignore[arg-type]


class SelfAttention(nn.Module):
    """Q, K and V all come from the same sequence."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.project = make_projection(
            config.projection, config.width, config.heads, parts=3, head_width=config.d_k
        )
        self.output = AttentionOutput(config.width, config.heads * config.d_k, scale=config.scaled)
        self.heads, self.rotary = config.heads, config.positions == "rotary"

    def turned(self, qkv: Projected, angles: Tensor | None) -> Projected:
        """Queries and keys turned by their positions (rotary); values stay as they are."""
        if angles is None:
            return qkv
        L, D = qkv.values.shape[0], qkv.values.shape[1] // 3
        both = qkv.values[:, : 2 * D].view(L, 2 * self.heads, -1)  # (L, 2H, K)
        return Projected(
            torch.cat((rotate(both, angles.to(both.dtype)).flatten(1), qkv.values[:, 2 * D :]), dim=1)
        )


class CrossAttention(nn.Module):
    """Q from the decoder, K and V from the encoder's output."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        sizes = (config.projection, config.width, config.heads)
        self.project_query = make_projection(*sizes, parts=1, head_width=config.d_k)
        self.project_memory = make_projection(*sizes, parts=2, head_width=config.d_k)
        self.output = AttentionOutput(config.width, config.heads * config.d_k, scale=config.scaled)


class EncoderLayer(nn.Module):
    """Self-attention, then the feed-forward network, each with add & norm."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.attention = SelfAttention(config)
        self.feedforward = make_network(config)
        self.add_attention = make_residual(config)
        self.add_feedforward = make_residual(config)

    def forward(self, x: Stream, run: Pass, layer: int, then: nn.Module | None) -> Stream:
        """`then` is the norm that follows the layer, where norms stand before sub-layers."""
        attention, feedforward = self.attention, self.feedforward
        qkv, x = run.read(x, attention.project.matrix, self.add_attention, owed=not attention.rotary)
        context = run.cache.attend_self(attention.turned(qkv, run.angles), layer)
        x = run.add(x, context, attention.output.linear, self.add_attention, self.add_feedforward.norm)
        return run.feed_forward(x, feedforward, self.add_feedforward, then)


class DecoderLayer(nn.Module):
    """Masked self-attention, cross-attention, feed-forward network, each with add & norm."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.attention = SelfAttention(config)
        self.cross = CrossAttention(config)
        self.feedforward = make_network(config)
        self.add_attention = make_residual(config)
        self.add_cross = make_residual(config)
        self.add_feedforward = make_residual(config)

    def forward(self, x: Stream, run: Pass, layer: int, then: nn.Module | None) -> Stream:
        attention, cross, feedforward = self.attention, self.cross, self.feedforward
        qkv, x = run.read(x, attention.project.matrix, self.add_attention, owed=not attention.rotary)
        context = run.cache.attend_self(attention.turned(qkv, run.angles), layer)
        x = run.add(x, context, attention.output.linear, self.add_attention, self.add_cross.norm)
        query, x = run.read(x, cross.project_query.matrix, self.add_cross, owed=True)
        context = run.cache.attend_source(query, cross.project_memory, layer)
        x = run.add(x, context, cross.output.linear, self.add_cross, self.add_feedforward.norm)
        return run.feed_forward(x, feedforward, self.add_feedforward, then)


class TransformerSeq2Seq(Seq2Seq):
    """Stacks of encoder and decoder layers between an embedding and the logits."""

    fixed_shapes = True

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
        D, located = config.width, config.positions != "none"
        scale = embedding_scale(D) if config.embedding_scaled else 1.0
        self.width, self.rotary = D, config.positions == "rotary"
        self.heads = Heads(config.heads, config.d_k, config.scaled)
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
        self.encoder_bias, self.decoder_bias = make_bias(config, both=True), make_bias(config, both=False)
        self.source_norm, self.target_norm = (
            norm_of(config) if config.embedding_norm else nn.Identity() for _ in range(2)
        )
        self.encoder = nn.ModuleList(EncoderLayer(config) for _ in range(config.encoder_layers))
        self.decoder = nn.ModuleList(DecoderLayer(config) for _ in range(config.decoder_layers))
        # Pre-norm leaves the last sum without a norm of its own.
        self.encoder_norm, self.decoder_norm = (
            norm_of(config) if config.norm == "pre" else nn.Identity() for _ in range(2)
        )
        self.output = None if config.tied else nn.Linear(D, target_vocab, bias=False)
        self.logits_bias = nn.Parameter(torch.zeros(target_vocab)) if config.logits_bias else None
        self.copying = Copying(D) if config.copy else None
        self.dropout = Dropout(config.dropout)
        if config.residual:  # else nothing adds up, and a signal that shrinks in each layer would be lost
            shrink_branches(self.encoder, config.encoder_layers)
            shrink_branches(self.decoder, config.decoder_layers)

    def encode(self, source: Sentences) -> Memory:
        positions = self.ops.positions("source", source, self.rows)
        end = source.longest if positions is source.positions else None
        x = self.embed_source(source.tokens, positions, end)  # (N, D)
        relative = relative_to(self.encoder_bias, positions, source)
        cache = WholePass(self.ops, self.heads, "enc_self", source.own_spans, relative=relative)
        run = Pass(self, cache, positions, end)
        return Memory(self.through(self.encoder, x, run, self.encoder_norm), source)

    def decode(self, target_in: Sentences, memory: Memory) -> Prediction:
        positions = self.ops.positions("target", target_in, self.rows)
        end = target_in.longest if positions is target_in.positions else None
        across = target_in.spans_over(memory.source)
        past, source = target_in.causal_spans, (memory.states, across)
        relative = relative_to(self.decoder_bias, positions, target_in)
        cache = WholePass(self.ops, self.heads, "dec_self", past, source, self.guide, relative)
        x = self.decoded(target_in.tokens, positions, end, cache)  # (M, D)
        prediction = HeadPrediction(x, self.head, self.ops, self.logits_bias)
        if self.copying is None:
            return prediction
        pair, longest = (memory.states, memory.source.tokens), memory.source.longest
        mixed = self.ops.copy(self.copying, x, prediction.logits(), pair, across, longest)
        return PlainPrediction(mixed)

    def start(self, memory: Memory) -> TransformerState:
        source, heads = memory.source, self.heads
        grid, B = source.grid(memory.states), len(source)  # (B, S, D)
        empty = (KeyValues.empty(B, heads.count, heads.width, grid) for _ in self.decoder)
        pairs = tuple(self.source_pair(grid, layer) for layer in self.decoder)  # type: ignore[arg-type]
        rows = torch.arange(B, device=source.device)
        pointed = None if self.copying is None else self.copying.pointed(grid, source.grid(source.tokens))
        return TransformerState(tuple(empty), pairs, source.mask[:, None, None], rows, None, pointed)

    def step(self, token: Tensor, state: TransformerState) -> tuple[Tensor, TransformerState]:
        cache = GrowingCache(self.ops, self.heads, state, self.decoder_bias)
        places = cache.positions
        positions = self.ops.next_positions(places, self.rows)
        end = cache.length + 1 if positions is places else None
        x = self.decoded(token, positions, end, cache)  # (R, D)
        logits = self.ops.logits(x, self.head, self.logits_bias)  # (R, V)
        if self.copying is not None and state.pointed is not None:
            rows, mask = (x[:, None], logits[:, None]), state.mask[:, 0]
            logits = self.copying(*rows, state.pointed, mask, self.ops, cache.first)[:, 0]
        return logits, cache.after

    @property
    def head(self) -> Tensor:
        """The output projection (V, D)."""
        return self.target_embedding.weight if self.output is None else self.output.weight

    @property
    def taught_head(self) -> AlignHead:
        return taught_head(len(self.decoder))

    @property
    def fits_buffers(self) -> bool:
        plain = self.copying is None and not isinstance(self.source_embedding, PatchEmbedding)
        return plain and edits_of(self) is None

    @property
    def vocabulary(self) -> int:
        return len(self.head)

    @property
    def most_positions(self) -> int | None:
        return self.rows

    def decoded(self, tokens: Tensor, positions: Tensor | None, end: int | None, cache: Cache) -> Tensor:
        """What the head multiplies, for tokens (L,) at these positions, all before `end` -> (L, D)."""
        embedding, ops = self.target_embedding, self.ops
        x = ops.embed(tokens, embedding.weight, embedding.scale)
        x = ops.norm_embedded(self.target_positions(x, positions, end, ops), self.target_norm)
        return self.through(self.decoder, x, Pass(self, cache, positions, end), self.decoder_norm)

    def through(self, layers: nn.ModuleList, x: Tensor, run: Pass, last: nn.Module) -> Tensor:
        """x (L, D) after all layers and, where norms stand before sub-layers, a last one."""
        x = self.ops.drop(x, self.dropout.share, training=self.training)
        if self.training:
            run.seeds = iter(self.ops.seeds(3 * len(layers), x.device))
        stream = Stream(x, None if layers[0].add_attention.pre else x)  # type: ignore[union-attr]
        for n, layer in enumerate(layers):
            then: Any = layers[n + 1].add_attention.norm if n + 1 < len(layers) else last
            stream = layer(stream, run, n, None if self.apart and then is not last else then)
        return stream.sum if stream.normed is None else stream.normed

    def source_pair(self, grid: Tensor, layer: DecoderLayer) -> tuple[Tensor, Tensor]:
        """A layer's keys and values (B, H, S, K) of the encoder's states (B, S, D)."""
        both, _ = self.ops.branch(grid.flatten(0, 1), *layer.cross.project_memory.matrix)
        parts = both.values.view(*grid.shape[:2], -1).chunk(2, dim=-1)
        key, value = (split_heads(part, self.heads.count) for part in parts)
        return key, value

    def embed_source(self, tokens: Tensor, positions: Tensor | None, end: int | None) -> Tensor:
        """Tokens (N,), or patches (N, P), at these positions -> (N, D)."""
        embedding, ops = self.source_embedding, self.ops
        if isinstance(embedding, PatchEmbedding):
            x = embedding(tokens, positions)
        else:
            x = ops.embed(tokens, embedding.weight, embedding.scale)
            x = self.source_positions(x, positions, end, ops)
        return ops.norm_embedded(x, self.source_norm)

    @torch.inference_mode()
    def position_rows(self, count: int) -> Tensor | None:
        """What is added to the source's first `count` tokens (P, D); a learned table may end before.

        Rotary positions add nothing: their rows are the sine and cosine of each angle in turn, (P, K). Those
        of relative ones say what each head adds for a key so many tokens before its query, (P, H).
        """
        if isinstance(self.source_embedding, PatchEmbedding):
            table = self.source_embedding.positions
            return None if table is None else table[:count]
        weight, places = self.source_embedding.weight, self.source_positions
        if isinstance(places, LearnedPositions):
            count = min(count, len(places.table))
        positions = torch.arange(count, device=weight.device)
        if self.rotary:
            return sinusoidal(positions, self.heads.width)
        if self.encoder_bias is not None:
            return self.encoder_bias(-positions[:, None])[:, :, 0].T  # type: ignore[no-any-return]
        if isinstance(places, NoPositions):
            return None
        rows: Tensor = places(weight.new_zeros(count, weight.shape[1]), positions, count, self.ops)
        return rows


def shrink_branches(stack: nn.Module, layers: int) -> None:
    """Start what each sub-layer adds at 1/sqrt(2N) of its size, so that N layers add up to one.

    Post-norm then trains with the learning rates of pre-norm.
    """
    for module in stack.modules():
        if isinstance(module, AttentionOutput):
            module.linear.weight.data *= (2 * layers) ** -0.5
        elif isinstance(module, FeedForward):
            module.outer.weight.data *= (2 * layers) ** -0.5
