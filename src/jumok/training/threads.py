"""Gradients of a padded piece on a CPU: without its padding, by threads side by side.

The rows of a piece are shared out over the threads. Each lays its sentences end to end and goes forward and
backward alone, with matrix products on its own core, so that no thread waits for another before the end:

    g = g_1 + g_2 + …      added in the order of the parts

Which rows a part has, and the seed of its dropout, depend on the piece and the number of threads alone.

Axis letters: B sentences, N source tokens, M target tokens.
"""

import copy
import os
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from functools import cache
from typing import TypeVar
from weakref import WeakKeyDictionary

import numpy as np
import torch
from torch import Tensor, nn

from jumok.config import TrainingConfig
from jumok.data.batch import Padded
from jumok.models.interface import Seq2Seq
from jumok.models.transformer import TransformerSeq2Seq
from jumok.nn import native
from jumok.nn.fused import head_loss
from jumok.training.passes import Laid
from jumok.training.shard import is_shared

LEAST = 512  # tokens that a thread of its own pays for
MOST = 8  # parts: each has gradients of the whole model
M = TypeVar("M", bound=nn.Module)
_twins: "WeakKeyDictionary[nn.Module, list[nn.Module]]" = WeakKeyDictionary()


def runs_in_threads(
    model: nn.Module, piece: Padded, config: TrainingConfig, autocast: torch.dtype | None
) -> bool:
    """Whether this module can do a piece: a Transformer on text, in float32 on a CPU, with the C library."""
    if not isinstance(model, TransformerSeq2Seq) or model.reads_pictures or model.copies:
        return False
    plain = config.rdrop == 0 and config.teacher_forcing == 1 and autocast is None
    fits = model.rows is None or max(piece.source.shape[1], piece.target_in.shape[1]) <= model.rows
    return plain and fits and not is_shared(model.head) and native.usable(model.head)


def threaded_gradients(model: Seq2Seq, piece: Padded, smoothing: float, *, share: float, seed: int) -> Tensor:
    """Add `share` times the gradients of the piece's loss to the model's; loss and nll, summed (2,)."""
    threads = torch.get_num_threads()
    parts = cut_rows(piece, min(threads, MOST))
    models = [model, *twins_of(model, len(parts) - 1)]
    for twin in models[1:]:
        twin.zero_grad(set_to_none=True)  # a call that failed may have left some
    jobs = [
        (one, part, smoothing, share, seed + n)
        for n, (one, part) in enumerate(zip(models, parts, strict=True))
    ]
    if len(parts) == 1:
        return own_gradients(*jobs[0])
    each = threads // len(parts)  # cores for the matrix products of one part
    others: list[Future[Tensor]] = []
    try:
        others += [pool().submit(on_threads, each, job) for job in jobs[1:]]
        sums = [on_threads(each, jobs[0])]
    finally:
        wait(others)  # nobody may still be computing when this thread goes on
        torch.set_num_threads(threads)
    sums += [other.result() for other in others]
    for twin in models[1:]:
        add_gradients(model, twin)
    return torch.stack(sums).sum(0)


def on_threads(each: int, job: tuple[Seq2Seq, Padded, float, float, int]) -> Tensor:
    """`own_gradients` with so many threads for each matrix product."""
    torch.set_num_threads(each)  # of the thread that calls
    return own_gradients(*job)


@torch.no_grad()
def add_gradients(model: nn.Module, twin: nn.Module) -> None:
    """The model's gradients get those of a twin, which has none afterwards."""
    sums: list[Tensor] = []
    more: list[Tensor] = []
    for mine, its in zip(model.parameters(), twin.parameters(), strict=True):
        if mine.grad is None:
            mine.grad = its.grad
        elif its.grad is not None:
            sums.append(mine.grad)
            more.append(its.grad)
        its.grad = None
    if sums:
        torch._foreach_add_(sums, more)


def own_gradients(model: Seq2Seq, piece: Padded, smoothing: float, share: float, seed: int) -> Tensor:
    """One part, by the thread that calls; loss and nll (2,)."""
    model.train()
    batch, target = laid_rows(piece)
    with native.own_seeds(seed):
        loss, nll = head_loss(model.features(batch), model.head, target, smoothing)
    (loss * share).backward()  # type: ignore[no-untyped-call]
    return torch.stack((loss.detach(), nll))


def cut_rows(piece: Padded, threads: int) -> list[Padded]:
    """The piece in at most `threads` parts of about as many tokens; one if it is small."""
    tokens = (piece.source_mask.sum(1) + piece.target_mask.sum(1)).numpy()  # (B,)
    whole = int(tokens.sum())
    count = max(1, min(threads, whole // LEAST, len(tokens)))
    ends = np.searchsorted(tokens.cumsum(), [whole * n / count for n in range(1, count)], side="left") + 1
    cuts = [0, *ends.tolist(), len(tokens)]
    fields = (piece.source, piece.source_mask, piece.target_in, piece.target_out, piece.target_mask)
    return [
        Padded(*(field[begin:end] for field in fields))
        for begin, end in zip(cuts, cuts[1:], strict=False)
        if end > begin
    ]


def laid_rows(piece: Padded) -> tuple[Laid, Tensor]:
    """The sentences of a piece end to end, and what is to be predicted (M,)."""
    s, t = piece.source_mask.sum(1), piece.target_mask.sum(1)  # (B,)
    s_end, t_end = s.cumsum(0), t.cumsum(0)
    bounds = torch.stack((s_end - s, s_end, t_end - t, t_end)).int()  # (4, B)
    of_source, of_target = bounds.repeat_interleave(s, dim=1), bounds.repeat_interleave(t, dim=1)
    batch = Laid(
        source=piece.source[piece.source_mask],
        source_range=of_source[:2],
        source_readers=of_source[2:],
        target_in=piece.target_in[piece.target_mask],
        target_range=of_target[2:],
        target_reads=of_target[:2],
        longest=piece.source.shape[1],
        source_lengths=s.numpy(),
        target_lengths=t.numpy(),
    )
    return batch, piece.target_out[piece.target_mask]


def twins_of(model: M, count: int) -> Sequence[M]:
    """So many modules with the very weights of the model, but gradients of their own."""
    kept = _twins.setdefault(model, [])
    weights = list(model.parameters())
    same = all(
        twin.data_ptr() == weight.data_ptr() and twin.requires_grad == weight.requires_grad
        for one in kept
        for twin, weight in zip(one.parameters(), weights, strict=True)
    )
    if not same:
        kept.clear()
    while len(kept) < count:
        memo = {id(weight): nn.Parameter(weight.detach(), weight.requires_grad) for weight in weights}
        kept.append(copy.deepcopy(model, memo))
    return kept[:count]  # type: ignore[return-value]


@cache
def pool() -> ThreadPoolExecutor:
    """Threads that wait for parts; a child of fork makes its own."""
    return ThreadPoolExecutor(MOST - 1, "jumok-train")


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=pool.cache_clear)
