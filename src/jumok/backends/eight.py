"""Eight bits for a number: fixed scales, and in plain torch the network and the head that compute with them.

    q(x) = round(x · scale) / scale,   to the nearest fp8 number; what is too large becomes the largest one

Forward numbers are e4m3 (3 bits after the point, 15 powers of two), gradients e5m2 (2 bits, 30 powers). A
floating-point number keeps its accuracy over all of its range, so a scale need only bring the numbers there,
and where they lie is known beforehand: a norm bounds what a product reads, and a gradient of the loss summed
over tokens has the size of one token's share in it, however many there are. So scales are constants: nothing
is measured, nothing remembered from step to step.

Every product of the feed-forward network and of the head is one of q's, forward and backward; the sums in
them, the norm, what goes along the residual stream and the loss are not rounded. These are the twins of
`jumok.backends.triton.feed_forward` and `head_eight`.

Axis letters: L tokens, D width, F inner width, V vocabulary.
"""

from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function

from jumok.backends.head import smoothed_rows

STATES, HIDDEN, WEIGHTS, GRADIENTS = 8.0, 4.0, 64.0, 256.0  # scales: up to 56, 112, 7 and 224 fit
LOGITS = 2.0**14  # of the gradient of a token's logits, none of which is larger than 1
FORWARD, BACKWARD = torch.float8_e4m3fn, torch.float8_e5m2


def to_eight(x: Tensor, scale: float, dtype: torch.dtype) -> Tensor:
    """x · scale in fp8; NaN stays NaN."""
    most = torch.finfo(dtype).max
    return (x.float() * scale).clamp(-most, most).to(dtype)


def rounded(x: Tensor, scale: float, dtype: torch.dtype = FORWARD) -> Tensor:
    """q(x), in fp32."""
    return to_eight(x, scale, dtype).float() / scale


class RoundedNetwork(Function):
    """relu(x W_1^T + b_1) W_2^T of x (L, D) -> (L, D)."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, w1: Tensor, b1: Tensor, w2: Tensor) -> Tensor:
        x8, w8 = rounded(x, STATES), (rounded(w1, WEIGHTS), rounded(w2, WEIGHTS))
        h = rounded((x8 @ w8[0].t() + b1.float()).relu(), HIDDEN)
        ctx.save_for_backward(x8, h, *w8)
        ctx.types = (x.dtype, w1.dtype, b1.dtype, w2.dtype)
        return (h @ w8[1].t()).to(x.dtype)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, ...]:
        x, h, w1, w2 = ctx.saved_tensors
        dy = rounded(grads[0], GRADIENTS, BACKWARD)
        dh = rounded(dy @ w2, GRADIENTS, BACKWARD) * (h > 0)
        found = (dh @ w1, dh.t() @ x, dh.sum(0), dy.t() @ h)
        return tuple(one.to(kind) for one, kind in zip(found, ctx.types, strict=True))


class RoundedHead(Function):
    """Smoothed cross-entropy and nll of softmax(x W^T), summed: x (L, D), W (V, D), target (L,)."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, w: Tensor, target: Tensor, smoothing: float) -> tuple[Tensor, Tensor]:
        x8, w8 = rounded(x, STATES), rounded(w, WEIGHTS)
        logits = (x8 @ w8.t()).to(x.dtype).float()
        loss, nll = smoothed_rows(logits, target, smoothing, grad=True)
        d_logits = rounded(logits, LOGITS, BACKWARD)
        ctx.save_for_backward((d_logits @ w8).to(x.dtype), (d_logits.t() @ x8).to(w.dtype))
        nll = nll.sum()
        ctx.mark_non_differentiable(nll)
        return loss.sum(), nll

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        dx, dw = ctx.saved_tensors
        return dx * grads[0], dw * grads[0], None, None
