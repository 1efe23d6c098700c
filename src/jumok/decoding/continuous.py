"""One running batch that searches join at the next step and leave when they are done.

Each search keeps its own hypotheses; what they share is the model's step and all work that is as wide as the
vocabulary. No answer depends on who else is in the batch. There are no threads in here: one caller steps.

Letters: R rows of all running searches in turn, V vocabulary.
"""

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from jumok.answers import Answer
from jumok.decoding.batched import USUAL, device_of, encode
from jumok.decoding.filters import WholeCharacters
from jumok.decoding.jobs import Job
from jumok.decoding.search import Search, log_softmax, top
from jumok.models.interface import Seq2Seq

Outcome = tuple[Hashable, list[Answer] | Exception]
"""The key of a search, and its answers, best first, or what went wrong with it."""


@dataclass
class RunningSearch:
    """One search in the batch, and how many rows it has there."""

    key: Hashable
    job: Job
    search: Search
    rows: int


class Continuous:
    """Many searches of one sentence each, in one batch."""

    def __init__(self, model: Seq2Seq, usual: WholeCharacters = USUAL) -> None:
        self.model, self.usual = model, usual
        self._waiting: dict[Hashable, RunningSearch] = {}
        self._running: dict[Hashable, RunningSearch] = {}
        self._cancelled: set[Hashable] = set()
        self._state: Any = None  # of all running rows, in turn

    def __len__(self) -> int:
        """Searches that wait or run."""
        return len(self._waiting) + len(self._running)

    @property
    def rows(self) -> int:
        """Rows of the next step, those of new searches included."""
        return sum(item.rows for item in (*self._waiting.values(), *self._running.values()))

    def add(self, key: Hashable, job: Job, search: Search) -> None:
        """Add a search, which starts at the next step."""
        if key in self._waiting or key in self._running:
            raise ValueError(f"there is already a search with the key {key!r}")
        self._waiting[key] = RunningSearch(key, job, search, len(search.token))

    def cancel(self, key: Hashable) -> None:
        """Forget a search; its rows leave at the next step. A key that is not here is no error."""
        if self._waiting.pop(key, None) is None and key in self._running:
            self._cancelled.add(key)

    @torch.inference_mode()
    def step(self) -> list[Outcome]:
        """One step of the model for all searches, new ones included; returns those that ended."""
        over: list[Outcome] = []
        self._drop_cancelled()
        self._admit(over)
        if self._running:
            logits = self._step(over)  # (R, V)
            if self._running:
                self._advance(log_softmax(logits), over)
        return over

    def _drop_cancelled(self) -> None:
        if not self._cancelled:
            return
        kept, first = list[int](), 0
        for item in self._running.values():
            kept += [] if item.key in self._cancelled else range(first, first + item.rows)
            first += item.rows
        for key in self._cancelled:
            del self._running[key]
        self._cancelled.clear()
        self._keep(kept)

    def _admit(self, over: list[Outcome]) -> None:
        """Encode all new searches together; if that fails, one by one, so that only the bad ones fail."""
        items, self._waiting = list(self._waiting.values()), {}
        if not items:
            return
        try:
            self._join(self._start(items))
            self._running |= {item.key: item for item in items}
        except Exception:  # whatever it is, it belongs to one of them
            for item in items:
                try:
                    self._join(self._start([item]))
                    self._running[item.key] = item
                except Exception as error:
                    over.append((item.key, error))

    def _start(self, items: list[RunningSearch]) -> Any:
        """The state before the first step of new searches."""
        memory = encode(self.model, [item.job for item in items], [item.rows for item in items])
        return self.model.start(memory)

    def _join(self, state: Any) -> None:
        self._state = state if self._state is None else self._state.join(state)

    def _step(self, over: list[Outcome]) -> Tensor:
        """Logits (R, V) of all rows. If the joint step fails each search is stepped by itself."""
        try:
            logits, self._state = self.model.step(self._tokens(self._running.values()), self._state)
        except Exception:
            logits = self._step_each(over)
        return logits

    def _step_each(self, over: list[Outcome]) -> Tensor:
        before, self._state = self._state, None
        steps, first = list[Tensor](), 0
        for item in list(self._running.values()):
            rows = torch.arange(first, first + item.rows, device=device_of(self.model))
            first += item.rows
            try:
                logits, state = self.model.step(self._tokens([item]), before.select(rows))
                self._join(state)
                steps.append(logits)
            except Exception as error:
                self._leave(item, error, over)
        return torch.cat(steps) if steps else torch.empty(0, 1)

    def _tokens(self, items: Iterable[RunningSearch]) -> Tensor:
        """The last token of each row of these searches."""
        tokens = [token for item in items for token in item.search.last_tokens()]
        return torch.tensor(tokens, device=device_of(self.model))

    def _advance(self, log_probs: Tensor, over: list[Outcome]) -> None:
        """Hand each search its rows of log_probs (R, V), and keep the rows that go on.

        The usual filter and the choice of the best tokens are done once for all rows; searches that need more
        than that see all of the vocabulary.
        """
        items = list(self._running.values())
        wants = [item.search.wants(self.usual) for item in items]
        values, ids = list[list[float]](), list[list[int]]()
        if count := min(max(wants), log_probs.shape[1]):
            best = top(self.usual.between(log_probs), count)  # (R, count)
            values, ids = best[0].tolist(), best[1].tolist()
        kept, first = list[int](), 0
        for item, wanted in zip(items, wants, strict=True):
            mine, search = slice(first, first + item.rows), item.search
            try:
                best_of = (values[mine], ids[mine]) if wanted else ((), ())
                rows = search.advance_with(log_probs[mine], *best_of)
                if search.done:
                    self._leave(item, search.answers()[0], over)
                kept += [first + row for row in rows]
                item.rows = len(rows)
            except Exception as error:
                self._leave(item, error, over)
            first = mine.stop
        if kept != list(range(first)):
            self._keep(kept)

    def _leave(self, item: RunningSearch, outcome: list[Answer] | Exception, over: list[Outcome]) -> None:
        del self._running[item.key]
        over.append((item.key, outcome))

    def _keep(self, rows: list[int]) -> None:
        """Only these rows of the state."""
        if rows:
            self._state = self._state.select(torch.tensor(rows, device=device_of(self.model)))
        else:
            self._state = None
