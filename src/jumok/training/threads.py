"""Gradients of a batch on a CPU, by threads side by side.

The sentences of a batch are shared out over the threads. Each goes forward and backward alone, with matrix
products on its own core, so that no thread waits for another before the end:

    g = g_1 + g_2 + …      added in the order of the parts

Which sentences a part has, and the seed of its dropout, depend on the batch and the number of threads alone.
"""

import copy
import itertools
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import torch
from torch import Tensor, nn

from jumok.backends.native import NativeBackend
from jumok.config import TrainingConfig
from jumok.data.batch import Batch
from jumok.models.interface import Seq2Seq
from jumok.training.shard import is_shared

LEAST = 512  # tokens that a thread of its own pays for
MOST = 8  # parts: each has gradients of the whole model
Loss = Callable[[Seq2Seq, Batch, TrainingConfig], tuple[Tensor, Tensor]]


def runs_in_threads(model: Seq2Seq) -> bool:
    """Whether threads can share a model's batches: everything at random comes from its back end."""
    shared = any(map(is_shared, model.parameters()))
    return model.fixed_shapes and isinstance(model.ops, NativeBackend) and not shared


@dataclass
class ThreadPart:
    """What the calling thread has to do of a batch."""

    model: Seq2Seq
    batch: Batch
    others: list[Tensor] = field(default_factory=list)  # loss and nll of each other part, once all are done


class Twin(NamedTuple):
    """A model's twin for another thread: the same weights, gradients of its own."""

    model: Seq2Seq
    weights: list[nn.Parameter]


class Threads:
    """The threads of one run, and a twin of the model for each: the same weights, gradients of its own."""

    def __init__(self, model: Seq2Seq) -> None:
        self.model = model
        self.twins: list[Twin] = []

    @cached_property
    def pool(self) -> ThreadPoolExecutor:
        return ThreadPoolExecutor(MOST - 1, "jumok-train")

    @contextmanager
    def share_out(
        self, batch: Batch, config: TrainingConfig, loss: Loss, *, share: float, seed: int
    ) -> Iterator[ThreadPart]:
        """Let other threads make `share` times the gradients of parts of the batch; yields the caller's part.

        At the end the model has the gradients of all parts, and `others` what the other threads found.
        """
        threads = torch.get_num_threads()
        count = min(threads, MOST, (batch.source_tokens + batch.tokens) // LEAST, batch.sentences)
        parts = batch.cut(count) if count > 1 else [batch]
        weights = list(self.model.parameters())
        twins = self.twins_for(len(parts) - 1, weights)
        models = [self.model, *(twin.model for twin in twins)]
        for weight in itertools.chain.from_iterable(twin.weights for twin in twins):
            weight.grad = None  # a call that failed may have left some

        def begin(number: int) -> Seq2Seq:
            """The model of a part, ready for the thread that calls."""
            torch.set_num_threads(max(1, threads // len(parts)))  # for the matrix products of this thread
            generator = torch.Generator().manual_seed(seed + number)
            assert isinstance(self.model.ops, NativeBackend)
            model = models[number].using(self.model.ops.drawing_from(generator))
            return model if model.training else model.train()

        def work(number: int) -> tuple[Tensor, Tensor]:
            total, nll = loss(begin(number), parts[number], config)
            (total * share).backward()  # type: ignore[no-untyped-call]
            return total.detach(), nll

        results: list[Future[tuple[Tensor, Tensor]]] = []
        own = ThreadPart(begin(0), parts[0])
        try:
            results += [self.pool.submit(work, number) for number in range(1, len(parts))]
            yield own
        finally:
            wait(results)  # nobody may still be computing when this thread goes on
            torch.set_num_threads(threads)
        own.others = [number for result in results for number in result.result()]
        for twin in twins:
            add_gradients(weights, twin.weights)

    def twins_for(self, count: int, weights: Sequence[nn.Parameter]) -> list[Twin]:
        """So many modules with the weights that the model has now."""
        same = all(
            its.data_ptr() == mine.data_ptr() and its.requires_grad == mine.requires_grad
            for twin in self.twins
            for its, mine in zip(twin.weights, weights, strict=True)
        )
        if not same:
            self.twins.clear()
        while len(self.twins) < count:
            memo = {id(weight): nn.Parameter(weight.detach(), weight.requires_grad) for weight in weights}
            model = copy.deepcopy(self.model, memo)
            self.twins.append(Twin(model, list(model.parameters())))
        return self.twins[:count]


@torch.no_grad()
def add_gradients(weights: Sequence[nn.Parameter], others: Sequence[nn.Parameter]) -> None:
    """The weights' gradients get those of a twin, which has none afterwards."""
    sums: list[Tensor] = []
    more: list[Tensor] = []
    for mine, its in zip(weights, others, strict=True):
        if mine.grad is None:
            mine.grad = its.grad
        elif its.grad is not None:
            sums.append(mine.grad)
            more.append(its.grad)
        its.grad = None
    if sums:
        torch._foreach_add_(sums, more)
