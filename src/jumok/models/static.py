"""A Transformer whose steps run in buffers that stay where they are, for beams of W hypotheses.

The W beams of a sentence share all keys and values. Beam w' writes its token at place t into slot (t, w'),
and nothing is ever moved: where a beam comes from is written down, and it sees the slots of its ancestors.

    seen(w, (t, w')) = 1  if  ancestor(w, t) = w',  else 0

So beams that change their order cost a table of small numbers, not a copy of the cache, and a sentence's
source is read once for all of its beams. Every shape is fixed and the place t is a tensor: one CUDA graph of
a step serves many steps.

Axis letters: B sentences, W beams of each, S source, T target places, D width, H heads, K width of one head,
N layers, V vocabulary.
"""

import copy
from dataclasses import dataclass, replace
from functools import partial

import torch
from torch import Tensor, nn

from jumok.models.interface import Memory
from jumok.models.transformer import DecoderLayer, TransformerSeq2Seq


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
    source_bias: Tensor  # (B, 1, 1, S), 0 at real tokens, minus infinity elsewhere
    ancestors: Tensor  # (B, W, T) int8, the slot of each beam's ancestor at each place; -1: there is none

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

    def reorder(self, parents: Tensor) -> None:
        """Beam w goes on from beam parents[b, w] (B, W) of its sentence."""
        B, W, T = self.ancestors.shape
        self.ancestors.copy_(self.ancestors.gather(1, parents[:, :, None].expand(B, W, T)))


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
        bias = torch.zeros(B, 1, 1, shape.source, dtype=self.dtype, device=room.device)
        none = torch.full((B, shape.beam, shape.target), -1, dtype=torch.int8, device=room.device)
        return Cache(keys, values, source_keys, source_values, bias, none)

    def read(self, source: Tensor, mask: Tensor, cache: Cache) -> None:
        """Encode the source (B', S') into the cache's first sentences, and forget every past."""
        memory: Memory = self.model.encode(source, mask)
        B, S = source.shape
        for n, layer in enumerate(self.layers):
            key, value = layer.cross.keys_values(memory.states)  # (B', H, S', K)
            cache.source_keys[:B, n, :, :S] = key
            cache.source_values[:B, n, :, :S] = value
        cache.source_bias.fill_(-torch.inf)
        cache.source_bias[:, :, :, 0] = 0  # a sentence that is not there sees something, too
        cache.source_bias[:B, 0, 0, :S].masked_fill_(mask, 0)
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
        B, W = token.shape
        own = torch.arange(W, dtype=torch.int8, device=token.device)  # here a beam is its own ancestor
        cache.ancestors.index_copy_(2, place, own[None, :, None].expand(B, W, 1))
        bias = beam_bias(cache.ancestors[:, :, :places], self.dtype)  # (B, 1, W, T·W)
        x = self.model.target_embedding(token) + positions.index_select(0, place)  # (B, W, D)
        for n, layer in enumerate(self.layers):
            past = cache.keys[:, n], cache.values[:, n]
            source = cache.source_keys[:, n], cache.source_values[:, n]
            x = layer.add_attention(x, partial(attend, layer, place=place, past=past, bias=bias))
            x = layer.add_cross(x, partial(layer.cross, source=source, mask=cache.source_bias))
            x = layer.add_feedforward(x, layer.feedforward)
        return logits(self.model.decoder_norm(x).flatten(0, 1), self.head)


def attend(
    layer: DecoderLayer, x: Tensor, place: Tensor, past: tuple[Tensor, Tensor], bias: Tensor
) -> Tensor:
    """Self-attention of x (B, W, D), all at one place, whose keys and values go into the past."""
    W = x.shape[1]
    query, key, value = layer.attention.project_at(x, place.expand(W))  # (B, H, W, K)
    for slots, new in zip(past, (key, value), strict=True):  # slots (B, H, T·W, K)
        slots.view(*slots.shape[:2], -1, W, slots.shape[3]).index_copy_(2, place, new[:, :, None])
    keys, values = (slots[:, :, : bias.shape[3]] for slots in past)
    return layer.attention.output(query, keys, values, bias)  # type: ignore[no-any-return]  # (B, W, D)


def beam_bias(ancestors: Tensor, dtype: torch.dtype) -> Tensor:
    """ancestors (B, W, T) -> (B, 1, W, T·W): 0 at the slots of ancestors, minus infinity elsewhere."""
    slots = torch.arange(ancestors.shape[1], dtype=torch.int8, device=ancestors.device)
    seen = ancestors[:, :, :, None] == slots  # (B, W, T, W)
    bias = torch.zeros(seen.shape, dtype=dtype, device=seen.device).masked_fill_(~seen, -torch.inf)
    return bias.flatten(2)[:, None]


def logits(x: Tensor, head: Tensor) -> Tensor:
    """x (R, D) times the head (V, D), summed and kept in float32 whatever the factors are: (R, V)."""
    if x.is_cuda and x.dtype != torch.float32:
        return torch.mm(x, head.T, out_dtype=torch.float32)
    return nn.functional.linear(x, head).float()
