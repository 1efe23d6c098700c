"""The loss at the end of a model: the head's product and its cross-entropy, a chunk of places at a time.

A back end says what happens to the logits of a chunk (`Rows`); the plain versions of that are here.
Axis letters: M target tokens, R places of a chunk, D width, V vocabulary, C passes over the same targets.
"""

from math import ceil
from typing import Any, Protocol

import torch
from torch import Tensor
from torch.autograd import Function

from jumok.backends.products import Multiply, torch_product

UNLEARNED = 0  # a target that is BOS, so nothing is to be predicted: the place weighs nothing
CHUNK = 2**30  # bytes of logits at a time
CPU_CHUNK = 2**24  # the same on a CPU, whose cache should still have them when they are read again
ALIGNED = 64  # rows of logits start at a multiple of this, whatever the vocabulary: fast products need it


class Rows(Protocol):
    """Loss and nll (R,) at the places of a chunk; if `grad`, their logits become the gradient of the loss."""

    def __call__(self, logits: Tensor, target: Tensor, *, grad: bool) -> tuple[Tensor, Tensor]: ...


def smoothed_rows(logits: Tensor, target: Tensor, smoothing: float, *, grad: bool) -> tuple[Tensor, Tensor]:
    """The smoothed cross-entropy at each place, and its gradient in place of the logits if `grad`.

        L = log Z - (1 - eps) x_y - eps mean(x),   Z = sum_v exp(x_v)
        dL/dx = p - q,   p = exp(x) / Z,   q = eps / V everywhere, and 1 - eps more at y

    logits (R, V), target (R,) -> loss, nll (R,).
    """
    x = logits.to(wide(logits.dtype))
    right, real = target.long()[:, None], (target != UNLEARNED).to(x.dtype)
    log_z = x.logsumexp(-1)  # (R,)
    nll = log_z - x.gather(1, right)[:, 0]
    loss = (1 - smoothing) * nll + smoothing * (log_z - x.mean(-1))
    if grad:
        x.sub_(log_z[:, None]).exp_()
        logits.copy_(minus_wanted(x, right, smoothing).mul_(real[:, None]))
    return loss * real, nll * real


def rdrop_rows(
    logits: Tensor, target: Tensor, smoothing: float, alpha: float, *, grad: bool
) -> tuple[Tensor, Tensor]:
    """The loss of R-Drop for each token, and its gradient in place of the logits if `grad`.

    With a = log p, and because d KL(p_1 || p_2) / dx_1 = p_1 (a_1 - a_2 - KL(p_1 || p_2)) while
    d KL(p_2 || p_1) / dx_1 = p_1 - p_2:

        dL/dx_1 = (p_1 - q) / 2 + alpha / 4 * (p_1 (a_1 - a_2 - KL(p_1 || p_2)) + p_1 - p_2)

    and the same with 1 and 2 exchanged. logits (2R, V), target (R,) -> loss, nll (R,).
    """
    R, V = target.shape[0], logits.shape[1]
    a = logits.to(wide(logits.dtype)).log_softmax(-1).view(2, R, V)
    p = a.exp()
    gap = torch.stack((a[0] - a[1], a[1] - a[0]))  # (2, R, V)
    kl = (p * gap).sum(-1)  # (2, R)
    right, real = target.long()[None, :, None].expand(2, R, 1), (target != UNLEARNED).to(a.dtype)
    nll = -a.gather(2, right)[:, :, 0].mean(0)  # (R,)
    loss = (1 - smoothing) * nll - smoothing * a.mean((0, 2)) + alpha / 4 * kl.sum(0)
    if grad:
        agree = gap.sub_(kl[:, :, None]).mul_(p).add_(p).sub_(p.flip(0)).mul_(alpha / 4)
        d = minus_wanted(p, right, smoothing).mul_(0.5).add_(agree).mul_(real[:, None])
        logits.copy_(d.view(2 * R, V))
    return loss * real, nll * real


def minus_wanted(p: Tensor, right: Tensor, smoothing: float) -> Tensor:
    """p - q in place; q is eps / V everywhere and 1 - eps more at `right`."""
    if smoothing:
        p -= smoothing / p.shape[-1]
    return p.scatter_add_(-1, right, torch.full_like(right, smoothing - 1, dtype=p.dtype))


