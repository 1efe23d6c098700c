"""The interface of every search, and the loop that runs one: tokens out, log-probabilities in, rows kept.

The model and the search know nothing of each other: `run_search` is the loop between them, `Continuous` the
same loop for many searches at once.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence

import torch
from torch import Tensor

from jumok.answers import Answer, Lead, NotFiniteError, normalised, ranked
from jumok.decoding.filters import WholeCharacters
from jumok.models.interface import Memory, Seq2Seq


class Search(ABC):
    """A search for the answers to one sentence or more. R is the number of its live rows, and changes."""

    @property
    @abstractmethod
    def token(self) -> Tensor:
        """The last token of each live row (R,)."""

    @property
    @abstractmethod
    def done(self) -> bool:
        """Nothing is left to be searched."""

    @abstractmethod
    def advance(self, log_probs: Tensor) -> Tensor | None:
        """One step, given log_probs (R, V): of these R rows those that go on; None: all, in order."""

    @abstractmethod
    def answers(self) -> list[list[Answer]]:
        """The answers to each sentence, best first."""

    @abstractmethod
    def lead(self) -> Lead:
        """How far the search for the first sentence has come."""

    def last_tokens(self) -> list[int]:
        """`token` on the host."""
        return [int(token) for token in self.token.tolist()]

    def wants(self, usual: WholeCharacters) -> int:
        """How many best tokens of each row decide the next step, if `usual` leaves out its fixed ids only.

        0 where more must be known: then `advance` has to see all of the vocabulary.
        """
        return 0

    def advance_with(
        self, log_probs: Tensor, best: Sequence[Sequence[float]], ids: Sequence[Sequence[int]]
    ) -> list[int]:
        """`advance`, told the best tokens `ids` of each row and their log-probabilities if it `wants` them.

        The rows that go on.
        """
        rows = self.advance(log_probs)
        return list(range(len(log_probs))) if rows is None else [int(row) for row in rows.tolist()]


def run_search(model: Seq2Seq, memory: Memory, search: Search) -> list[list[Answer]]:
    """The answers to each sentence; `memory` has one row for each row that the search starts with."""
    for _ in search_steps(model, memory, search):
        pass
    return search.answers()


def search_steps(model: Seq2Seq, memory: Memory, search: Search) -> Iterator[None]:
    """`run_search` as a generator that yields after every step."""
    state = None
    while not search.done:
        with torch.inference_mode():  # not around the yield: the mode belongs to the thread
            if state is None:
                state = model.start(memory)
            logits, state = model.step(search.token, state)
            rows = search.advance(log_softmax(logits))  # (R, V)
            if rows is not None and not search.done:
                state = state.select(rows)
        yield


def find_lead(live: Sequence[Answer], found: Sequence[Answer], alpha: float) -> Lead:
    """The lead among live hypotheses and answers that have been found.

    Of the answers only the best can still come first. Whatever does come first is that one or grows from a
    live hypothesis, so what all of these begin with is stable: it never shrinks and never changes.
    """
    runners = [*ranked(found, alpha)[:1], *live]
    best = max(runners, key=lambda answer: normalised(answer.score, len(answer.log_probs), alpha))
    return Lead(best.ids, best.score, shared_beginning([answer.ids for answer in runners]))


def shared_beginning(sequences: Sequence[tuple[int, ...]]) -> int:
    """How many leading items all sequences share."""
    lowest, highest = min(sequences), max(sequences)  # all others lie between these two
    pairs = enumerate(zip(lowest, highest, strict=False))
    return next((place for place, (a, b) in pairs if a != b), min(len(lowest), len(highest)))


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
