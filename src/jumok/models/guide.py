"""One head of the cross-attention that is taught where to look, in one teacher-forced pass."""

from dataclasses import dataclass

from torch import Tensor

from jumok.backends.fast import settled
from jumok.backends.values import Projected
from jumok.config import AlignHead
from jumok.nn.guide import guided_loss
from jumok.nn.spans import Spans


@dataclass(eq=False)
class HeadGuide:
    """Where the head should look, and after the pass the loss of where it did."""

    head: AlignHead
    aligned: Tensor
    """(M,): the place of each target token's partner in its source; -1: it has none."""
    loss: Tensor | None = None
    """Summed over the target tokens that have a partner."""

    def see(
        self, layer: int, query: Projected, keys_values: Projected, heads: int, spans: Spans, *, scale: bool
    ) -> None:
        """What a layer's attention is about to look at: queries (M, D), keys and values (N, 2D)."""
        if layer != self.head.layer or self.head.head is None:
            return
        q, kv = settled((query, keys_values))
        size = q.values.shape[1] // heads
        own = slice(self.head.head * size, (self.head.head + 1) * size)
        tables = spans.tables
        sides = (tables.queries(q.values[:, own]), tables.keys(kv.values[:, own]), tables.masks(causal=False))
        aligned = tables.queries(self.aligned + 1)  # empty cells are 0, and have no partner
        total = self.aligned.new_zeros((), dtype=q.values.dtype).float()
        for queries, keys, mask, places in zip(*sides, aligned, strict=True):
            scores = queries @ keys.transpose(1, 2)  # (B, T, S)
            total = total + guided_loss(scores / size**0.5 if scale else scores, mask[:, 0], places - 1)
        self.loss = total