def chunked(
    features: Tensor,
    head: Tensor,
    target: Tensor,
    rows: Rows,
    multiply: Multiply = torch_product,
    *,
    bias: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """Sums over places of what `rows` says, chunk by chunk; features may hold several passes over target."""
    given = [x for x in (features, head, bias) if x is not None]
    grad = torch.is_grad_enabled() and any(x.requires_grad for x in given)
    loss, nll = Chunked.apply(features.contiguous(), head, bias, target, rows, grad, multiply)  # type: ignore[no-untyped-call]
    return loss, nll


class Chunked(Function):
    """The head and its loss; gradients are made on the way forward, while a chunk's logits are at hand.

        X = features head^T + bias
        d_features = dL/dX head,   d_head = dL/dX^T features,   d_bias = the sum of dL/dX over places

    Backward only multiplies them by the gradient of the sum.
    """

    @staticmethod
    def forward(
        ctx: Any,
        features: Tensor,
        head: Tensor,
        bias: Tensor | None,
        target: Tensor,
        rows: Rows,
        grad: bool,  # noqa: FBT001
        multiply: Multiply = torch_product,
    ) -> tuple[Tensor, Tensor]:
        M, (V, D) = target.shape[0], head.shape
        passes = features.view(-1, M, D)  # (C, M, D), C passes over the same targets
        table = head.to(features.dtype)
        most = CHUNK if features.is_cuda else min(CHUNK, CPU_CHUNK)
        step = chunk_rows(M, len(passes), V, features.element_size(), most)
        stride = ceil(V / ALIGNED) * ALIGNED
        # Zeros on a CPU: with AMX torch's bf16 products read what lies between rows, and NaN times 0 is NaN.
        make = features.new_empty if features.is_cuda else features.new_zeros
        room = make(len(passes) * step, stride)
        d_passes = torch.empty_like(passes) if grad else None
        d_bias = None if bias is None or not grad else torch.zeros_like(bias)
        d_head, losses, nlls = None, [], []
        for first in range(0, M, step):
            some = passes[:, first : first + step].reshape(-1, D)  # (C · R, D)
            logits = multiply(some, table.t(), out=room[: len(some), :V])
            if bias is not None:
                logits += bias
            loss, nll = rows(logits, target[first : first + step], grad=grad)  # (R,), (R,)
            losses.append(loss)
            nlls.append(nll)
            if d_passes is not None:
                place_product(logits, table, d_passes[:, first : first + step], multiply)
                if ctx.needs_input_grad[1]:  # a frozen head has none
                    d_head = add_product(d_head, logits.t(), some, last=step >= M, multiply=multiply)
            if d_bias is not None:
                d_bias += logits.sum(0, dtype=wide(logits.dtype))
        d_head = None if d_head is None else d_head.to(head.dtype)
        ctx.save_for_backward(d_passes, d_head, d_bias)
        nll = torch.cat(nlls).sum()
        ctx.mark_non_differentiable(nll)
        return torch.cat(losses).sum(), nll

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        d_passes, d_head, d_bias = ctx.saved_tensors
        d_features = (d_passes * grads[0]).flatten(0, 1)  # (C · M, D)
        d_table = None if d_head is None else d_head * grads[0]
        of_bias = None if d_bias is None else d_bias * grads[0]
        return d_features, d_table, of_bias, None, None, None, None


def chunk_rows(tokens: int, passes: int, vocabulary: int, size: int, most: int | None = None) -> int:
    """How many places make a chunk: all, or about equal parts with logits below `most` (or CHUNK) bytes."""
    parts = ceil(tokens * passes * vocabulary * size / (most or CHUNK))
    return tokens if parts <= 1 else ceil(ceil(tokens / parts) / 128) * 128


def place_product(a: Tensor, b: Tensor, place: Tensor, multiply: Multiply = torch_product) -> None:
    """place (C, R, D) = a (C · R, V) b (V, D)."""
    if place.is_contiguous():
        multiply(a, b, out=place.view(-1, b.shape[1]))
    else:
        place.copy_(multiply(a, b).view_as(place))


def add_product(
    total: Tensor | None, a: Tensor, b: Tensor, *, last: bool, multiply: Multiply = torch_product
) -> Tensor:
    """total + a b, summed in fp32 from chunk to chunk; a first that is also the `last` stays in its type."""
    if total is None and (last or a.dtype == wide(a.dtype)):
        return multiply(a, b)
    if total is not None and a.dtype == total.dtype:
        return multiply(a, b, out=total, add=True)
    if not a.is_cuda:
        product = (a @ b).to(wide(a.dtype))
        return product if total is None else total.add_(product)
    if total is None:
        return torch.mm(a, b, out_dtype=torch.float32)
    try:
        return torch.addmm(total, a, b, out_dtype=torch.float32, out=total)
    except RuntimeError:  # before 2.12 or so the sum must be of the factors' type
        return total.add_(torch.mm(a, b, out_dtype=torch.float32))


def wide(dtype: torch.dtype) -> torch.dtype:
    """The type that sums are kept in."""
    return torch.float64 if dtype == torch.float64 else torch.float32
