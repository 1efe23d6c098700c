"""The Transformer over sentences laid end to end: the same layers and weights, nothing computed for padding.

Attention knows sentences by ranges (`nn/spans.py`); everything else sees one long list of tokens. What lies
between the matrix products is fused (`nn/fused.py`). `TransformerSeq2Seq.encode` and `decode` are the twin.

Axis letters: N source tokens, M target tokens, L either, D width, H heads, K width of one head.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakKeyDictionary

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from jumok.models.interface import PackedBatch
from jumok.nn.attention import AttentionOutput, MergedProjection, SplitProjection
from jumok.nn.branch import branch
from jumok.nn.fused import add_norm, drop, embed
from jumok.nn.layers import Embedding, FeedForward
from jumok.nn.native import draw_seeds
from jumok.nn.positions import LearnedPositions, SinusoidalPositions, rotate, sinusoidal
from jumok.nn.spans import Spans, causal_spans, cross_attention, cross_spans, own_spans, self_attention

if TYPE_CHECKING:
    from jumok.models.transformer import CrossAttention, SelfAttention, TransformerSeq2Seq


def packed_features(model: "TransformerSeq2Seq", batch: PackedBatch) -> Tensor:
    """What the head multiplies, for every target token (M, D)."""
    memory = encode(model, batch)  # (N, D)
    return decode(model, batch, memory)  # (M, D)


def packed_logits(model: "TransformerSeq2Seq", batch: PackedBatch) -> Tensor:
    """Logits (M, V), all of them at once."""
    memory = encode(model, batch)  # (N, D)
    x = decode(model, batch, memory)  # (M, D)
    logits = x @ model.head.T
    if model.copying is None:
        return logits
    return model.copying.packed(x, logits, memory, batch.source, batch.target_reads, batch.longest)


def exact_weights(model: nn.Module) -> set[Tensor]:
    """The weights that this pass reads in float32, whatever it computes in: all that add & norm uses."""
    found: set[Tensor] = set()
    for module in model.modules():
        match module:
            case nn.LayerNorm():
                found |= {module.weight, module.bias}
            case AttentionOutput():
                found.add(module.linear.bias)
            case FeedForward():
                found.add(module.outer.bias)
    return found


def encode(model: "TransformerSeq2Seq", batch: PackedBatch) -> Tensor:
    spans, positions = own_spans(batch.source_range), positions_of(batch.source_range)
    assert isinstance(model.source_embedding, Embedding), "pictures are read in padded batches"
    x = embedded(batch.source, positions, model.source_embedding, model.source_positions)
    residuals = [r for layer in model.encoder for r in (layer.add_attention, layer.add_feedforward)]
    stream = Stream(model, x, residuals, model.encoder_norm)
    for layer in model.encoder:
        attend_to_self(stream, layer.attention, positions, spans)  # type: ignore[arg-type]
        feed_forward(stream, layer.feedforward)  # type: ignore[arg-type]
    return stream.normed  # (N, D)


def decode(model: "TransformerSeq2Seq", batch: PackedBatch, memory: Tensor) -> Tensor:
    spans, positions = causal_spans(batch.target_range), positions_of(batch.target_range)
    across = cross_spans(batch.target_reads, batch.source_readers)
    x = embedded(batch.target_in, positions, model.target_embedding, model.target_positions)
    residuals = [
        r for layer in model.decoder for r in (layer.add_attention, layer.add_cross, layer.add_feedforward)
    ]
    stream = Stream(model, x, residuals, model.decoder_norm)
    for layer in model.decoder:
        attend_to_self(stream, layer.attention, positions, spans)  # type: ignore[arg-type]
        cross: CrossAttention = layer.cross  # type: ignore[assignment]
        to_query, to_memory = matrix(cross.project_query), matrix(cross.project_memory)
        query = stream.read(*to_query.still())  # (M, D)
        keys_values, memory = branch(memory, *to_memory.still())  # (N, 2D)
        biases = to_query.bias, to_memory.bias
        context = cross_attention(query, keys_values, model.heads, across, biases, scale=model.scaled)
        stream.add(context, cross.output.linear)
        feed_forward(stream, layer.feedforward)  # type: ignore[arg-type]
    return stream.normed  # (M, D)


class Stream:
    """The residual stream: what each sub-layer reads (`normed`), and the sum that it adds to.

    Post-norm norms each sum and goes on from there. Pre-norm goes on from the sum itself, and the norm that
    the next sub-layer reads through is made together with the sum. A model without norms reads the sum, and
    in one without residuals the change alone is the sum.
    """

    def __init__(
        self, model: "TransformerSeq2Seq", x: Tensor, residuals: Sequence[Any], last: nn.Module
    ) -> None:
        self.pre, self.adds, self.training = residuals[0].pre, residuals[0].add, model.training
        self.whole = self.adds and isinstance(residuals[0].norm, nn.LayerNorm)  # as the fused pieces want it
        x = drop(x, model.dropout.share, training=self.training)
        self.sum = x
        self.normed = normed_by(residuals[0].norm, x) if self.pre else x
        self.seeds = iter(draw_seeds(len(residuals), x.device).unbind())
        self.after = norms_after(residuals, last, pre=self.pre)

    def read(self, weight: Tensor, bias: Tensor, *, relu: bool = False) -> Tensor:
        """The first product of a sub-layer (L, ·)."""
        if not self.whole:  # a gradient that no norm has made anew is not ours to add to
            product = F.linear(self.normed, weight, bias)
            return product.relu() if relu else product
        product, after = branch(self.normed, weight, bias, relu=relu)
        if not self.pre:
            self.sum = after
        return product

    def add(self, states: Tensor, linear: nn.Linear) -> None:
        """Add what the last matrix of a sub-layer makes of these states (L, ·)."""
        (norm, share), seed = next(self.after), next(self.seeds)
        change = states @ linear.weight.T  # (L, D), its bias comes in with the sum
        if self.whole:
            total, normed = add_norm(
                self.sum,
                change,
                linear.bias,
                norm.weight,
                norm.bias,
                share,
                training=self.training,
                seed=seed,
            )
        else:
            change = drop(change + linear.bias.to(change.dtype), share, training=self.training)
            total = self.sum + change if self.adds else change
            normed = normed_by(norm, total)
        self.sum, self.normed = (total if self.pre else normed), normed


def norms_after(residuals: Sequence[Any], last: nn.Module, *, pre: bool) -> Iterator[tuple[Any, float]]:
    """The norm that follows each sub-layer's sum, and the share of its dropout."""
    norms = [residual.norm for residual in residuals]
    if pre:
        norms = [*norms[1:], last]
    for residual, norm in zip(residuals, norms, strict=True):
        yield norm, residual.dropout.share


