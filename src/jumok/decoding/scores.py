"""What search compares: log-probabilities of tokens, and the best of them."""

import torch
from torch import Tensor

from jumok.answers import NotFiniteError


def log_softmax(logits: Tensor) -> Tensor:
    """log P of each token in float32, whatever the model computes in; same shape."""
    return logits.float().log_softmax(dim=-1)


def check_finite(log_probs: Tensor, sentence: Tensor) -> None:
    """Refuse chosen log-probabilities (R,) of rows that belong to `sentence` (R,) unless all are numbers."""
    bad = ~log_probs.isfinite()
    if bad.any():
        raise NotFiniteError(int(sentence[bad][0]))


def top(scores: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """The k best of each row, best first: (R, V) -> values (R, k), ids (R, k). Equal scores: lower id first.

    `Tensor.topk` leaves the order of equal scores open, and beam 1 must be greedy search even then.
    """
    values, ids = scores.topk(min(k + 1, scores.shape[1]))  # (R, k + 1), to see whether the cut is clear
    tied = (values[:, k - 1 : k] == values[:, k:]) & (values[:, k:] > -torch.inf)  # (R, 1 or 0)
    if len(rows := tied.any(dim=1).nonzero().squeeze(1)):
        ordered = scores[rows].sort(dim=1, descending=True, stable=True)
        values[rows, :k], ids[rows, :k] = ordered.values[:, :k], ordered.indices[:, :k]
    values, ids = values[:, :k], ids[:, :k]
    ids, by_id = ids.sort(dim=1)
    values, by_value = values.gather(1, by_id).sort(dim=1, descending=True, stable=True)
    return values, ids.gather(1, by_value)
