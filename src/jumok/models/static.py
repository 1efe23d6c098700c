"""A Transformer whose steps run in buffers that stay where they are, for beams of W hypotheses.

The W beams of a sentence share all keys and values (`jumok.nn.beams`). Beams that change their order cost a
table of small numbers, not a copy of the cache, and a sentence's source is read once for all of its beams.
Every shape is fixed and the place of the next token is a tensor: one CUDA graph serves many steps.

Axis letters: B sentences, W beams of each, S source, T target places, D width, H heads, K width of one head,
N layers, V vocabulary.
"""

import copy
from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn

from jumok.models.interface import Memory
from jumok.models.transformer import DecoderLayer, TransformerSeq2Seq
from jumok.nn.beams import Pair, attend_past, attend_source, runs_on_kernels
from jumok.nn.best import CHUNK, k_best


@dataclass(frozen=True)
class Shape:
    """How much one batch of a search may take up."""

    sentences: int  # B
    beam: int  # W
    source: int  # S
    target: int  # T


@dataclass(frozen=True)
class Cache:
    """The past of each beam and the source of each sentence. All tensors are written in place."""

    keys: Tensor  # (B, N, H, T·W, K)
    values: Tensor  # (B, N, H, T·W, K)
    source_keys: Tensor  # (B, N, H, S, K)
    source_values: Tensor  # (B, N, H, S, K)
    source_lengths: Tensor  # (B,), real tokens of each source
    ancestors: Tensor  # (B, W, T) small integers, the slot of each beam's ancestor at each place; -1: none

    def first(self, count: int) -> "Cache":
        """The first sentences, in the same memory."""
        return Cache(*(getattr(self, name)[:count] for name in self.__dataclass_fields__))

    def keep(self, rows: Tensor, places: int) -> None:
        """Move these sentences (B',) to the front; only the first `places` have been written."""
        slots = places * self.ancestors.shape[1]
        short = replace(self, keys=self.keys[..., :slots, :], values=self.values[..., :slots, :])
        for name in self.__dataclass_fields__:
            tensor = getattr(short, name)
            tensor[: len(rows)] = tensor.index_select(0, rows)

    def reorder(self, parents: Tensor, place: Tensor) -> None:
        """Beam w goes on from beam parents[b, w] (B, W) of its sentence, whose last token is at `place`."""
        B, W, T = self.ancestors.shape
        self.ancestors.copy_(self.ancestors.gather(1, parents[:, :, None].expand(B, W, T)))
        self.ancestors.index_copy_(2, place, parents[:, :, None].to(self.ancestors.dtype))


