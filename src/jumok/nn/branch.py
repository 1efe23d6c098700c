"""The first product of a sub-layer, beside which its input goes on along the residual stream.

    y = x W^T + b,   or relu(x W^T + b)
    dx = dx' + dy W,   dx' what comes back along the stream

Two uses of x are two gradients of x. Here the stream's one is handed to the product that makes the other, so
that their sum costs no pass over memory of its own.

Axis letters: L tokens, D width, F width of the product.
"""

from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function
from torch.nn import functional as F

from jumok.nn import native
from jumok.nn.kernels import available, guarded


def branch(x: Tensor, weight: Tensor, bias: Tensor, *, relu: bool = False) -> tuple[Tensor, Tensor]:
    """x (L, D), weight (F, D), bias (F,) -> y (L, F), and x (L, D) to go on with."""
    if not available(x) and not native.usable(x, weight, bias):
        y = F.linear(x, weight, bias)
        return (y.relu() if relu else y), x
    y, x = Branch.apply(x, weight, bias, relu)  # type: ignore[no-untyped-call]
    return y, x


class Branch(Function):
    @staticmethod
    def forward(
        ctx: Any,
        x: Tensor,
        weight: Tensor,
        bias: Tensor,
        relu: bool,  # noqa: FBT001
    ) -> tuple[Tensor, Tensor]:
        if relu:
            y = torch._addmm_activation(bias, x, weight.t(), use_gelu=False)  # (L, F)
        else:
            y = torch.addmm(bias, x, weight.t())
        ctx.save_for_backward(x, weight, y if relu else None)
        ctx.bias = bias.dtype
        ctx.set_materialize_grads(False)
        return y, x.view_as(x)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor | None) -> tuple[Tensor | None, ...]:
        x, weight, y = ctx.saved_tensors
        given, stream = grads
        if given is None:
            return stream, None, None, None
        dy, d_bias = given.contiguous(), None
        if y is not None:
            dy, d_bias = masked(dy, y)
        elif ctx.needs_input_grad[2]:
            d_bias = summed(dy)
        # In place: whatever else came out of that gradient has been used to make dy.
        dx = dy @ weight if stream is None else stream.contiguous().addmm_(dy, weight)
        return dx, dy.t() @ x, None if d_bias is None else d_bias.to(ctx.bias), None


def masked(dy: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    """dy where y is above 0, and its sum over rows (F,)."""
    if native.usable(dy, y):
        return dy, native.mask_and_sum(dy, y)  # in place: the product that made dy made it for this alone

    def fast() -> tuple[Tensor, Tensor]:
        from jumok.nn.kernels.columns import mask_and_sum

        return mask_and_sum(dy, y)

    def slow() -> tuple[Tensor, Tensor]:
        kept = dy * (y > 0)
        return kept, kept.sum(0, dtype=torch.float32)

    return guarded("mask_and_sum", fast, slow)


def summed(dy: Tensor) -> Tensor:
    """The sum of dy over rows (F,)."""
    if native.usable(dy):
        return native.mask_and_sum(dy, None)

    def fast() -> Tensor:
        from jumok.nn.kernels.columns import column_sums

        return column_sums(dy)

    return guarded("column_sums", fast, lambda: dy.sum(0, dtype=torch.float32))
