"""What every search hands back, whichever engine it runs on, and which answer is better. No torch."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from math import fsum


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer of a search: tokens and the model's own log-probability of each."""

    ids: tuple[int, ...]
    """Tokens, without the end."""
    log_probs: tuple[float, ...]
    """One for each token, then one for the end of a finished answer."""
    finished: bool
    """The model ended it; False where the limit did."""
    alignment: tuple[int, ...] = ()
    """Of each token the source token that the aligning head looked at most; () where no one asked."""
    looks: tuple[float, ...] = ()
    """And how much of its weight that was, from 0 to 1."""

    @property
    def score(self) -> float:
        """log P(answer | source), the end included."""
        return fsum(self.log_probs)

    @property
    def lead(self) -> "Lead":
        """The answer as a search that is over."""
        return Lead(self.ids, self.score, len(self.ids))


@dataclass(frozen=True, slots=True)
class Lead:
    """How far a search of one sentence has come."""

    ids: tuple[int, ...]
    """The tokens of the hypothesis that is best now."""
    score: float
    """Its log-probability so far."""
    stable: int
    """How many of its first tokens are sure to begin the answer."""


Follow = Callable[[Lead], None]
"""Hears how far a search has come, after each step. What it raises ends the search."""


class NotFiniteError(ArithmeticError):
    """The model gave a number that is not finite; `sentence` is its index in the batch."""

    def __init__(self, sentence: int) -> None:
        super().__init__(f"the model's numbers for sentence {sentence} of the batch are not finite")
        self.sentence = sentence


def no_learned_row(position: int, rows: int) -> LookupError:
    """The error for a position past the end of a learned table with so many rows."""
    return LookupError(
        f"position {position} has no learned row: the table ends at {rows}, so a sequence may have {rows} "
        "tokens. Shorten it, or train with more model.max_positions or with sinusoidal positions."
    )


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
