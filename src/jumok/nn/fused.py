"""Twins of the fused pieces (owner B replaces this file)."""
import torch
from torch import Tensor
from torch.nn import functional as F

from jumok.nn.layers import dropout


def add_norm(x, f, bias, weight, shift, share, training):
    f = f if bias is None else f + bias
    s = x + dropout(f, share, training=training)
    return s, F.layer_norm(s, (s.shape[-1],), weight, shift, 1e-5)


def drop(x, share, training):
    return dropout(x, share, training=training)


def linear_relu(x, weight, bias):
    return F.linear(x, weight, bias).relu()


def embed(ids, weight, scale):
    return F.embedding(ids, weight) * scale


def head_loss(features, head, target, smoothing):
    lp = (features @ head.T).float().log_softmax(-1)
    w = (target >= 0).float()
    target = target.clamp(min=0)
    nll = -(lp.gather(1, target.long()[:, None])[:, 0] * w).sum()
    sm = -(lp.mean(-1) * w).sum()
    return (1 - smoothing) * nll + smoothing * sm, nll.detach()


def rdrop_loss(features, head, target, smoothing, alpha):
    raise NotImplementedError
