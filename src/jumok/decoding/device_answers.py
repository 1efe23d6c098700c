"""Turns what a search on the device recorded into answers on the host, for all sentences at once.

Letters: n sentences, W beam, F answers found, T steps, M answers that are asked for.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from jumok.answers import Answer
from jumok.native.model import SearchOptions


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
