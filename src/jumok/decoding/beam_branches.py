"""The hypotheses of a beam search: chains of tokens, and those of one sentence together. No torch."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import NamedTuple

from jumok.answers import Answer, ranked
from jumok.decoding.constraints import Constraint, Progress, in_turns
from jumok.text.tokenizer import BOS, EOS

Way = tuple[float, int, int, float]
"""One way to go on: log-probability of the whole, the live hypothesis it goes on from (0 is the best), token,
and the token's own log-probability."""


class BeamBranch(NamedTuple):
    """A hypothesis: its last token, and the branch that it grows from."""

    parent: "BeamBranch | None"
    token: int
    log_prob: float
    total: float  # log-probability of the whole hypothesis, in float64
    progress: Progress | None = None  # with phrases that the answer must contain

    def answer(self) -> Answer:
        """The whole hypothesis; it is finished if its last token is the end."""
        tokens, log_probs, here = list[int](), list[float](), self
        while here.parent is not None:
            tokens.append(here.token)
            log_probs.append(here.log_prob)
            here = here.parent
        finished = self.token == EOS
        return Answer(tuple(tokens[:0:-1] if finished else tokens[::-1]), tuple(log_probs[::-1]), finished)


ROOT = BeamBranch(None, BOS, 0.0, 0.0)


@dataclass
class Beam:
    """One sentence in search."""

    sentence: int
    limit: int
    width: int
    constraint: Constraint | None = None
    live: list[BeamBranch] = field(default_factory=lambda: [ROOT])  # best first
    found: list[Answer] = field(default_factory=list)

    def ranked(self, alpha: float) -> list[Answer]:
        """The answers that were found, best first."""
        rank = ranked if self.constraint is None else self.constraint.ranked
        return rank(self.found, alpha)

    def order(self, ways: Sequence[Way]) -> list[Way]:
        """Ways on in the order in which they are taken: best first, with phrases one of each bank in turn."""
        best = sorted(ways, key=itemgetter(0), reverse=True)  # equals stay in their order
        if self.constraint is None:
            return best[: 2 * self.width]
        banks = [self.constraint.bank(self.after(row, token)) for _, row, token, _ in best]
        return [best[place] for place in in_turns(banks)]

    def after(self, row: int, token: int) -> Progress:
        """The progress of a live hypothesis with one more token."""
        if self.constraint is None or (progress := self.live[row].progress) is None:
            raise ValueError("this sentence has no phrases")
        return progress if token == EOS else self.constraint.after(progress, token)

    def grown(self, way: Way) -> BeamBranch:
        """The hypothesis that goes on in this way."""
        total, row, token, log_prob = way
        progress = None if self.constraint is None else self.after(row, token)
        return BeamBranch(self.live[row], token, log_prob, total, progress)


def kept_at_limit(constraint: Constraint | None, live: list[BeamBranch]) -> list[BeamBranch]:
    """The hypotheses that the limit cuts off; those with all that is required, if there are any."""
    if constraint is None:
        return live
    whole = [one for one in live if one.progress is not None and constraint.may_end(one.progress)]
    return whole or live
