"""A GPU's back end: Triton kernels between matrix products. Without a kernel for it, plain torch does an op.

No op waits for the device or looks at a value, so that a whole step can be captured in a graph. Axis letters
as in `backends/torch.py`.
"""

from collections.abc import Callable, Sequence
from math import sqrt

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from jumok.backends.best import CHUNK
from jumok.backends.branch import Sums, plain_sums
from jumok.backends.fast import FastBackend, settled, values_and_biases
from jumok.backends.head import chunked, rdrop_rows, smoothed_rows
from jumok.backends.torch import masked_attention, query_key_value
from jumok.backends.triton.guard import Guard
from jumok.backends.values import Pair, Projected
from jumok.edits import Where
from jumok.nn.layers import EPSILON, FeedForward, Residual
from jumok.nn.relative import Relative
from jumok.nn.spans import Spans

HEAD_WIDTHS = (16, 32, 64, 128)  # that the kernels take as they are
DTYPES = (torch.bfloat16, torch.float16, torch.float32)
LARGEST = 2**31  # the kernels count places in 32 bits
ALIGNED = 16  # fp8 products are for matrices whose sides are multiples of this
WIDEST = 4096  # add & norm keeps a row in registers


class TritonBackend(FastBackend):
    """Kernels are imported where they are called: Triton takes a while to load, if it is there at all."""

    def __init__(self, *, eight: bool = False) -> None:
        """`eight`: feed-forward networks learn in fp8."""
        super().__init__()
        self.guard, self.eight = Guard(), eight

    def seeds(self, count: int, where: torch.device) -> Sequence[Tensor | None]:
        return torch.randint(2**31 - 1, (count, 1), device=where).unbind()

    def drop(self, x: Tensor, share: float, *, training: bool) -> Tensor:
        if not training or not share:
            return x
        from jumok.backends.triton import dropout

        plain = super().drop
        return self.guard(
            "dropout", lambda: dropout.drop(x, float(share)), lambda: plain(x, share, training=True)
        )

    @property
    def sums(self) -> Sums:
        def sums(dy: Tensor, y: Tensor | None) -> Pair:
            from jumok.backends.triton import columns

            def fast() -> Pair:
                return (dy, columns.column_sums(dy)) if y is None else columns.mask_and_sum(dy, y)

            return self.guard("columns", fast, lambda: plain_sums(dy, y))

        return sums

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
        if relative is not None:  # the kernels know no bias
            return super().attend(settled(inputs), heads, spans, scale=scale, where=where, relative=relative)
        values, biases = values_and_biases(inputs)
        width = query_key_value(values)[0].shape[1] // heads

        def fast() -> Tensor:
            from jumok.backends.triton.attention import attend

            if width in HEAD_WIDTHS:
                return attend(values, heads, spans, biases, scale=scale, guard=self.guard)
            wide = tuple(one.values for one in settled(inputs))
            run = lambda x: attend(x, heads, spans, scale=scale, guard=self.guard)  # noqa: E731
            return with_wide_heads(wide, heads, run, scale=scale)

        def slow() -> Tensor:
            seen = query_key_value(tuple(one.values for one in settled(inputs)))
            return masked_attention(seen, heads, spans, scale=scale)

        fits = all(x.dtype in DTYPES and x.numel() < LARGEST for x in values)
        name = "attention" if width <= HEAD_WIDTHS[-1] else f"attention over heads of {width}"
        return self.guard(name, fast, slow) if fits else slow()

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
        plain = super().add_norm

        def slow() -> tuple[Tensor, Tensor | None]:
            return plain(x, states, linear, norm, share, training=training, seed=seed, add=add)

        if not add or not isinstance(norm, nn.LayerNorm) or x.shape[1] > WIDEST:
            return slow()
        parts = (linear.bias, norm.weight, norm.bias, float(share) if training else 0.0, seed, norm.eps)

        def fast() -> tuple[Tensor, Tensor | None]:
            from jumok.backends.triton import norm as kernel

            return kernel.add_norm(x, states @ linear.weight.T, *parts, guard=self.guard)

        return self.guard("add_norm", fast, slow)

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
        plain = super().feed_forward

        def slow() -> tuple[Tensor, Tensor | None]:
            return plain(x, stream, network, residual, norm, training=training, seed=seed)

        inner, outer = network.inner, network.outer
        widths = inner.weight.shape
        if (
            not (self.eight and training and residual.add and isinstance(norm, nn.LayerNorm))
            or not (network.plain and norm.eps == EPSILON)
            or x.dtype != torch.bfloat16
            or any(n % ALIGNED for n in (*widths, len(x)))
            or widths[1] > WIDEST
        ):
            return slow()
        weights = (inner.weight, inner.bias, outer.weight, outer.bias, norm.weight, norm.bias)

        def fast() -> tuple[Tensor, Tensor | None]:
            from jumok.backends.triton.feed_forward import FeedForward8

            given = None if stream is None else stream.contiguous()
            s, y = FeedForward8.apply(  # type: ignore[no-untyped-call]
                x.contiguous(), given, float(residual.dropout.share), seed, *weights
            )
            return s, y

        return self.guard("fp8 feed-forward", fast, slow)

    def head_loss(
        self, states: Tensor, head: Tensor, target: Tensor, smoothing: float, bias: Tensor | None = None
    ) -> Pair:
        def rows(logits: Tensor, target: Tensor, *, grad: bool) -> Pair:
            from jumok.backends.triton import head as kernel

            return self.guard(
                "head_loss",
                lambda: kernel.smoothed_rows(logits, target, float(smoothing), grad=grad),
                lambda: smoothed_rows(logits, target, smoothing, grad=grad),
            )

        def slow() -> Pair:
            return chunked(states, head, target, rows, bias=bias)

        learns = self.eight and torch.is_grad_enabled() and states.requires_grad and head.requires_grad
        if not learns or bias is not None or any(n % ALIGNED for n in states.shape):
            return slow()
        if not states.dtype == head.dtype == torch.bfloat16:
            return slow()

        def fast() -> Pair:
            from jumok.backends.triton.head_eight import Head8

            loss, nll = Head8.apply(states.contiguous(), head, target, float(smoothing))  # type: ignore[no-untyped-call]
            return loss, nll

        return self.guard("fp8 head", fast, slow)

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
            from jumok.backends.triton import head as kernel

            return self.guard(
                "rdrop_loss",
                lambda: kernel.rdrop_rows(logits, target, float(smoothing), float(alpha), grad=grad),
                lambda: rdrop_rows(logits, target, smoothing, alpha, grad=grad),
            )

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
        plain = super().attend_past

        def slow() -> Tensor:
            return plain(query, new, past, ancestors, place, places, scale=scale, bias=bias)

        if bias is not None or not self.bounded(query.shape[-1]):
            return slow()
        from jumok.backends.triton import beams

        def fast() -> Tensor:
            return beams.attend_past(query, new, past, ancestors, place, scale=scale)

        return self.guard("beams", fast, slow)

    def attend_source(self, query: Tensor, source: Pair, lengths: Tensor, *, scale: bool) -> Tensor:
        plain = super().attend_source

        def slow() -> Tensor:
            return plain(query, source, lengths, scale=scale)

        if not self.bounded(query.shape[-1]):
            return slow()
        from jumok.backends.triton import beams

        return self.guard("beams", lambda: beams.attend_source(query, source, lengths, scale=scale), slow)

    def row_peaks(self, logits: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        from jumok.backends.triton import peaks

        plain = super().row_peaks
        return self.guard("peaks", lambda: (logits, *peaks.find_peaks(logits, CHUNK)), lambda: plain(logits))

    def bounded(self, width: int) -> bool:
        from jumok.backends.triton.beams import WIDTHS

        return width in WIDTHS and "beams" not in self.guard.off


def kernel_width(width: int) -> int:
    """The width of heads that the kernels take for heads of this width. ValueError if there is none."""
    for wide in HEAD_WIDTHS:
        if width <= wide:
            return wide
    raise ValueError(f"heads of {width} numbers, and it takes up to {HEAD_WIDTHS[-1]}")


def with_wide_heads(
    inputs: tuple[Tensor, ...],
    heads: int,
    attend: Callable[[tuple[Tensor, ...]], Tensor],
    *,
    scale: bool = True,
) -> Tensor:
    """Attention with zeros behind each head, as wide as the kernels take; inputs (qkv,) or (q, kv) -> (T, D).

    Queries grow by as much as the root that scores are divided by, if they are: sqrt(wide / d_k).
    """
    q, k, v = query_key_value(inputs)
    width = q.shape[1] // heads
    wide = kernel_width(width)

    def widened(x: Tensor) -> Tensor:
        return F.pad(x.reshape(len(x), -1, width), (0, wide - width)).flatten(1)  # (L, ·)

    larger = q * sqrt(wide / width) if scale else q
    out = attend((widened(larger), widened(torch.cat((k, v), dim=1))))  # (T, H · wide)
    return out.view(len(out), heads, wide)[:, :, :width].flatten(1)