def attend_to_self(stream: Stream, attention: "SelfAttention", positions: Tensor, spans: Spans) -> None:
    heads, project, scale = attention.heads, matrix(attention.project), attention.output.scale
    if attention.rotary:
        qkv = turned(stream.read(*project), positions, heads)  # (L, 3D)
        context = self_attention(qkv, heads, spans, scale=scale)
    else:
        qkv = stream.read(*project.still())  # (L, 3D)
        context = self_attention(qkv, heads, spans, project.bias, scale=scale)
    stream.add(context, attention.output.linear)


def feed_forward(stream: Stream, network: FeedForward) -> None:
    hidden = stream.read(network.inner.weight, network.inner.bias, relu=True)  # (L, F)
    stream.add(hidden, network.outer)


class Matrix(NamedTuple):
    """A projection: part by part, head by head within a part."""

    weight: Tensor  # (parts · D, D)
    bias: Tensor  # (parts · D,)

    def still(self) -> "Matrix":
        """The same for a product that leaves the bias's gradient to the attention after it."""
        return Matrix(self.weight, self.bias.detach())


def matrix(projection: MergedProjection | SplitProjection) -> Matrix:
    if isinstance(projection, MergedProjection):
        return Matrix(projection.linear.weight, projection.linear.bias)
    return Matrix(projection.weight.mT.flatten(0, 2), projection.bias.flatten())


def turned(qkv: Tensor, positions: Tensor, heads: int) -> Tensor:
    """Queries and keys turned by their positions (rotary); values stay as they are."""
    L, D = qkv.shape[0], qkv.shape[1] // 3
    both = qkv[:, : 2 * D].view(1, L, 2 * heads, D // heads).transpose(1, 2)  # (1, 2H, L, K)
    both = rotate(both, positions).transpose(1, 2).reshape(L, 2 * D)
    return torch.cat((both, qkv[:, 2 * D :]), dim=1)


def positions_of(ranges: Tensor) -> Tensor:
    """The place of every token in its own sentence (L,)."""
    return torch.arange(ranges.shape[1], dtype=torch.int32, device=ranges.device) - ranges[0]


def embedded(ids: Tensor, positions: Tensor, table: Embedding, places: nn.Module) -> Tensor:
    """Rows of the embedding with their positions added (L, D)."""
    x = embed(ids, table.weight, table.scale)
    match places:
        case SinusoidalPositions():
            # On a CPU every batch has another length: a few tables serve them all.
            count = len(ids) if x.is_cuda else 1 << max(len(ids) - 1, 0).bit_length()
            rows = position_table(places, Table(count, x.shape[1], x.device, x.dtype))
            return x + F.embedding(positions, rows)
        case LearnedPositions():
            return x + embed(positions, places.table, 1.0)
        case _:
            return x


@dataclass(frozen=True)
class Table:
    """What a table of positions depends on."""

    rows: int
    width: int
    device: torch.device
    dtype: torch.dtype


_tables: WeakKeyDictionary[nn.Module, dict[Table, Tensor]] = WeakKeyDictionary()


def position_table(places: SinusoidalPositions, table: Table) -> Tensor:
    """PE of the first positions, kept: no sentence is longer than the batch it lies in.

    Kept as long as the model that uses them: a captured step goes on reading them where they lie.
    """
    tables = _tables.setdefault(places, {})
    if table not in tables:
        with torch.inference_mode(mode=False), torch.no_grad():
            rows = torch.arange(table.rows, device=table.device)
            tables[table] = sinusoidal(rows, table.width).to(table.dtype)
    return tables[table]


def normed_by(norm: nn.Module, x: Tensor) -> Tensor:
    """LayerNorm; the input itself where a model has none."""
    if not isinstance(norm, nn.LayerNorm):
        return x
    wide = x.to(norm.weight.dtype)  # the norm's own weights stay in float32
    return F.layer_norm(wide, norm.normalized_shape, norm.weight, norm.bias, norm.eps).to(x.dtype)
