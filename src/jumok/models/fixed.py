"""A Transformer whose steps run in buffers that stay where they are, for beams of W hypotheses.

Every shape is fixed and the place of the next token is a tensor: one CUDA graph serves many steps. The layers
are those of `transformer.py`; only what they look at lies elsewhere (`cache.py`).

Axis letters: B sentences, W beams of each, S source, T target places, D width, H heads, K width of one head,
N layers, V vocabulary, R = B·W rows.
"""

import copy

import torch
from torch import Tensor, nn

from jumok.backends.best import CHUNK, k_best
from jumok.backends.choose import choose_backend
from jumok.models.cache import BatchShape, Buffers, FixedCache
from jumok.models.sentences import Sentences
from jumok.models.transformer import TransformerSeq2Seq
from jumok.nn.attention import exact_weights


class FixedSteps:
    """A copy of a model's weights in one type of numbers, and the step that runs in `Buffers`."""

    def __init__(self, model: TransformerSeq2Seq, dtype: torch.dtype) -> None:
        self.model = copy.deepcopy(model).eval().requires_grad_(requires_grad=False)
        exact = exact_weights(self.model) | {self.model.logits_bias}
        wide = torch.promote_types(dtype, torch.float32)
        for weight in self.model.parameters():
            weight.data = weight.data.to(wide if weight in exact else dtype)
        self.model.ops = self.ops = choose_backend(model.head.device, dtype)
        self.dtype, self.heads, self.layers = dtype, model.heads, len(model.decoder)

    @property
    def vocabulary(self) -> int:
        return len(self.model.head)

    @torch.no_grad()
    def refresh(self, model: TransformerSeq2Seq) -> None:
        """Take the model's weights as they are now, to the same addresses."""
        torch._foreach_copy_(list(self.model.parameters()), list(model.parameters()))

    @property
    def bounded(self) -> bool:
        """Whether a step reads no further than its place by itself, so that `places` need not say it."""
        return self.model.decoder_bias is None and self.ops.bounded(self.heads.width)

    def numbers(self, shape: BatchShape) -> int:
        """How many numbers the keys and values of a batch have."""
        places = shape.target * shape.beam + shape.source
        return 2 * shape.sentences * self.layers * places * self.heads.count * self.heads.width

    def make_buffers(self, shape: BatchShape, room: Tensor) -> Buffers:
        """Buffers whose keys and values lie in `room`, a flat tensor of finite numbers.

        Places that are not seen have weight 0, and 0 times any finite number is 0.
        """
        B, N, H, K = shape.sentences, self.layers, self.heads.count, self.heads.width
        longs = [(B, N, H, length, K) for length in (shape.target * shape.beam, shape.source)]
        sizes = [torch.Size(long).numel() for long in longs for _ in range(2)]
        parts = torch.split(room[: sum(sizes)], sizes)
        keys, values = (part.view(longs[0]) for part in parts[:2])
        source_keys, source_values = (part.view(longs[1]) for part in parts[2:])
        lengths = torch.ones(B, dtype=torch.long, device=room.device)
        small = torch.int8 if shape.beam <= torch.iinfo(torch.int8).max else torch.int16
        none = torch.full((B, shape.beam, shape.target), -1, dtype=small, device=room.device)
        return Buffers(keys, values, source_keys, source_values, lengths, none)

    def read(self, source: Sentences, buffers: Buffers) -> None:
        """Encode sources into the buffers' first sentences, and forget every past."""
        memory = self.model.encode(source)
        B, S = len(source), source.longest
        for n, layer in enumerate(self.model.decoder):
            project = layer.cross.project_memory  # type: ignore[union-attr]
            both, _ = self.ops.branch(memory.states, *project.matrix)  # type: ignore[union-attr, misc]
            grid = source.grid(both.values).view(B, S, 2, self.heads.count, -1).permute(2, 0, 3, 1, 4)
            buffers.source_keys[:B, n, :, :S] = grid[0]  # (B, H, S, K)
            buffers.source_values[:B, n, :, :S] = grid[1]
        buffers.source_lengths.fill_(1)  # a sentence that is not there sees something, too
        buffers.source_lengths[:B] = torch.from_numpy(source.known_lengths).to(source.device)
        buffers.ancestors.fill_(-1)

    def step(self, token: Tensor, place: Tensor, buffers: Buffers, places: int) -> Tensor:
        """Logits (R, V) in float32 after the last token of each beam (B, W), which stands at `place` (1,).

        All that is seen lies within the first `places`.
        """
        cache = FixedCache(self.ops, self.heads, buffers, place, places, self.model.decoder_bias)
        end = buffers.ancestors.shape[2]  # T
        if self.model.rows is not None:  # a table of learned positions may end before
            end = min(end, self.model.rows)
        x = self.model.decoded(token.flatten(), place, end, cache)
        found = logits(x, self.model.head)
        return found if self.model.logits_bias is None else found + self.model.logits_bias

    def best(self, logits: Tensor, k: int, bias: Tensor, closed: Tensor) -> tuple[Tensor, Tensor]:
        """log P and ids (R, k) of the best tokens after logits (R, V), which are used up; see `k_best`."""
        return k_best(logits, k, bias, closed, self.ops.row_peaks)


def wide_bias(entries: int, vocabulary: int) -> int:
    """How many first ids a bias for `best` covers, at least so many of them."""
    return min(vocabulary, entries + -entries % CHUNK)


def logits(x: Tensor, head: Tensor) -> Tensor:
    """x (R, D) times the head (V, D), summed and kept in float32 whatever the factors are: (R, V)."""
    if x.is_cuda and x.dtype != torch.float32:
        return torch.mm(x, head.T, out_dtype=torch.float32)
    return nn.functional.linear(x, head).float()
