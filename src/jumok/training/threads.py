"""Gradients of a batch on a CPU, by threads side by side.

The sentences of a batch are shared out over the threads. Each goes forward and backward alone, with matrix
products on its own core, so that no thread waits for another before the end:

    g = g_1 + g_2 + …      added in the order of the parts

Which sentences a part has, and the seed of its dropout, depend on the batch and the number of threads alone.
"""

import copy
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from functools import cached_property

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


class Threads:
    """The threads of one run, and a twin of the model for each: the same weights, gradients of its own."""

    def __init__(self, model: Seq2Seq) -> None:
        self.model = model
        self.twins: list[Seq2Seq] = []

    @cached_property
    def pool(self) -> ThreadPoolExecutor:
        return ThreadPoolExecutor(MOST - 1, "jumok-train")

    def gradients(
        self, batch: Batch, config: TrainingConfig, loss: Loss, *, share: float, seed: int
    ) -> Tensor:
        """Add `share` times the gradients of the batch's loss to the model's; loss and nll, summed (2,)."""
        threads = torch.get_num_threads()
        count = min(threads, MOST, (batch.source_tokens + batch.tokens) // LEAST, batch.sentences)
        parts = batch.cut(count) if count > 1 else [batch]
        models = [self.model, *self.twins_for(len(parts) - 1)]
        for twin in models[1:]:
            twin.zero_grad(set_to_none=True)  # a call that failed may have left some

        def work(number: int) -> Tensor:
            """One part, by the thread that calls; loss and nll (2,)."""
            torch.set_num_threads(max(1, threads // len(parts)))  # for the matrix products of this thread
            generator = torch.Generator().manual_seed(seed + number)
            model = models[number].using(NativeBackend(generator)).train()
            total, nll = loss(model, parts[number], config)
            (total * share).backward()  # type: ignore[no-untyped-call]
            return torch.stack((total.detach(), nll))

        others: list[Future[Tensor]] = []
        try:
            others += [self.pool.submit(work, number) for number in range(1, len(parts))]
            sums = [work(0)]
        finally:
            wait(others)  # nobody may still be computing when this thread goes on
            torch.set_num_threads(threads)
        sums += [other.result() for other in others]
        for twin in models[1:]:
            add_gradients(self.model, twin)
        return torch.stack(sums).sum(0)

    def twins_for(self, count: int) -> list[Seq2Seq]:
        """So many modules with the weights that the model has now."""
        weights = list(self.model.parameters())
        same = all(
            twin.data_ptr() == weight.data_ptr() and twin.requires_grad == weight.requires_grad
            for one in self.twins
            for twin, weight in zip(one.parameters(), weights, strict=True)
        )
        if not same:
            self.twins.clear()
        while len(self.twins) < count:
            memo = {id(weight): nn.Parameter(weight.detach(), weight.requires_grad) for weight in weights}
            self.twins.append(copy.deepcopy(self.model, memo))
        return self.twins[:count]


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
