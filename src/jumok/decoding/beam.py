"""Batched beam search: the W best hypotheses of each sentence, side by side.

What is as wide as the vocabulary is done in tensors, for all rows at once. The choice between the few
candidates that are left is plain Python: for fifty numbers it is as quick as tensors, it needs no padding,
and one sentence among many running searches (`continuous.py`) costs microseconds. Only where all sentences
have equally many rows are their best candidates sorted out together.

Letters: B live sentences, W beam width, R rows (live hypotheses, up to W for each sentence), V vocabulary.
Sentences never compete with each other, and those that are done leave the batch. A `BeamTree` records what
was kept, what was rejected, and why it came out as it did.
"""

from collections.abc import Iterable, Iterator, Sequence
from math import inf, isfinite
from operator import itemgetter

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from jumok.answers import Answer, Lead, normalised
from jumok.decoding.beam_branches import ROOT, Beam, Way, kept_at_limit
from jumok.decoding.beam_tree import BeamTree
from jumok.decoding.constraints import Constraint, Progress
from jumok.decoding.filters import Filter, LiveRows, WholeCharacters, allow
from jumok.decoding.search import Search, check_finite, find_lead, top
from jumok.text.tokenizer import BOS, EOS


class BeamSearch(Search):
    """Up to `beam` answers per sentence, best first; the search goes on for `n_best` of them.

    Sentence i gets at most `limits[i]` tokens, its end included, and contains what `constraints[i]` asks for.
    Scores are the model's own, from before any filter. The first step has one row per sentence, later ones up
    to W, or to what its phrases need.
    """

    def __init__(
        self,
        limits: Sequence[int],
        filters: Sequence[Filter] = (),
        *,
        beam: int,
        n_best: int = 1,
        length_penalty: float = 1.0,
        device: torch.device | None = None,
        record: BeamTree | None = None,
        constraints: Sequence[Constraint | None] = (),
    ) -> None:
        if record is not None and len(limits) != 1:
            raise ValueError(f"a tree records one sentence, not {len(limits)}")
        self.width, self.n_best, self.alpha = beam, n_best, length_penalty
        self.filters, self.device, self.record = tuple(filters), device, record
        self.tokens = [BOS] * len(limits)
        """The last token of each live row."""
        self._beams = [Beam(sentence, limit, beam) for sentence, limit in enumerate(limits)]
        for one, constraint in zip(self._beams, constraints, strict=False):
            if constraint is not None:
                one.constraint, one.live = constraint, [ROOT._replace(progress=Progress())]
                one.width = constraint.width
        self._widest = max((one.width for one in self._beams), default=beam)
        self._free = all(one.constraint is None for one in self._beams)
        self._live = list(self._beams)  # of these the rows are, in turn
        self._rows: LiveRows | None = LiveRows.start(
            limits, device
        )  # None: to be made anew when a filter needs it
        self._steps = 0

    @property
    def token(self) -> Tensor:
        """The last token of each live row (R,)."""
        return torch.tensor(self.tokens, dtype=torch.long, device=self.device)

    @property
    def done(self) -> bool:
        """No sentence is left."""
        return not self._live

    def advance(self, log_probs: Tensor) -> Tensor | None:
        """One step, given log_probs (R, V): for each row that goes on, the row it grows from."""
        rows = (self._rows or self._make_rows()).facing(log_probs)
        W = self._widest
        count = 2 * W if self.record is None else max(2 * W, W + self.record.spare)
        allowed = allow(log_probs, rows, self.filters)
        if not self._free:
            allowed = self._hold(allowed)
        values, ids = top(allowed, min(count, log_probs.shape[1]))  # (R, count)
        check_finite(values[:, 0], rows.sentence)
        if not self._free:
            parents = self._choose(self._ways_with_phrases(allowed, values.tolist(), ids.tolist()))
        elif self.record is None and all(len(beam.live) == len(self._live[0].live) for beam in self._live):
            parents = self._choose(self._best_ways(values.cpu().numpy(), ids.cpu().numpy()))
        else:
            parents = self._choose(self._ways(values.tolist(), ids.tolist()))
        if self.done:
            return torch.empty(0, dtype=torch.long, device=self.device)
        kept = torch.tensor(parents, device=self.device)
        chosen = torch.tensor([branch.log_prob for beam in self._live for branch in beam.live])
        self._rows = rows.select(kept).grow(self.token, chosen.to(log_probs))
        return kept if parents != list(range(len(log_probs))) else None

    def last_tokens(self) -> list[int]:
        return self.tokens

    def wants(self, usual: WholeCharacters) -> int:
        free = (
            self.record is None
            and self._free
            and self.filters == (usual,)
            and all(usual.is_free(beam.limit - self._steps) for beam in self._live)
            and not any(map(usual.may_be_inside, self.tokens))
        )
        return 2 * self.width if free else 0

    def advance_with(
        self, log_probs: Tensor, best: Sequence[Sequence[float]], ids: Sequence[Sequence[int]]
    ) -> list[int]:
        if not best or not all(isfinite(row[0]) for row in best):
            return super().advance_with(log_probs, best, ids)
        count = 2 * self.width
        parents = self._choose(self._ways([row[:count] for row in best], ids))
        self._rows = None
        return parents

    def answers(self) -> list[list[Answer]]:
        """Up to W answers to each sentence, best first."""
        return [beam.ranked(self.alpha)[: self.width] for beam in self._beams]

    def lead(self) -> Lead:
        """The first sentence as it stands."""
        first = self._beams[0]
        best = first.ranked(self.alpha)[:1]
        return find_lead([branch.answer() for branch in first.live], best, self.alpha)

    def _ways(
        self, log_probs: Sequence[Sequence[float]], ids: Sequence[Sequence[int]]
    ) -> Iterator[list[Way]]:
        """All ways on for each sentence, given the best tokens of each row."""
        first = 0
        for beam in self._live:
            rows = len(beam.live)  # whoever takes the ways lets the beam grow
            yield [
                (branch.total + log_prob, row, token, log_prob)
                for row, branch in enumerate(beam.live)
                for log_prob, token in zip(log_probs[first + row], ids[first + row], strict=False)
                if log_prob > -inf
            ]
            first += rows

    def _hold(self, log_probs: Tensor) -> Tensor:
        """log_probs (R, V) without ends that come too early for the phrases, nor those that come only once.

        A row that would be left without any token is spared.
        """
        kept, row = log_probs.clone(), 0
        for beam in self._live:
            for branch in beam.live:
                if beam.constraint is not None and branch.progress is not None:
                    for ids in (
                        [] if beam.constraint.may_end(branch.progress) else [EOS],
                        list(beam.constraint.banned(branch.progress)),
                    ):
                        before = kept[row, ids]
                        kept[row, ids] = -inf
                        if not kept[row].amax() > -inf:
                            kept[row, ids] = before
                row += 1
        return kept

    def _ways_with_phrases(
        self, allowed: Tensor, log_probs: Sequence[Sequence[float]], ids: Sequence[Sequence[int]]
    ) -> Iterator[list[Way]]:
        """`_ways`, and behind those of each row the tokens that its missing phrases go on with."""
        first = 0
        for beam, ways in zip(self._live, self._ways(log_probs, ids), strict=True):
            rows, found = len(beam.live), list[Way]()
            for row, branch in enumerate(beam.live):
                own = [way for way in ways if way[1] == row]
                if beam.constraint is not None and branch.progress is not None:
                    own = own[: beam.width + 1]  # one of them may be the end
                    known = {token for _, _, token, _ in own}
                    wanted = [id for id in beam.constraint.wanted(branch.progress) if id not in known]
                    values = allowed[first + row, wanted].tolist()
                    more = zip(values, wanted, strict=True)
                    own += [(branch.total + value, row, id, value) for value, id in more if value > -inf]
                found += own
            yield found
            first += rows

    def _best_ways(self, log_probs: NDArray[np.float32], ids: NDArray[np.int64]) -> Iterator[list[Way]]:
        """The same for sentences of equally many rows: of each only the 2W best, found for all at once."""
        before = np.array([branch.total for beam in self._live for branch in beam.live])
        B, k = len(self._live), log_probs.shape[1]
        totals = (before[:, None] + log_probs).reshape(B, -1)  # (B, rows · k) in float64
        best = np.argsort(-totals, axis=1, kind="stable")[:, : 2 * self.width]  # equals stay in their order
        tables = [np.take_along_axis(rows.reshape(B, -1), best, axis=1) for rows in (totals, ids, log_probs)]
        total, token, log_prob = (rows.tolist() for rows in tables)
        for columns in zip(total, (best // k).tolist(), token, log_prob, strict=True):
            yield [way for way in zip(*columns, strict=True) if way[3] > -inf]

    def _choose(self, ways: Iterable[list[Way]]) -> list[int]:
        """One step of each sentence, given its ways on: where each new row comes from."""
        parents, first = list[int](), 0
        self._steps += 1
        for beam, mine in zip(self._live, ways, strict=True):
            size = len(beam.live)
            parents += [first + row for _, row, _, _ in self._grow(beam, mine)]
            first += size
        self._live = [beam for beam in self._live if beam.live]
        self.tokens = [branch.token for beam in self._live for branch in beam.live]
        return parents

    def _grow(self, beam: Beam, ways: list[Way]) -> list[Way]:
        """The ways that a sentence goes on by; none when it is done.

        Of the 2W best at most W end, so W are left that do not. Only an end among the W best is taken.
        """
        W, best = beam.width, beam.order(ways)
        ended = [way for way in best[:W] if way[2] == EOS]
        alive = [way for way in best if way[2] != EOS][:W]
        if beam.constraint is not None:
            alive.sort(key=itemgetter(0), reverse=True)
        grown = list(map(beam.grown, alive))

        beam.found += [beam.grown(way).answer() for way in ended]
        if self._steps == beam.limit:
            beam.found += [branch.answer() for branch in kept_at_limit(beam.constraint, grown)]
        leader = grown[0].total if grown else -inf
        is_over = is_done if beam.constraint is None else beam.constraint.is_done
        done = self._steps == beam.limit or is_over(
            beam.found, leader, beam.limit, beam=self.width, n_best=self.n_best, alpha=self.alpha
        )
        if self.record is not None:
            self.record.step(ways, ended, alive)
            if done:
                best_found = beam.ranked(self.alpha)[:1]
                lead = find_lead([branch.answer() for branch in grown], best_found, self.alpha)
                self.record.choose(beam.ranked(self.alpha)[0], lead.stable)
        beam.live = [] if done else grown
        return [] if done else alive

    def _make_rows(self) -> LiveRows:
        """The live hypotheses as filters see them, but for the model's wishes to end."""
        pairs = [(beam, branch.answer()) for beam in self._live for branch in beam.live]
        R, t = len(pairs), self._steps
        return LiveRows(
            sentence=torch.tensor([beam.sentence for beam, _ in pairs], device=self.device),
            room=torch.tensor([beam.limit - t for beam, _ in pairs], device=self.device),
            tokens=torch.tensor([answer.ids for _, answer in pairs], device=self.device).view(R, t),
            log_probs=torch.tensor([answer.log_probs for _, answer in pairs], device=self.device).view(R, t),
            ends=torch.zeros(R, t, dtype=torch.bool, device=self.device),
        )


def is_done(
    answers: Sequence[Answer], best: float, limit: int, *, beam: int, n_best: int, alpha: float
) -> bool:
    """Whether the live hypotheses, the best of which has log-probability `best`, can be given up.

    Log-probabilities only fall, so none of them can end above best / lp(limit).
    """
    if best == -inf or len(answers) >= beam:
        return True
    if len(answers) < n_best:
        return False
    scores = sorted((normalised(a.score, len(a.log_probs), alpha) for a in answers), reverse=True)
    return scores[n_best - 1] >= normalised(best, limit, alpha)
