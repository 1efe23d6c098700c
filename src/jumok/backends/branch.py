"""The first product of a sub-layer, beside which its input goes on along the residual stream.

    y = x W^T + b,   or relu(x W^T + b)
    dx = dx' + dy W,   dx' what comes back along the stream

Two uses of x are two gradients of x. Here the stream's one is handed to the product that makes the other, so
that their sum costs no pass over memory of its own.

Axis letters: L tokens, D width, F width of the product.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function

from jumok.backends.products import Multiply, torch_product

Sums = Callable[[Tensor, Tensor | None], tuple[Tensor, Tensor]]
"""`sums(dy, y)`: dy (L, F), set to 0 where y is not above 0 if a y is given, and its sum over rows (F,)."""


class Branch(Function):
    @staticmethod
    def forward(
        ctx: Any,
        x: Tensor,
        weight: Tensor,
        bias: Tensor,
        relu: bool,  # noqa: FBT001
        sums: Sums,
        multiply: Multiply = torch_product,
    ) -> tuple[Tensor, Tensor]:
        y = multiply(x, weight.t(), bias=bias, relu=relu)  # (L, F)
        ctx.save_for_backward(x, weight, y if relu else None)
        ctx.bias, ctx.sums, ctx.multiply = bias.dtype, sums, multiply
        ctx.set_materialize_grads(False)
        return y, x.view_as(x)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor | None) -> tuple[Tensor | None, ...]:
        x, weight, y = ctx.saved_tensors
        given, stream = grads
        if given is None:
            return stream, None, None, None, None, None
        dy, d_bias = given.contiguous(), None
        if y is not None or ctx.needs_input_grad[2]:
            dy, d_bias = ctx.sums(dy, y)
        # In place: whatever else came out of that gradient has been used to make dy.
        onto = None if stream is None else stream.contiguous()
        dx = ctx.multiply(dy, weight, out=onto, add=onto is not None)
        d_weight = ctx.multiply(dy.t(), x) if ctx.needs_input_grad[1] else None
        return dx, d_weight, None if d_bias is None else d_bias.to(ctx.bias), None, None, None


def plain_sums(dy: Tensor, y: Tensor | None) -> tuple[Tensor, Tensor]:
    """`Sums` in plain torch."""
    kept = dy if y is None else dy * (y > 0)
    return kept, kept.sum(0, dtype=torch.float32)
