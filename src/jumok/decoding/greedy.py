"""The reference loop of decoding: one hypothesis per sentence. Read this first.

Every search asks four questions at each step: what are the log-probabilities, which pieces are allowed, which
hypotheses survive, which are done.
"""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from jumok.decoding.filters import Filter, Rows, allow
from jumok.decoding.scores import Answer, check_finite, log_softmax
from jumok.models.interface import Memory, Seq2Seq
from jumok.text.tokenizer import BOS, EOS

Pick = Callable[[Tensor, Rows], Tensor]
"""`pick(allowed, rows)`: log-probabilities (R, V) -> one token per row (R,)."""


def best(allowed: Tensor, rows: Rows) -> Tensor:
    """The most probable token of each row; of equals the one with the lowest id."""
    return allowed.argmax(dim=1)


@torch.inference_mode()
def greedy(
    model: Seq2Seq, memory: Memory, limits: Sequence[int], filters: Sequence[Filter] = (), pick: Pick = best
) -> list[Answer]:
    """One answer per sentence of `memory`; sentence i gets at most `limits[i]` tokens, its end included.

    Scores are the model's own, from before any filter. Rows that are done leave the batch.
    """
    rows = Rows.start(limits, memory.mask.device)
    state = model.start(memory)
    token = torch.full_like(rows.sentence, BOS)
    answers: dict[int, Answer] = {}
    while len(token):
        logits, state = model.step(token, state)
        log_probs = log_softmax(logits)  # (R, V)

        rows = rows.facing(log_probs)
        token = pick(allow(log_probs, rows, filters), rows)  # (R,)

        log_prob = log_probs.gather(1, token[:, None]).squeeze(1)  # (R,)
        check_finite(log_prob, rows.sentence)
        rows = rows.grow(token, log_prob)

        done = (token == EOS) | (rows.room == 0)
        if done.any():
            answers.update(rows.select(done.nonzero().squeeze(1)).answers())
            live = (~done).nonzero().squeeze(1)
            rows, state, token = rows.select(live), state.select(live), token[live]
    return [answers[sentence] for sentence in range(len(limits))]
