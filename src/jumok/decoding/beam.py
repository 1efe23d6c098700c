"""Batched beam search: the W best hypotheses of each sentence, side by side.

Letters: B live sentences, W beam width, R = B * W rows, C candidates of a sentence, V vocabulary.
Sentences never compete with each other, and those that are done leave the batch.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from jumok.decoding.filters import Filter, Rows, allow
from jumok.decoding.scores import Answer, check_finite, log_softmax, normalised, ranked, top
from jumok.models.interface import Memory, Seq2Seq
from jumok.text.tokenizer import BOS, EOS


@dataclass(frozen=True)
class Candidates:
    """Ways to go on, best first. A total of minus infinity marks an empty place."""

    parent: Tensor  # (B, C), the row it grows from
    token: Tensor  # (B, C)
    total: Tensor  # (B, C), log-probability of the whole hypothesis, float64

    def pick(self, places: Tensor) -> "Candidates":
        """The candidates at these places (B, K) of each sentence."""
        return Candidates(*(part.gather(1, places) for part in (self.parent, self.token, self.total)))

    def select(self, sentences: Tensor) -> "Candidates":
        """The candidates of these live sentences only."""
        return Candidates(self.parent[sentences], self.token[sentences], self.total[sentences])


@torch.inference_mode()
def beam_search(
    model: Seq2Seq,
    memory: Memory,
    limits: Sequence[int],
    filters: Sequence[Filter] = (),
    *,
    beam: int,
    n_best: int = 1,
    length_penalty: float = 1.0,
) -> list[list[Answer]]:
    """Up to `beam` answers per sentence of `memory`, best first; the search goes on for `n_best` of them.

    Sentence i gets at most `limits[i]` tokens, its end included. Scores are the model's own, from before any
    filter. The first step has one row per sentence, later ones W.
    """
    rows = Rows.start(limits, memory.mask.device)
    state = model.start(memory)
    token = torch.full_like(rows.sentence, BOS)
    totals = torch.zeros(len(limits), 1, dtype=torch.float64, device=token.device)  # (B, 1), later (B, W)
    found: list[list[Answer]] = [[] for _ in limits]
    while len(token):
        logits, state = model.step(token, state)
        log_probs = log_softmax(logits)  # (R, V)

        rows = rows.facing(log_probs)
        allowed = allow(log_probs, rows, filters)

        candidates = expand(allowed, totals, rows, beam)
        collect(found, ended(candidates, rows, log_probs, beam))
        alive = survivors(candidates, beam)  # (B, W)
        grown = extend(rows, log_probs, alive.parent.flatten(), alive.token.flatten())
        collect(found, cut_off(grown, alive.total.flatten()))

        done = [
            room == 0 or is_done(found[i], best, limits[i], beam=beam, n_best=n_best, alpha=length_penalty)
            for i, room, best in leaders(grown, alive)
        ]
        live = (~torch.tensor(done, device=token.device)).nonzero().squeeze(1)
        B, W = alive.total.shape
        rows = grown.select(torch.arange(B * W, device=token.device).view(B, W)[live].flatten())
        alive = alive.select(live)
        state, token, totals = state.select(alive.parent.flatten()), alive.token.flatten(), alive.total
    return [ranked(answers, length_penalty)[:beam] for answers in found]


def expand(allowed: Tensor, totals: Tensor, rows: Rows, beam: int) -> Candidates:
    """The 2W best ways to go on: at most W of them end, so W are left that do not.

    allowed (R, V), totals (B, W). What is best in a sentence is among the best of one of its rows.
    """
    B, W = totals.shape
    log_probs, token = top(allowed, min(2 * beam, allowed.shape[1]))  # (R, C)
    check_finite(log_probs[:, 0], rows.sentence)
    total = (totals.view(-1, 1) + log_probs).view(B, -1)  # (B, W * C)
    parent = torch.arange(B * W, device=total.device)[:, None].expand_as(token).reshape(B, -1)
    places = total.sort(dim=1, descending=True, stable=True).indices[:, : 2 * beam]
    return Candidates(parent, token.reshape(B, -1), total).pick(places)  # (B, 2W)


def survivors(candidates: Candidates, beam: int) -> Candidates:
    """The W best that go on."""
    ends = candidates.token == EOS
    places = ends.long().sort(dim=1, stable=True).indices[:, :beam]  # the others first, in their order
    kept = candidates.pick(places)
    return Candidates(kept.parent, kept.token, kept.total.masked_fill(kept.token == EOS, -torch.inf))


def extend(rows: Rows, log_probs: Tensor, parent: Tensor, token: Tensor) -> Rows:
    """One new row for each parent (K,) and token (K,)."""
    return rows.select(parent).grow(token, log_probs[parent, token])


def ended(candidates: Candidates, rows: Rows, log_probs: Tensor, beam: int) -> Rows:
    """The hypotheses that end now: those among the W best whose token is the end."""
    now = (candidates.token == EOS) & (candidates.total > -torch.inf)
    now[:, beam:] = False
    return extend(rows, log_probs, candidates.parent[now], candidates.token[now])


def cut_off(grown: Rows, totals: Tensor) -> Rows:
    """The hypotheses that have used up their room without an end."""
    return grown.select(((grown.room == 0) & (totals > -torch.inf)).nonzero().squeeze(1))


def collect(found: list[list[Answer]], rows: Rows) -> None:
    """Add each row to the answers of its sentence."""
    for sentence, answer in rows.answers():
        found[sentence].append(answer)


def leaders(grown: Rows, alive: Candidates) -> list[tuple[int, int, float]]:
    """Sentence, room and total of the best live hypothesis of each sentence."""
    B, W = alive.total.shape
    sentence, room = grown.sentence.view(B, W)[:, 0], grown.room.view(B, W)[:, 0]
    return list(zip(sentence.tolist(), room.tolist(), alive.total[:, 0].tolist(), strict=True))


def is_done(
    answers: Sequence[Answer], best: float, limit: int, *, beam: int, n_best: int, alpha: float
) -> bool:
    """Whether the live hypotheses, the best of which has log-probability `best`, can be given up.

    Log-probabilities only fall, so none of them can end above best / lp(limit).
    """
    if best == -torch.inf or len(answers) >= beam:
        return True
    scores = sorted((normalised(a.score, len(a.log_probs), alpha) for a in answers), reverse=True)
    return len(scores) >= n_best and scores[n_best - 1] >= normalised(best, limit, alpha)
