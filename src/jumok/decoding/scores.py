"""What search compares: log-probabilities, the length penalty, and answers ranked by both."""

from collections.abc import Iterable
from dataclasses import dataclass
from math import fsum

import torch
from torch import Tensor


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer of a search: pieces and the model's own log-probability of each."""

    ids: tuple[int, ...]
    """Pieces, without the end."""
    log_probs: tuple[float, ...]
    """One for each piece, then one for the end of a finished answer."""
    finished: bool
    """The model ended it; False where the limit did."""

    @property
    def score(self) -> float:
        """log P(answer | source), the end included."""
        return fsum(self.log_probs)


class NotFiniteError(ArithmeticError):
    """The model gave a number that is not finite; `sentence` is its index in the batch."""

    def __init__(self, sentence: int) -> None:
        super().__init__(f"the model's numbers for sentence {sentence} of the batch are not finite")
        self.sentence = sentence


def log_softmax(logits: Tensor) -> Tensor:
    """log P of each piece in float32, whatever the model computes in; same shape."""
    return logits.float().log_softmax(dim=-1)


def check_finite(log_probs: Tensor, sentence: Tensor) -> None:
    """Refuse chosen log-probabilities (R,) of rows that belong to `sentence` (R,) unless all are numbers."""
    bad = ~log_probs.isfinite()
    if bad.any():
        raise NotFiniteError(int(sentence[bad][0]))


def length_penalty(length: int, alpha: float) -> float:
    """lp(Y) = ((5 + |Y|) / 6) ** alpha   (Wu et al. 2016, eq. 14)."""
    return float(((5 + length) / 6) ** alpha)


def normalised(score: float, length: int, alpha: float) -> float:
    """s(Y) = log P(Y | X) / lp(Y)   (Wu et al. 2016, eq. 14)."""
    return score / length_penalty(length, alpha)


def ranked(answers: Iterable[Answer], alpha: float) -> list[Answer]:
    """Best first: finished answers before unfinished ones, then by normalised score."""
    return sorted(
        answers,
        key=lambda a: (a.finished, normalised(a.score, len(a.log_probs), alpha)),
        reverse=True,
    )


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