class StaticTransformer:
    """A copy of a model's weights in one type of numbers, and the step that runs on a `Cache`."""

    def __init__(self, model: TransformerSeq2Seq, dtype: torch.dtype) -> None:
        self.model = copy.deepcopy(model).to(dtype).eval().requires_grad_(requires_grad=False)
        self.dtype, self.heads = dtype, model.heads
        self.layers = [layer for layer in self.model.decoder if isinstance(layer, DecoderLayer)]
        self.width = model.target_embedding.weight.shape[1]

    @property
    def head(self) -> Tensor:
        """The output projection (V, D)."""
        return self.model.target_embedding.weight if self.model.output is None else self.model.output.weight

    @torch.no_grad()
    def refresh(self, model: TransformerSeq2Seq) -> None:
        """Take the model's weights as they are now, to the same addresses."""
        torch._foreach_copy_(list(self.model.parameters()), list(model.parameters()))

    @property
    def bounded(self) -> bool:
        """Whether a step reads no further than its place by itself, so that `places` need not say it."""
        return runs_on_kernels(self.head[:, : self.width // self.heads])

    def numbers(self, shape: Shape) -> int:
        """How many numbers the keys and values of a cache have."""
        places = shape.target * shape.beam + shape.source
        return 2 * shape.sentences * len(self.layers) * places * self.width

    def make_cache(self, shape: Shape, room: Tensor) -> Cache:
        """A cache whose keys and values lie in `room`, a flat tensor of finite numbers.

        Places that are not seen have weight 0, and 0 times any finite number is 0.
        """
        B, N, H, K = shape.sentences, len(self.layers), self.heads, self.width // self.heads
        longs = [(B, N, H, length, K) for length in (shape.target * shape.beam, shape.source)]
        sizes = [torch.Size(long).numel() for long in longs for _ in range(2)]
        parts = torch.split(room[: sum(sizes)], sizes)
        keys, values = (part.view(longs[0]) for part in parts[:2])
        source_keys, source_values = (part.view(longs[1]) for part in parts[2:])
        lengths = torch.ones(B, dtype=torch.long, device=room.device)
        small = torch.int8 if shape.beam <= torch.iinfo(torch.int8).max else torch.int16
        none = torch.full((B, shape.beam, shape.target), -1, dtype=small, device=room.device)
        return Cache(keys, values, source_keys, source_values, lengths, none)

    def read(self, source: Tensor, mask: Tensor, cache: Cache) -> None:
        """Encode the source (B', S') into the cache's first sentences, and forget every past."""
        memory: Memory = self.model.encode(source, mask)
        B, S = source.shape
        for n, layer in enumerate(self.layers):
            key, value = layer.cross.keys_values(memory.states)  # (B', H, S', K)
            cache.source_keys[:B, n, :, :S] = key
            cache.source_values[:B, n, :, :S] = value
        cache.source_lengths.fill_(1)  # a sentence that is not there sees something, too
        cache.source_lengths[:B] = mask.sum(dim=1)
        cache.ancestors.fill_(-1)

    def positions(self, count: int) -> Tensor:
        """What is added to a token at each of the first `count` places (T, D); 0 past the end of a table."""
        known = count if self.model.rows is None else min(count, self.model.rows)
        rows = torch.zeros(1, count, self.width, dtype=self.dtype, device=self.head.device)
        places = torch.arange(known, device=rows.device)
        rows[:, :known] = self.model.target_positions(rows[:, :known], places, known)
        return rows[0]

    def step(self, token: Tensor, place: Tensor, positions: Tensor, cache: Cache, places: int) -> Tensor:
        """Logits (B·W, V) in float32 after the last token of each beam (B, W), which stands at `place` (1,).

        `positions` (T, D) is what `positions` gave; all that is seen lies within the first `places`.
        """
        scale = self.model.scaled
        x = self.model.target_embedding(token) + positions.index_select(0, place)  # (B, W, D)
        for n, layer in enumerate(self.layers):
            past = cache.keys[:, n], cache.values[:, n]
            source = cache.source_keys[:, n], cache.source_values[:, n]

            def look_back(y: Tensor, layer: DecoderLayer = layer, past: Pair = past) -> Tensor:
                query, *new = layer.attention.project_at(y, place.expand(y.shape[1]))  # (B, H, W, K)
                pair = new[0], new[1]
                context = attend_past(query, pair, past, cache.ancestors, place, places, scale=scale)
                return layer.attention.output.linear(context)  # type: ignore[no-any-return]  # (B, W, D)

            def look_across(y: Tensor, layer: DecoderLayer = layer, source: Pair = source) -> Tensor:
                (query,) = layer.cross.project_query(y)
                context = attend_source(query, source, cache.source_lengths, scale=scale)
                return layer.cross.output.linear(context)  # type: ignore[no-any-return]  # (B, W, D)

            x = layer.add_attention(x, look_back)
            x = layer.add_cross(x, look_across)
            x = layer.add_feedforward(x, layer.feedforward)
        return logits(self.model.decoder_norm(x).flatten(0, 1), self.head)


def wide_bias(entries: int, vocabulary: int) -> int:
    """How many first ids a bias for `best` covers, at least so many of them."""
    return min(vocabulary, entries + -entries % CHUNK)


def best(logits: Tensor, k: int, bias: Tensor, closed: Tensor) -> tuple[Tensor, Tensor]:
    """log P and ids (R, k) of the best pieces after logits (R, V), which are used up; see `jumok.nn.best`."""
    return k_best(logits, k, bias, closed)


def logits(x: Tensor, head: Tensor) -> Tensor:
    """x (R, D) times the head (V, D), summed and kept in float32 whatever the factors are: (R, V)."""
    if x.is_cuda and x.dtype != torch.float32:
        return torch.mm(x, head.T, out_dtype=torch.float32)
    return nn.functional.linear(x, head).float()
