"""What lies between the matrix products of a Transformer, each piece in one pass over memory.

On a GPU with Triton the kernels of `jumok.nn.kernels` do it, on a CPU our C library (`native.py`) if there is
one; everywhere else, and as their tests, the plain torch here. No piece waits for the device or looks at a
value, so all of them can be captured in a graph.

Axis letters: L tokens, M target tokens, D width, F inner width, V vocabulary, R rows of a chunk.
"""

from math import ceil
from typing import Any, Protocol

import torch
from torch import Tensor
from torch.autograd import Function
from torch.nn import functional as F

from jumok.nn import native
from jumok.nn.kernels import available, guarded
from jumok.nn.layers import dropout

EPS = 1e-5
WIDEST = 4096  # add & norm keeps a row in registers
UNLEARNED = 0  # a target that is BOS, so nothing is to be predicted: the place weighs nothing
CHUNK = 2**30  # bytes of logits at a time
CPU_CHUNK = 2**24  # the same on a CPU, whose cache should still have them when they are read again
ALIGNED = 64  # rows of logits start at a multiple of this, whatever the vocabulary: fast products need it


class Rows(Protocol):
    """Loss and nll (R,) at the places of a chunk; if `grad`, their logits become the gradient of the loss."""

    def __call__(self, logits: Tensor, target: Tensor, *, grad: bool) -> tuple[Tensor, Tensor]: ...


