"""The simplest search: one hypothesis per row. Read this first, with `run_search`.

Every search asks four questions at each step: what are the log-probabilities, which tokens are allowed, which
hypotheses survive, which are done.

Answers drawn at random are picked by temperature, top-k and top-p. Each sentence has its own random numbers
(`uniforms.py`), made from the seed and its own source ids. So what is drawn for it never depends on its
neighbours, on its place in the batch or on the batch size.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property

import torch
from torch import Tensor

from jumok.answers import Answer, Lead, ranked
from jumok.decoding.filters import Filter, LiveRows, allow
from jumok.decoding.mbr import Choose
from jumok.decoding.search import Search, check_finite, find_lead, shared_beginning, top
from jumok.decoding.uniforms import Uniforms
from jumok.text.tokenizer import BOS, EOS

Pick = Callable[[Tensor, LiveRows], Tensor]
"""`pick(allowed, rows)`: log-probabilities (R, V) -> one token per row (R,)."""
HEAD = 128
"""Most probable tokens that a draw looks at first: the whole vocabulary is seldom worth sorting."""


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


def keep_top_k(probs: Tensor, k: int) -> Tensor:
    """Zero but for the k largest; `probs` (R, V) fall along each row. 0 keeps all."""
    return probs if k == 0 else probs.masked_fill(torch.arange(probs.shape[1], device=probs.device) >= k, 0)


def keep_top_p(probs: Tensor, p: float) -> Tensor:
    """Zero but for the shortest beginning of each row whose sum reaches p; `probs` (R, V) fall along a row.

    Nucleus sampling (Holtzman et al. 2020). The first is always kept; 1 keeps all.
    """
    before = probs.cumsum(dim=1) - probs  # (R, V), the sum of all larger ones
    kept = before < p * probs.sum(dim=1, keepdim=True)
    kept[:, 0] = True
    return probs if p == 1 else probs.masked_fill(~kept, 0)


def draw(
    log_probs: Tensor, uniform: Tensor, *, temperature: float = 1.0, top_k: int = 0, top_p: float = 1.0
) -> Tensor:
    """One token per row, (R, V) -> (R,): where the distribution function reaches `uniform` (R,) in [0, 1).

    p(v) ~ P(v) ** (1 / temperature), cut to the top k, then to the top p
    """
    scaled = log_probs.double() / temperature
    if top_k or top_p < 1 or scaled.shape[1] <= HEAD:
        return draw_sorted(scaled, uniform, top_k=top_k, top_p=top_p)
    probs = scaled.softmax(dim=1)
    _, ids = top(scaled, HEAD)  # (R, HEAD), nearly always all that is needed
    head = probs.gather(1, ids)
    place = (head.cumsum(dim=1) <= uniform[:, None] * probs.sum(dim=1, keepdim=True)).sum(dim=1)  # (R,)
    token = ids.gather(1, place.clamp(max=HEAD - 1)[:, None]).squeeze(1)
    beyond = (place == HEAD).nonzero().squeeze(1)
    if len(beyond):
        token[beyond] = draw_sorted(scaled[beyond], uniform[beyond])
    return token


def draw_sorted(scaled: Tensor, uniform: Tensor, *, top_k: int = 0, top_p: float = 1.0) -> Tensor:
    """`draw` in full: the vocabulary in order, most probable first; `scaled` are log P / temperature."""
    ordered, ids = scaled.sort(dim=1, descending=True, stable=True)
    probs = keep_top_p(keep_top_k(ordered.softmax(dim=1), top_k), top_p)
    cumulative = probs.cumsum(dim=1)  # (R, V)
    place = (cumulative <= uniform[:, None] * cumulative[:, -1:]).sum(dim=1)  # (R,)
    place = place.clamp(max=ids.shape[1] - 1)
    return ids.gather(1, place[:, None]).squeeze(1)


def sampler(numbers: Sequence[Uniforms], *, temperature: float, top_k: int, top_p: float) -> Pick:
    """A way for `GreedySearch` to pick: row i uses `numbers[i]`, one at each step."""
    rows = [torch.from_numpy(row) for row in numbers]
    table = torch.nn.utils.rnn.pad_sequence(rows, batch_first=True)  # (B, limit)

    def pick(allowed: Tensor, rows: LiveRows) -> Tensor:
        uniform = table.to(allowed.device)[rows.sentence, rows.tokens.shape[1]]  # (R,)
        return draw(allowed, uniform, temperature=temperature, top_k=top_k, top_p=top_p)

    return pick
