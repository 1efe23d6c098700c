"""The simplest search: one hypothesis per row. Read this first, with `run_search`.

Every search asks four questions at each step: what are the log-probabilities, which tokens are allowed, which
hypotheses survive, which are done.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property

import torch
from torch import Tensor

from jumok.answers import Answer, ranked
from jumok.decoding.filters import Filter, LiveRows, allow
from jumok.decoding.search import Lead, Search, check_finite, find_lead, shared_beginning
from jumok.text.tokenizer import BOS, EOS

Pick = Callable[[Tensor, LiveRows], Tensor]
"""`pick(allowed, rows)`: log-probabilities (R, V) -> one token per row (R,)."""
Choose = Callable[[Sequence[Answer]], list[Answer]]
"""`choose(draws)`: the draws of one sentence, most probable first -> the same, best first."""


def best(allowed: Tensor, rows: LiveRows) -> Tensor:
    """The most probable token of each row; of equals the one with the lowest id."""
    return allowed.argmax(dim=1)


class GreedySearch(Search):
    """One hypothesis per row; `draws` rows in turn belong to one sentence and are ranked at the end.

    They are ranked by their probability, unless `choose` looks at all of them.
    """

    def __init__(
        self,
        limits: Sequence[int],
        filters: Sequence[Filter] = (),
        pick: Pick = best,
        *,
        draws: int = 1,
        length_penalty: float = 1.0,
        choose: Choose | None = None,
        device: torch.device | None = None,
    ) -> None:
        self.filters, self.pick, self.draws, self.alpha = filters, pick, draws, length_penalty
        self.choose = choose
        self.rows = LiveRows.start(limits, device)
        self._token = torch.full_like(self.rows.sentence, BOS)  # (R,)
        self._found: dict[int, Answer] = {}
        self._count = len(limits)

    @property
    def token(self) -> Tensor:
        return self._token

    @property
    def done(self) -> bool:
        return len(self._token) == 0

    def advance(self, log_probs: Tensor) -> Tensor | None:
        """One more token for every row, given log_probs (R, V): the rows that go on; None for all of them."""
        rows = self.rows.facing(log_probs)
        token = self.pick(allow(log_probs, rows, self.filters), rows)  # (R,)

        log_prob = log_probs.gather(1, token[:, None]).squeeze(1)  # (R,)
        check_finite(log_prob, rows.sentence // self.draws)
        rows = rows.grow(token, log_prob)

        done = (token == EOS) | (rows.room == 0)
        if not done.any():
            self.rows, self._token = rows, token
            return None
        self._found.update(rows.select(done.nonzero().squeeze(1)).answers())
        live = (~done).nonzero().squeeze(1)
        self.rows, self._token = rows.select(live), token[live]
        return live

    def answers(self) -> list[list[Answer]]:
        """The answers to each sentence, best first."""
        return self._ranked

    @cached_property
    def _ranked(self) -> list[list[Answer]]:
        rows = [self._found[row] for row in range(self._count)]
        best_first = [ranked(rows[n : n + self.draws], self.alpha) for n in range(0, len(rows), self.draws)]
        return best_first if self.choose is None else list(map(self.choose, best_first))

    def lead(self) -> Lead:
        """The first sentence as it stands."""
        if self.done:
            best = self._ranked[0][0]
            return Lead(best.ids, best.score, stable=len(best.ids))
        live = [answer for row, answer in self.rows.answers() if row < self.draws]
        ended = [answer for row, answer in self._found.items() if row < self.draws]
        lead = find_lead(live, ended, self.alpha)
        if self.choose is None:
            return lead
        # Whichever draw is chosen in the end begins with what all of them share.
        return replace(lead, stable=shared_beginning([answer.ids for answer in (*live, *ended)]))
