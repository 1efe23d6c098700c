"""A CPU's back end: our C library between matrix products, in float32. `c_ops.py` has the functions.

Who computes the products, and whether their factors are rounded to bfloat16, `products.py` says.

Axis letters as in `torch.py`.
"""

import copy
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from jumok.backends import c_ops
from jumok.backends.branch import Sums
from jumok.backends.fast import FastBackend, settled, values_and_biases
from jumok.backends.head import chunked
from jumok.backends.products import LinearProduct, Multiply, choose_product
from jumok.backends.values import Pair, Projected
from jumok.edits import Where
from jumok.nn.relative import Relative
from jumok.nn.spans import Spans


class NativeBackend(FastBackend):
    """Chances of dropout come from `generator`, or from torch's own; threads have one each."""

    def __init__(self, generator: torch.Generator | None = None, *, bf16: bool = False) -> None:
        super().__init__()
        self.generator, self.bf16, self.product = generator, bf16, choose_product(bf16=bf16)

    def drawing_from(self, generator: torch.Generator) -> "NativeBackend":
        """The same for another thread, with chances of its own."""
        other = copy.copy(self)  # the tables that it keeps stay shared
        other.generator = generator
        return other

    @property
    def multiply(self) -> Multiply:
        return self.product

    def uniform(self, count: int, where: torch.device) -> Tensor:
        return torch.rand(count, generator=self.generator)

    def seeds(self, count: int, where: torch.device) -> Sequence[Tensor | None]:
        return torch.randint(2**63 - 1, (count, 1), generator=self.generator).unbind()

    def drop(self, x: Tensor, share: float, *, training: bool) -> Tensor:
        if not training or not share:
            return x
        kept: Tensor = c_ops.Drop.apply(x, float(share), *self.seeds(1, x.device))  # type: ignore[no-untyped-call]
        return kept

    @property
    def sums(self) -> Sums:
        return lambda dy, y: (dy, c_ops.mask_and_sum(dy, y))  # in place: dy was made for this alone

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
        values, biases = values_and_biases(inputs)
        wide = values[-1].shape[1] // (4 - len(values)) // heads > c_ops.WIDEST_HEAD
        if wide or relative is not None:
            return super().attend(settled(inputs), heads, spans, scale=scale, where=where, relative=relative)
        ends = (spans.key_begin, spans.key_end)
        out: Tensor = c_ops.Attend.apply(*ends, heads, scale, len(inputs), *values, *biases)  # type: ignore[no-untyped-call]
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
        if not add or not isinstance(norm, nn.LayerNorm):
            return super().add_norm(x, states, linear, norm, share, training=training, seed=seed, add=add)
        change: Tensor = LinearProduct.apply(states, linear.weight, self.multiply)  # type: ignore[no-untyped-call]
        given = float(share) if training else 0.0  # the bias comes in below
        parts = (x, change, linear.bias, norm.weight, norm.bias, given, seed, norm.eps)
        s, y = c_ops.AddNorm.apply(*parts)  # type: ignore[no-untyped-call]
        return s, y

    def logits(self, states: Tensor, head: Tensor, bias: Tensor | None = None) -> Tensor:
        if not self.bf16 or states.dtype != torch.float32:
            return super().logits(states, head, bias)
        found: Tensor = LinearProduct.apply(states, head, self.multiply)  # type: ignore[no-untyped-call]
        return found if bias is None else found + bias

    def head_loss(
        self, states: Tensor, head: Tensor, target: Tensor, smoothing: float, bias: Tensor | None = None
    ) -> Pair:
        def rows(logits: Tensor, target: Tensor, *, grad: bool) -> Pair:
            return c_ops.smoothed_rows(logits, target, smoothing, grad=grad)

        return chunked(states, head, target, rows, self.multiply, bias=bias)

    def rdrop_loss(
        self,
        states: Tensor,
        head: Tensor,
        target: Tensor,
        smoothing: float,
        alpha: float,
        bias: Tensor | None = None,
    ) -> Pair:
        def rows(logits: Tensor, target: Tensor, *, grad: bool) -> Pair:
            return c_ops.smoothed_rows(logits, target, smoothing, alpha, grad=grad)

        return chunked(states, head, target, rows, self.multiply, bias=bias)
