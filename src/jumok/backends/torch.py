"""The ops that models are made of, in plain torch. A model cannot tell which back end computes them.

This one runs everywhere and is the twin of all others, which are subclasses: each op that they do not have is
this one. Tokens lie end to end (`jumok.models.sentences`), so most tensors are (L, D): L tokens of all
sentences. Axis letters: L tokens, T queries, S keys, D width, H heads, K width of one head, V vocabulary, B
rows of a rectangle, W beams.
"""

from collections.abc import Iterable, Sequence
from itertools import repeat
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.utils.rnn import PackedSequence

from jumok.backends.banded import banded_attention
from jumok.backends.beams import twin_past, twin_source
from jumok.backends.best import twin_peaks
from jumok.backends.head import chunked, rdrop_rows, smoothed_rows
from jumok.backends.values import Pair, Projected, Score, Side, Tokens
from jumok.edits import Where
from jumok.nn.functional import fused_attention, masked_softmax, merge_heads, split_heads
from jumok.nn.layers import ACTIVATIONS, Activation, FeedForward, Residual, dropout
from jumok.nn.positions import sinusoidal
from jumok.nn.relative import Relative
from jumok.nn.spans import Spans, Tables, span_mask


class TorchBackend:
    """Every op as a beginner would write it."""

    # From tokens to vectors

    def positions(self, side: Side, sentences: Tokens, rows: int | None) -> Tensor | None:
        """The position of each token (L,); None: it has none. A learned table has so many `rows`."""
        return sentences.positions

    def next_positions(self, positions: Tensor, rows: int | None) -> Tensor | None:
        """The same for single steps of a target, given the place of each row (R,)."""
        return positions

    def embed(self, ids: Tensor, table: Tensor, scale: float = 1.0) -> Tensor:
        """Rows of a table (V, D) by ids (L,), times a scale -> (L, D)."""
        rows = F.embedding(ids, table)
        return rows if scale == 1 else rows * scale

    def sinusoids(self, positions: Tensor, end: int | None, width: int, kind: torch.dtype) -> Tensor:
        """PE of positions (L,), all before `end` if that is known -> (L, width)."""
        return sinusoidal(positions, width).to(kind)

    def norm_embedded(self, x: Tensor, norm: nn.Module) -> Tensor:
        """The norm of embeddings and their positions (L, D), in a model that has one."""
        return normed_by(norm, x)

    def uniform(self, count: int, where: torch.device) -> Tensor:
        """Random numbers (count,) from 0 to 1."""
        return torch.rand(count, device=where)

    def seeds(self, count: int, where: torch.device) -> Sequence[Tensor | None]:
        """Where the dropout of so many `add_norm`s comes from: on a GPU one launch draws all of them."""
        return [None] * count

    def drop(self, x: Tensor, share: float, *, training: bool) -> Tensor:
        """Dropout."""
        return dropout(x, share, training=training)

    def branch(
        self,
        x: Tensor,
        weight: Tensor,
        bias: Tensor,
        *,
        relu: bool = False,
        owed: bool = False,
        own: bool = True,
    ) -> tuple[Projected, Tensor]:
        """y = x W^T + b, or relu of it, beside which x goes on along the residual stream: y and that x.

        `owed` lets the attention that reads y sum the bias's gradient. `own`: the gradient that comes back
        along the stream was made for this alone, and may be added to in place.
        """
        y = F.linear(x, weight, bias.to(weight.dtype))
        return Projected(y.relu() if relu else y), x

    def attend(
        self,
        inputs: tuple[Projected, ...],
        heads: int,
        spans: Spans,
        *,
        scale: bool,
        where: Where,
        relative: Relative | None = None,
    ) -> Tensor:
        """softmax(Q K^T / sqrt(d_k)) V in each head, of (qkv,) or (q, kv) laid side by side -> (T, D).

        Self-attention may add what `relative` positions say to the scores.
        """
        q, k, v = query_key_value(tuple(one.values for one in inputs))
        if spans.lengths is None and relative is not None:
            return banded_attention((q, k, v), heads, spans, relative, scale=scale)
        if spans.lengths is None:
            return masked_attention((q, k, v), heads, spans, scale=scale)
        tables, contexts = self.tables(spans), []
        sides = (tables.queries(q), tables.keys(k), tables.keys(v), self.masks(tables, causal=spans.causal))
        biases: Iterable[Tensor | None] = repeat(None) if relative is None else relative.over(tables)
        for (*qkv, mask), bias in zip(zip(*sides, strict=True), biases, strict=False):
            query, keys, values = (split_heads(x, heads) for x in qkv)  # (B_g, H, ·, K)
            context = self.attend_grid(query, keys, values, mask, scale=scale, where=where, bias=bias)
            contexts.append(merge_heads(context))  # (B_g, T_g, D)
        return tables.laid(contexts, len(q))

    def tables(self, spans: Spans) -> Tables:
        """How sentences become rectangles."""
        return spans.tables

    def masks(self, tables: Tables, *, causal: bool) -> list[Tensor]:
        return tables.masks(causal=causal)

    def attend_grid(  # noqa: PLR0913
        self,
        query: Tensor,
        keys: Tensor,
        values: Tensor,
        mask: Tensor | None,
        *,
        scale: bool,
        where: Where,
        first: int | Tensor = 0,
        begin: Tensor | None = None,
        bias: Tensor | None = None,
    ) -> Tensor:
        """The same in a rectangle: query (B, H, T, K), keys and values (B, H, S, K) -> (B, H, T, K).

        The mask broadcasts to (B, H, T, S), and so does what is added to the scores, the `bias`; None: every
        key is seen, nothing added. `first` is the position of the first query and `begin` the place of
        position 0 among the keys, (B,) where rows differ.
        """
        return fused_attention(query, keys, values, mask, scale=scale, bias=bias)

    def attend_by(
        self, score: Score, query: Tensor, keys: Tensor, values: Tensor, spans: Spans, *, where: Where
    ) -> Tensor:
        """softmax(score(query, keys)) values: query (T, D), keys and values (S, D) -> (T, D)."""
        tables, contexts = self.tables(spans), []
        masks = self.masks(tables, causal=spans.causal)
        of_values = tables.keys(values)
        of_keys = of_values if keys is values else tables.keys(keys)
        for q, k, v, mask in zip(tables.queries(query), of_keys, of_values, masks, strict=True):
            scores = score(q, k)  # (B_g, T_g, S_g)
            contexts.append(self.weigh_grid(q, k, v, (scores, scores), mask[:, 0], where=where)[1])
        return tables.laid(contexts, len(query))

    def weigh_grid(
        self,
        query: Tensor,
        keys: Tensor,
        values: Tensor,
        scores: tuple[Tensor, Tensor],
        mask: Tensor,
        *,
        where: Where,
        first: int | Tensor = 0,
    ) -> tuple[Tensor, Tensor]:
        """From one head's scores, before and after scaling (B, T, S), to weights and context (B, T, D)."""
        weights = masked_softmax(scores[1], mask)
        return weights, weights @ values.to(weights.dtype)

    def copy(
        self, copying: Any, x: Tensor, logits: Tensor, memory: Pair, spans: Spans, longest: int
    ) -> Tensor:
        """log p (M, V) of a model that copies; memory is the encoder's states (N, D) and the tokens (N,)."""
        laid: Tensor = copying.laid(x, logits, *memory, spans, longest)
        return laid

    def output(self, where: Where, out: Tensor) -> Tensor:
        """What an attention makes of its context in the end, handed on."""
        return out

    def add_norm(
        self,
        x: Tensor,
        states: Tensor,
        linear: nn.Linear,
        norm: nn.Module | None,
        share: float,
        *,
        training: bool,
        seed: Tensor | None,
        add: bool = True,
    ) -> tuple[Tensor, Tensor | None]:
        """s = x + dropout(states W^T + b), and its norm: both (L, D). Without `add`, s is the change."""
        change = self.drop(
            self.branch(states, linear.weight, linear.bias)[0].values, share, training=training
        )
        s = x + change if add else change
        return s, None if norm is None else normed_by(norm, s)

    def feed_forward(
        self,
        x: Tensor,
        stream: Tensor | None,
        network: FeedForward,
        residual: Residual,
        norm: nn.Module | None,
        *,
        training: bool,
        seed: Tensor | None,
    ) -> tuple[Tensor, Tensor | None]:
        """`add_norm` of relu(x W_1^T + b_1) and the outer product; without a `stream`, x goes on itself.

        A network may have another activation, and a gate: act(x W_1^T + b_1) * (x W_g^T + b_g).
        """
        own = residual.whole  # a gradient that no norm has made anew is not ours to add to
        relu = network.activation == "relu"
        first, after = self.branch(x, *network.first, relu=relu, own=own)
        hidden = first.values if relu else self.activate(first.values, network.activation)
        if network.second is not None:
            gate, after = self.branch(after, *network.second, own=own)
            hidden = self.gate(hidden, gate.values)
        return self.add_norm(
            after if stream is None else stream,
            hidden,
            network.outer,
            norm,
            residual.dropout.share,
            training=training,
            seed=seed,
            add=residual.add,
        )

    def activate(self, x: Tensor, activation: Activation) -> Tensor:
        """What stands between the two matrices of a feed-forward network, where it is not relu."""
        return ACTIVATIONS[activation](x)

    def gate(self, x: Tensor, gate: Tensor) -> Tensor:
        """x * gate."""
        return x * gate

    def run_cell(
        self, cell: nn.RNNBase, x: Tensor, sentences: Tokens | None, hidden: Tensor | None, side: Side
    ) -> tuple[Tensor, Tensor]:
        """All states, and the last ones (C, N, B, D), of a recurrent cell over tokens (L, D) laid end to end.

        Without sentences x is a rectangle (B, T, D).
        """
        if sentences is None:
            return call_cell(cell, x, hidden)
        time = sentences.time
        packed = PackedSequence(x[time.places], time.sizes, time.order, time.inverse)
        states, last = call_cell(cell, packed, hidden)
        room = states.data.new_zeros(len(x), states.data.shape[1])
        return room.index_copy(0, time.places, states.data), last

    def bridge(self, final: Tensor) -> Tensor:
        """The encoder's last states (B, N, C, D) on their way to the decoder."""
        return final

    def logits(self, states: Tensor, head: Tensor, bias: Tensor | None = None) -> Tensor:
        """states head^T, all at once, plus a bias (V,): (L, D), (V, D) -> (L, V)."""
        found = states @ head.to(states.dtype).T
        return found if bias is None else found + bias.to(found.dtype)

    def head_loss(
        self, states: Tensor, head: Tensor, target: Tensor, smoothing: float, bias: Tensor | None = None
    ) -> Pair:
        """Smoothed cross-entropy and nll of softmax(states head^T + bias), summed.

        A target of 0 weighs nothing.
        """

        def rows(logits: Tensor, target: Tensor, *, grad: bool) -> Pair:
            return smoothed_rows(logits, target, smoothing, grad=grad)

        return chunked(states, head, target, rows, bias=bias)

    def rdrop_loss(
        self,
        states: Tensor,
        head: Tensor,
        target: Tensor,
        smoothing: float,
        alpha: float,
        bias: Tensor | None = None,
    ) -> Pair:
        """The same for two passes (2M, D) that must agree (R-Drop)."""

        def rows(logits: Tensor, target: Tensor, *, grad: bool) -> Pair:
            return rdrop_rows(logits, target, smoothing, alpha, grad=grad)

        return chunked(states, head, target, rows, bias=bias)

    def attend_past(
        self,
        query: Tensor,
        new: Pair,
        past: Pair,
        ancestors: Tensor,
        place: Tensor,
        places: int,
        *,
        scale: bool,
        bias: Tensor | None = None,
    ) -> Tensor:
        """query and new (B, H, W, K) at one `place`, past (B, H, T·W, K) -> (B, W, H·K).

        A bias (H, 1, places) is added to the scores.
        """
        return twin_past(query, new, past, ancestors, place, places, scale=scale, bias=bias)

    def attend_source(self, query: Tensor, source: Pair, lengths: Tensor, *, scale: bool) -> Tensor:
        """query (B, H, W, K), source (B, H, S, K) of `lengths` (B,) real tokens -> (B, W, H·K)."""
        return twin_source(query, source, lengths, scale=scale)

    def row_peaks(self, logits: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """What `jumok.backends.best` needs of logits (R, V)."""
        return twin_peaks(logits)

    def bounded(self, width: int) -> bool:
        """Whether `attend_past` reads no further than its place by itself, for heads of this width."""
        return False


def query_key_value(inputs: tuple[Tensor, ...]) -> tuple[Tensor, Tensor, Tensor]:
    """Views of the three, (T, D), (S, D), (S, D), in (qkv,) or (q, kv), or in their gradients."""
    *first, last = inputs
    q, k, v = (*first, *last.chunk(3 - len(first), dim=-1))
    return q, k, v


def masked_attention(
    qkv: tuple[Tensor, Tensor, Tensor], heads: int, spans: Spans, *, scale: bool = True
) -> Tensor:
    """All queries against all keys, with a mask (T, S): the twin of every attention over spans."""
    q, k, v = (split_heads(x[None], heads) for x in qkv)  # (1, H, L, K)
    return merge_heads(fused_attention(q, k, v, span_mask(spans), scale=scale))[0]  # (T, D)


def normed_by(norm: nn.Module, x: Tensor) -> Tensor:
    """LayerNorm or RMSNorm; the input itself where a model has none."""
    if isinstance(norm, nn.RMSNorm):
        return F.rms_norm(x.to(norm.weight.dtype), norm.normalized_shape, norm.weight, norm.eps).to(x.dtype)
    if not isinstance(norm, nn.LayerNorm):
        return x
    wide = x.to(norm.weight.dtype)  # the norm's own weights may stay in float32
    return F.layer_norm(wide, norm.normalized_shape, norm.weight, norm.bias, norm.eps).to(x.dtype)


def call_cell(cell: nn.RNNBase, x: Tensor | PackedSequence, hidden: Tensor | None) -> tuple[Any, Tensor]:
    """Every state and the last ones: hidden (C, N, B, D) in and out; None starts from zeros.

    On a GPU a cell computes in the type of its weights, autocast or not: torch would give cuDNN fp16 even
    when bf16 is asked for, and small gradients vanish in fp16.
    """
    if x.data.is_cuda and torch.is_autocast_enabled("cuda"):
        dtype = next(cell.parameters()).dtype
        with torch.autocast("cuda", enabled=False):
            return call_cell(cell, x.to(dtype), None if hidden is None else hidden.to(dtype))
    given: Any = hidden
    if hidden is not None:
        given = (hidden[0], hidden[1]) if isinstance(cell, nn.LSTM) else hidden[0]
    states, last = cell(x, given)
    return states, torch.stack(last) if isinstance(last, tuple) else last[None]  # (C, N, B, D)
