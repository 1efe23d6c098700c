"""Beam search in tensors: `BeamSearch` for many sentences at once, with nothing that the host must know.

Every tensor has a fixed shape and is written in place, so a step can be captured in a CUDA graph. A sentence
that is done stays in its slot and changes no more; the host drops such slots from time to time.

Letters: B slots, W beam, F = 2W answers that a sentence may have found (fewer than W, then W at once, and one
that is thrown away), T steps, k = 2W candidates of each beam.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from jumok.answers import Answer, length_penalty
from jumok.native.model import SearchOptions
from jumok.text.tokenizer import BOS, EOS


@dataclass(frozen=True)
class Slots:
    """Where the search for each sentence stands."""

    token: Tensor  # (B, W), the last token of each beam
    total: Tensor  # (B, W) float64, log-probability of each beam; minus infinity: no beam
    state: Tensor  # (B, W), what `CharacterTables` knows of each beam
    limit: Tensor  # (B,), most tokens of an answer, the end included
    limit_penalty: Tensor  # (B,) float64, lp(limit)
    done: Tensor  # (B,) bool
    bad: Tensor  # (B,) bool, the model gave a number that is not finite
    steps: Tensor  # (B,), how many were taken until the sentence was done
    count: Tensor  # (B,), answers found
    scores: Tensor  # (B, F) float64, normalised score of each; minus infinity: none
    origins: Tensor  # (B, F), step · W + beam that an answer grew from
    ends: Tensor  # (B, F), log-probability of its end
    home: Tensor  # (B,), the sentence's place in the batch

    @staticmethod
    def make(slots: int, beam: int, device: torch.device) -> "Slots":
        """Empty slots: all are done."""

        def full(value: float, dtype: torch.dtype, *shape: int) -> Tensor:
            return torch.full((slots, *shape), value, dtype=dtype, device=device)

        return Slots(
            token=full(BOS, torch.long, beam),
            total=full(-torch.inf, torch.float64, beam),
            state=full(0, torch.long, beam),
            limit=full(1, torch.long),
            limit_penalty=full(1, torch.float64),
            done=full(1, torch.bool),
            bad=full(0, torch.bool),
            steps=full(0, torch.long),
            count=full(0, torch.long),
            scores=full(-torch.inf, torch.float64, 2 * beam),
            origins=full(0, torch.long, 2 * beam),
            ends=full(0, torch.float32, 2 * beam),
            home=torch.arange(slots, device=device),
        )

    def start(self, limits: Tensor, penalties: Tensor) -> None:
        """One empty hypothesis for each limit (n,) of a sentence; the slots after them stay empty."""
        n = len(limits)
        for name, empty in vars(Slots.make(1, self.token.shape[1], self.token.device)).items():
            getattr(self, name).copy_(empty.expand_as(getattr(self, name)))
        torch.arange(len(self.home), out=self.home)
        self.total[:n, 0] = 0
        self.limit[:n] = limits
        self.limit_penalty[:n] = penalties[limits]
        self.done[:n] = False

    def first(self, count: int) -> "Slots":
        """The first slots, in the same memory."""
        return Slots(**{name: tensor[:count] for name, tensor in vars(self).items()})

    def keep(self, rows: Tensor) -> None:
        """Move these slots (B',) to the front."""
        for tensor in vars(self).values():
            tensor[: len(rows)] = tensor.index_select(0, rows)


class Growth(NamedTuple):
    """What one step added to each beam (B, W)."""

    parent: Tensor  # the beam it goes on from
    token: Tensor
    log_prob: Tensor


def penalties(longest: int, alpha: float, device: torch.device) -> Tensor:
    """lp(Y) for each length from 0 (T + 1,) in float64, the very numbers of `length_penalty`."""
    rows = [length_penalty(length, alpha) for length in range(longest + 1)]
    return torch.tensor(rows, dtype=torch.float64, device=device)


def grow(
    slots: Slots, log_probs: Tensor, ids: Tensor, step: Tensor, penalty: Tensor, *, n_best: int
) -> Growth:
    """One step of every sentence, given the k best tokens of each beam (B, W, k); `BeamSearch._grow`.

    `step` (1,) counts from 0. Of the 2W best at most W end, so W are left that do not. Only an end among the
    W best is taken. What the growth says of a sentence that was done before is to be ignored.
    """
    B, W, k = log_probs.shape
    live = slots.total > -torch.inf  # (B, W)
    slots.bad.logical_or_((live & ~log_probs[:, :, 0].isfinite()).any(dim=1) & ~slots.done)

    ways = slots.total[:, :, None] + log_probs.double()
    ways = ways.masked_fill_(~live[:, :, None], -torch.inf).flatten(1)  # (B, W·k)
    ways, order = ways.sort(dim=1, descending=True, stable=True)  # equals stay in their order
    ways, order = ways[:, : 2 * W], order[:, : 2 * W]  # (B, 2W)
    rows = order.div(k, rounding_mode="floor")
    tokens, chosen = ids.flatten(1).gather(1, order), log_probs.flatten(1).gather(1, order)
    real, end = ways > -torch.inf, tokens == EOS

    ended = (real & end & ~slots.done[:, None])[:, :W]
    add_found(slots, ended, ways[:, :W], rows[:, :W] + step * W, chosen[:, :W], penalty[step + 1])
    alive = real & ~end
    pick = first_places(alive, W)  # (B, W)
    missing = torch.arange(W, device=pick.device) >= alive.sum(dim=1, keepdim=True)
    total = ways.gather(1, pick).masked_fill_(missing, -torch.inf)
    finish(slots, total[:, 0], step, n_best=n_best)

    growth = Growth(*(x.gather(1, pick) for x in (rows, tokens, chosen)))
    growth.log_prob.masked_fill_(missing, -torch.inf)
    slots.total.copy_(total)
    slots.token.copy_(growth.token)
    return growth


def first_places(marks: Tensor, count: int) -> Tensor:
    """Where the first `count` marks of each row (B, n) are, in order (B, count); 0 where there are fewer."""
    B, n = marks.shape
    places = torch.zeros(B, count + 1, dtype=torch.long, device=marks.device)  # the last is thrown away
    target = (marks.cumsum(dim=1) - 1).masked_fill_(~marks, count).clamp_(max=count)
    return places.scatter_(1, target, torch.arange(n, device=marks.device).expand(B, n))[:, :count]


def add_found(
    slots: Slots, ended: Tensor, ways: Tensor, origins: Tensor, ends: Tensor, penalty: Tensor
) -> None:
    """Write down the answers that ended (B, W), after those that were found before."""
    last = slots.scores.shape[1] - 1  # a place for what is thrown away; its score stays minus infinity
    place = (slots.count[:, None] + ended.cumsum(dim=1) - 1).masked_fill_(~ended, last)
    slots.scores.scatter_(1, place, (ways / penalty).masked_fill_(~ended, -torch.inf))
    slots.origins.scatter_(1, place, origins)
    slots.ends.scatter_(1, place, ends)
    slots.count.add_(ended.sum(dim=1))


def finish(slots: Slots, leader: Tensor, step: Tensor, *, n_best: int) -> None:
    """Mark the sentences that are done, `is_done`: leader (B,) is the best live log-probability."""
    nth = slots.scores.amax(dim=1) if n_best == 1 else slots.scores.topk(n_best).values[:, -1]
    settled = (slots.count >= n_best) & (nth >= leader / slots.limit_penalty)
    full = slots.count >= slots.token.shape[1]
    slots.steps.copy_(torch.where(slots.done, slots.steps, step + 1))
    slots.done.logical_or_((step + 1 >= slots.limit) | (leader == -torch.inf) | full | settled)


@dataclass(frozen=True)
class SearchRecord:
    """Where each sentence stood at its end, and every step of its beams."""

    done: NDArray[np.bool_]  # (n,)
    bad: NDArray[np.bool_]  # (n,), the model gave numbers that are not finite
    steps: NDArray[np.int64]  # (n,), how many were taken
    limit: NDArray[np.int64]  # (n,), how many there may be
    scores: NDArray[np.float64]  # (n, F), normalised, of answers that ended; minus infinity: none
    origins: NDArray[np.int64]  # (n, F), step · W + beam that each grew from
    ends: NDArray[np.float32]  # (n, F), log-probability of its end
    history: NDArray[np.int32]  # (T, n, W, 3), of each beam: parent, token, and log-probability as its bits

    def select(self, rows: NDArray[np.int64]) -> "SearchRecord":
        """These sentences only."""
        own = {name: array[rows] for name, array in vars(self).items() if name != "history"}
        return SearchRecord(**own, history=self.history[:, rows])


def unpack_answers(record: SearchRecord, options: SearchOptions) -> list[list[Answer]]:
    """The answers to each sentence, best first: those that ended, then those that the limit cut off."""
    n, W, keep = len(record.steps), options.beam, options.kept
    order = np.argsort(-record.scores, axis=1, kind="stable")[:, :keep]
    ended = np.take_along_axis(record.scores, order, axis=1) > -np.inf  # (n, keep)
    sentence, rank = np.nonzero(ended)
    column = order[sentence, rank]
    origin, ends = record.origins[sentence, column], record.ends[sentence, column].tolist()

    cut, beam = np.nonzero(live_at_limit(record) & (np.arange(W) < keep - ended.sum(axis=1, keepdims=True)))
    rows = np.concatenate((sentence, cut))
    lengths = np.concatenate((origin // W, record.limit[cut]))
    tokens, log_probs = trace_back(record.history, rows, np.concatenate((origin % W, beam)), lengths)
    answers: list[list[Answer]] = [[] for _ in range(n)]
    lists = zip(rows.tolist(), lengths.tolist(), tokens.tolist(), log_probs.tolist(), strict=True)
    for number, (row, length, ids, values) in enumerate(lists):
        finished = number < len(ends)
        own = (*values[:length], ends[number]) if finished else tuple(values[:length])
        answers[row].append(Answer(tuple(ids[:length]), own, finished))
    return answers


def live_at_limit(record: SearchRecord) -> NDArray[np.bool_]:
    """(n, W): beams of sentences that went to their limit."""
    last = np.maximum(record.steps, 1) - 1
    bits = record.history[last, np.arange(len(last)), :, 2]  # (n, W)
    live: NDArray[np.bool_] = bits.view(np.float32) > -np.inf
    reached: NDArray[np.bool_] = record.steps == record.limit
    return live & reached[:, None]


def trace_back(
    history: NDArray[np.int32], rows: NDArray[np.int64], beam: NDArray[np.int64], lengths: NDArray[np.int64]
) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    """Tokens and log-probabilities (M, T) of M hypotheses, from their last beam back to the first step."""
    path = np.zeros((len(rows), int(lengths.max(initial=0)), 3), dtype=np.int32)
    for step in reversed(range(path.shape[1])):
        inside = np.nonzero(step < lengths)[0]
        path[inside, step] = history[step, rows[inside], beam[inside]]
        beam[inside] = path[inside, step, 0]
    return path[:, :, 1], np.ascontiguousarray(path[:, :, 2]).view(np.float32)
