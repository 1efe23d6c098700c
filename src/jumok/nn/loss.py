"""Cross-entropy with label smoothing, summed over real tokens.

Axis letters: R all places of a batch, V vocabulary.
"""

from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function


class _SmoothedCrossEntropy(Function):
    """One pass over the logits forward and one backward; autograd's own version makes several."""

    @staticmethod
    def forward(
        ctx: Any, logits: Tensor, target: Tensor, real: Tensor, smoothing: float
    ) -> tuple[Tensor, Tensor]:
        log_z = logits.logsumexp(dim=-1)  # (R,)
        right = logits.gather(-1, target[:, None])[:, 0]  # (R,)
        nll = ((log_z - right) * real).sum()  # no product of vectors: autocast would make it bf16
        smooth = ((log_z - logits.mean(dim=-1)) * real).sum() if smoothing else nll
        ctx.save_for_backward(logits, target, real, log_z)
        ctx.smoothing = smoothing
        ctx.mark_non_differentiable(nll)
        return (1 - smoothing) * nll + smoothing * smooth, nll

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None, None, None]:
        logits, target, real, log_z = ctx.saved_tensors
        d_logits = (logits - log_z[:, None]).exp_()  # (R, V), the predicted distribution
        if ctx.smoothing:
            d_logits -= ctx.smoothing / logits.shape[-1]
        right = torch.full_like(target[:, None], ctx.smoothing - 1, dtype=logits.dtype)
        d_logits.scatter_add_(1, target[:, None], right)
        return d_logits.mul_((grads[0] * real)[:, None]), None, None, None


def token_loss(logits: Tensor, target_out: Tensor, mask: Tensor, smoothing: float) -> tuple[Tensor, Tensor]:
    """Label-smoothed cross-entropy and plain negative log-likelihood, each summed over real tokens.

        L = -sum_t [ (1 - eps) log p(y_t) + eps / V  sum_v log p(v) ]

    logits (…, V), target_out and mask (…) -> two scalars; the second carries no gradient.
    A sum, not a mean: with gradient accumulation the right divisor is the token count of all micro-batches.
    """
    flat = logits.flatten(0, -2).float()  # (R, V)
    real = mask.flatten().to(flat.dtype)  # (R,), padding has weight 0
    loss, nll = _SmoothedCrossEntropy.apply(flat, target_out.flatten(), real, smoothing)  # type: ignore[no-untyped-call]
    return loss, nll


def rdrop_token_loss(
    one: Tensor, two: Tensor, target_out: Tensor, mask: Tensor, smoothing: float, alpha: float
) -> tuple[Tensor, Tensor]:
    """R-Drop (Liang et al. 2021): two passes with different dropout should predict the same.

        L = (CE_1 + CE_2) / 2 + alpha / 4 · (KL(p_1 || p_2) + KL(p_2 || p_1))

    one, two (…, V); the rest as in `token_loss`. The paper's loss is twice this sum.
    """
    (loss_1, nll_1), (loss_2, nll_2) = (token_loss(x, target_out, mask, smoothing) for x in (one, two))
    p, q = (x.float().log_softmax(dim=-1) for x in (one, two))  # (…, V)
    apart = ((p.exp() - q.exp()) * (p - q)).sum(dim=-1)  # (…): KL(p || q) + KL(q || p)
    return (loss_1 + loss_2) / 2 + alpha / 4 * (apart * mask).sum(), (nll_1 + nll_2) / 2