def add_norm(
    x: Tensor,
    f: Tensor,
    bias: Tensor | None,
    weight: Tensor,
    shift: Tensor,
    share: float,
    *,
    training: bool,
    seed: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """Add & norm: a sub-layer's product f, its bias and dropout, the residual and LayerNorm.

        s = x + dropout(f + bias)
        y = (s - mean(s)) / sqrt(var(s) + eps) * weight + shift

    x, f (L, D); bias, weight, shift (D,) -> s, y (L, D). Post-norm goes on with y alone, pre-norm with both.
    In the kernels dropout is a function of the seed, one number on the device; without one it is drawn.
    """
    share = float(share) if training else 0.0
    if x.dim() == 2 and native.usable(x, f, bias, weight, shift):
        s, y = native.AddNorm.apply(x, f, bias, weight, shift, share, seed)  # type: ignore[no-untyped-call]
        return s, y

    def fast() -> tuple[Tensor, Tensor]:
        from jumok.nn.kernels import norm  # Triton takes a while to load, and a CPU never needs it

        return norm.add_norm(x, f, bias, weight, shift, share, seed)

    def slow() -> tuple[Tensor, Tensor]:
        s = x + dropout(f if bias is None else f + bias.to(f.dtype), share, training=True)
        kind = wide(s.dtype)
        y = F.layer_norm(s.to(kind), s.shape[-1:], weight.to(kind), shift.to(kind), EPS)
        return s, y.to(s.dtype)

    ready = available(x) and x.dim() == 2 and x.shape[1] <= WIDEST
    return guarded("add_norm", fast, slow) if ready else slow()


def drop(x: Tensor, share: float, *, training: bool) -> Tensor:
    """Dropout; the kernels make the mask again in backward from a seed, and never store it."""
    if training and share and x.dim() == 2 and native.usable(x):
        kept: Tensor = native.Drop.apply(x, float(share))  # type: ignore[no-untyped-call]
        return kept

    def fast() -> Tensor:
        from jumok.nn.kernels import dropout as kernel

        return kernel.drop(x, float(share))

    def slow() -> Tensor:
        return dropout(x, share, training=training)

    return guarded("dropout", fast, slow) if training and share and available(x) else slow()


def embed(ids: Tensor, weight: Tensor, scale: float) -> Tensor:
    """Rows of weight (V, D) by ids (L,), times a scale -> (L, D)."""
    if weight.is_cuda or native.usable(weight):
        rows: Tensor = Embed.apply(ids, weight, scale)  # type: ignore[no-untyped-call]
        return rows
    rows = F.embedding(ids, weight)
    return rows if scale == 1 else rows * scale


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


def head_loss(features: Tensor, head: Tensor, target: Tensor, smoothing: float) -> tuple[Tensor, Tensor]:
    """Label-smoothed cross-entropy of softmax(features head^T), and plain negative log-likelihood, summed.

        L = sum_t [ -(1 - eps) log p(y_t) - eps / V sum_v log p(v) ]

    features (M, D), head (V, D), target (M,) -> two scalars; the second carries no gradient. A place whose
    target is 0 weighs nothing. The logits exist for a chunk of places at a time, in the type of the features.
    """

    def rows(logits: Tensor, target: Tensor, *, grad: bool) -> tuple[Tensor, Tensor]:
        def fast() -> tuple[Tensor, Tensor]:
            from jumok.nn.kernels import head as kernel

            return kernel.smoothed_rows(logits, target, float(smoothing), grad=grad)

        def slow() -> tuple[Tensor, Tensor]:
            return smoothed_rows(logits, target, smoothing, grad=grad)

        if native.usable(logits):
            return native.smoothed_rows(logits, target, smoothing, grad=grad)
        return guarded("head_loss", fast, slow) if available(logits) else slow()

    return chunked(features, head, target, rows)


def rdrop_loss(
    features: Tensor, head: Tensor, target: Tensor, smoothing: float, alpha: float
) -> tuple[Tensor, Tensor]:
    """R-Drop (Liang et al. 2021, eq. 4, halved): two passes with different dropout must agree.

        L = sum_t [ (CE_1 + CE_2) / 2 + alpha / 2 * (KL(p_1 || p_2) + KL(p_2 || p_1)) / 2 ]

    CE_i is the smoothed cross-entropy of `head_loss`. features (2M, D) are the M tokens of the first pass,
    then those of the second; head (V, D), target (M,) -> L and the passes' mean nll, summed over tokens.
    """

    def rows(logits: Tensor, target: Tensor, *, grad: bool) -> tuple[Tensor, Tensor]:
        def fast() -> tuple[Tensor, Tensor]:
            from jumok.nn.kernels import head as kernel

            return kernel.rdrop_rows(logits, target, float(smoothing), float(alpha), grad=grad)

        def slow() -> tuple[Tensor, Tensor]:
            return rdrop_rows(logits, target, smoothing, alpha, grad=grad)

        return guarded("rdrop_loss", fast, slow) if available(logits) else slow()

    return chunked(features, head, target, rows)


def smoothed_rows(logits: Tensor, target: Tensor, smoothing: float, *, grad: bool) -> tuple[Tensor, Tensor]:
    """The loss of `head_loss` at each place, and its gradient in place of the logits if `grad`.

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
    """The loss of `rdrop_loss` for each token, and its gradient in place of the logits if `grad`.

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


def chunked(features: Tensor, head: Tensor, target: Tensor, rows: Rows) -> tuple[Tensor, Tensor]:
    """Sums over places of what `rows` says, chunk by chunk; features may hold several passes over target."""
    grad = torch.is_grad_enabled() and (features.requires_grad or head.requires_grad)
    loss, nll = Chunked.apply(features.contiguous(), head, target, rows, grad)  # type: ignore[no-untyped-call]
    return loss, nll


class Chunked(Function):
    """The head and its loss; gradients are made on the way forward, while a chunk's logits are at hand.

        X = features head^T,   d_features = dL/dX head,   d_head = dL/dX^T features

    Backward only multiplies them by the gradient of the sum.
    """

    @staticmethod
    def forward(
        ctx: Any,
        features: Tensor,
        head: Tensor,
        target: Tensor,
        rows: Rows,
        grad: bool,  # noqa: FBT001
    ) -> tuple[Tensor, Tensor]:
        M, (V, D) = target.shape[0], head.shape
        passes = features.view(-1, M, D)  # (C, M, D), C passes over the same targets
        table = head.to(features.dtype)
        most = CHUNK if features.is_cuda else min(CHUNK, CPU_CHUNK)
        step = chunk_rows(M, len(passes), V, features.element_size(), most)
        stride = ceil(V / ALIGNED) * ALIGNED
        room = features.new_empty(len(passes) * step, stride)
        d_passes = torch.empty_like(passes) if grad else None
        d_head, losses, nlls = None, [], []
        for first in range(0, M, step):
            some = passes[:, first : first + step].reshape(-1, D)  # (C · R, D)
            logits = torch.mm(some, table.t(), out=room[: len(some), :V])
            loss, nll = rows(logits, target[first : first + step], grad=grad)  # (R,), (R,)
            losses.append(loss)
            nlls.append(nll)
            if d_passes is not None:
                place_product(logits, table, d_passes[:, first : first + step])
                d_head = add_product(d_head, logits.t(), some, last=step >= M)
        d_head = None if d_head is None else d_head.to(head.dtype)
        ctx.save_for_backward(d_passes, d_head)
        nll = torch.cat(nlls).sum()
        ctx.mark_non_differentiable(nll)
        return torch.cat(losses).sum(), nll

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        d_passes, d_head = ctx.saved_tensors
        d_features = (d_passes * grads[0]).flatten(0, 1)  # (C · M, D)
        return d_features, d_head * grads[0], None, None, None


def chunk_rows(tokens: int, passes: int, vocabulary: int, size: int, most: int | None = None) -> int:
    """How many places make a chunk: all, or about equal parts with logits below `most` (or CHUNK) bytes."""
    parts = ceil(tokens * passes * vocabulary * size / (most or CHUNK))
    return tokens if parts <= 1 else ceil(ceil(tokens / parts) / 128) * 128


def place_product(a: Tensor, b: Tensor, place: Tensor) -> None:
    """place (C, R, D) = a (C · R, V) b (V, D)."""
    if place.is_contiguous():
        torch.mm(a, b, out=place.view(-1, b.shape[1]))
    else:
        place.copy_((a @ b).view_as(place))


def add_product(total: Tensor | None, a: Tensor, b: Tensor, *, last: bool) -> Tensor:
    """total + a b, summed in fp32 from chunk to chunk; a first that is also the `last` stays in its type."""
    if total is None and last:
        return a @ b
    if total is not None and a.dtype == total.dtype:
        return total.addmm_(a, b)
    if not a.is_cuda or a.dtype == wide(a.dtype):
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
