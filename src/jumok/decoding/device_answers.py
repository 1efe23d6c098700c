"""What a search on the device left behind, made into answers on the host, for all sentences at once.

Letters: n sentences, W beam, F answers found, T steps, M answers that are asked for.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from jumok.answers import Answer


@dataclass(frozen=True)
class Options:
    """How a search goes; as in `DecodingConfig`."""

    beam: int = 5
    n_best: int = 1
    length_penalty: float = 1.0
    keep: int = 0
    """Most answers to each sentence; 0 for as many as the beam is wide."""

    @property
    def kept(self) -> int:
        return min(self.keep or self.beam, self.beam)


@dataclass(frozen=True)
class Found:
    """Where each sentence stood at its end, and every step of its beams."""

    done: NDArray[np.bool_]  # (n,)
    bad: NDArray[np.bool_]  # (n,), the model gave numbers that are not finite
    steps: NDArray[np.int64]  # (n,), how many were taken
    limit: NDArray[np.int64]  # (n,), how many there may be
    scores: NDArray[np.float64]  # (n, F), normalised, of answers that ended; minus infinity: none
    origins: NDArray[np.int64]  # (n, F), step · W + beam that each grew from
    ends: NDArray[np.float32]  # (n, F), log-probability of its end
    history: NDArray[np.int32]  # (T, n, W, 3), of each beam: parent, token, and log-probability as its bits

    def select(self, rows: NDArray[np.int64]) -> "Found":
        """These sentences only."""
        own = {name: one[rows] for name, one in vars(self).items() if name != "history"}
        return Found(**own, history=self.history[:, rows])


def unpacked(found: Found, options: Options) -> list[list[Answer]]:
    """The answers to each sentence, best first: those that ended, then those that the limit cut off."""
    n, W, keep = len(found.steps), options.beam, options.kept
    order = np.argsort(-found.scores, axis=1, kind="stable")[:, :keep]
    ended = np.take_along_axis(found.scores, order, axis=1) > -np.inf  # (n, keep)
    sentence, rank = np.nonzero(ended)
    column = order[sentence, rank]
    origin, ends = found.origins[sentence, column], found.ends[sentence, column].tolist()

    cut, beam = np.nonzero(live_at_limit(found) & (np.arange(W) < keep - ended.sum(axis=1, keepdims=True)))
    rows = np.concatenate((sentence, cut))
    lengths = np.concatenate((origin // W, found.limit[cut]))
    tokens, log_probs = trace_back(found.history, rows, np.concatenate((origin % W, beam)), lengths)
    answers: list[list[Answer]] = [[] for _ in range(n)]
    lists = zip(rows.tolist(), lengths.tolist(), tokens.tolist(), log_probs.tolist(), strict=True)
    for number, (row, length, ids, values) in enumerate(lists):
        finished = number < len(ends)
        own = (*values[:length], ends[number]) if finished else tuple(values[:length])
        answers[row].append(Answer(tuple(ids[:length]), own, finished))
    return answers


def live_at_limit(found: Found) -> NDArray[np.bool_]:
    """(n, W): beams of sentences that went to their limit."""
    last = np.maximum(found.steps, 1) - 1
    bits = found.history[last, np.arange(len(last)), :, 2]  # (n, W)
    live: NDArray[np.bool_] = bits.view(np.float32) > -np.inf
    reached: NDArray[np.bool_] = found.steps == found.limit
    return live & reached[:, None]


def trace_back(
    history: NDArray[np.int32], rows: NDArray[np.int64], beam: NDArray[np.int64], lengths: NDArray[np.int64]
) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    """Tokens and log-probabilities (M, T) of M hypotheses, from their last beam back to the first step."""
    found = np.zeros((len(rows), int(lengths.max(initial=0)), 3), dtype=np.int32)
    for step in reversed(range(found.shape[1])):
        inside = np.nonzero(step < lengths)[0]
        found[inside, step] = history[step, rows[inside], beam[inside]]
        beam[inside] = found[inside, step, 0]
    return found[:, :, 1], np.ascontiguousarray(found[:, :, 2]).view(np.float32)
