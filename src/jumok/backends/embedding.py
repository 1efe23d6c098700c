"""Rows of an embedding with a backward pass of our own, for the fast back ends.

Axis letters: L tokens, D width, V vocabulary.
"""

from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function
from torch.nn import functional as F

from jumok.backends.head import wide


class Embed(Function):
    """torch's own backward sorts the ids and waits for the device; this one adds row by row, in fp32."""

    @staticmethod
    def forward(ctx: Any, ids: Tensor, weight: Tensor, scale: float) -> Tensor:
        ctx.save_for_backward(ids)
        ctx.shape, ctx.dtype, ctx.scale = weight.shape, weight.dtype, scale
        rows = F.embedding(ids, weight)
        return rows if scale == 1 else rows.mul_(scale)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[None, Tensor, None]:
        (ids,) = ctx.saved_tensors
        kind = wide(ctx.dtype)
        d_weight = torch.zeros(ctx.shape, dtype=kind, device=ids.device)  # (V, D)
        d_weight.index_add_(0, ids.flatten(), grads[0].flatten(0, -2).to(kind), alpha=ctx.scale)
        return None, d_weight.to(ctx.dtype), None
