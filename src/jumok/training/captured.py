"""Updates of a model with fixed shapes, captured once and replayed: the host only hands over numbers.

Shapes never change, so the forward and backward pass of a batch is one CUDA graph and the rest of the update
another. The model computes with copies of its weights in the low type (bf16); the weights that learn, their
gradients and the optimiser stay in float32:

    copies <- weights                      one call over all tensors
    gradients += d loss / d copies         for each batch, of the loss summed over its tokens
    mean over tokens, clip, optimiser step, copies <- weights

Without a GPU, or where capturing fails, the same calls run one by one.
"""

import logging
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from jumok.config import TrainingConfig
from jumok.data.batch import Batch
from jumok.decoding.graphs import end_failed_capture
from jumok.models.interface import Seq2Seq
from jumok.nn.attention import exact_weights
from jumok.training.optimizer import Optimizers
from jumok.training.step import (
    Reduce,
    Share,
    StepResult,
    batch_loss,
    counted,
    is_out_of_memory,
    step_seed,
)

logger = logging.getLogger("jumok")
WARM = 2  # passes before a capture: kernels are compiled and libraries choose their ways


class LossModule(nn.Module):
    """A batch to its loss, as a module, so that other weights can stand in for the model's own."""

    def __init__(self, model: Seq2Seq, config: TrainingConfig) -> None:
        super().__init__()
        self.model, self.config = model, config

    def forward(self, batch: Batch) -> tuple[Tensor, Tensor]:
        return batch_loss(self.model, batch, self.config, fixed=True)


class CapturedStep:
    """Callable: the batches of one update in, weights updated. One object for one model and one `Room`."""

    def __init__(
        self,
        model: Seq2Seq,
        optimizers: Optimizers,
        config: TrainingConfig,
        empty: Batch,
        *,
        seed: int,
        dtype: torch.dtype = torch.bfloat16,
        graph: bool = True,
        reduce: Reduce | None = None,
    ) -> None:
        """`empty` is a batch of the room that all batches have."""
        self.optimizers, self.seed, self.reduce = optimizers, seed, reduce
        self.loss = LossModule(model, config)
        named = dict(self.loss.named_parameters())
        exact = exact_weights(model)
        self.weights: list[Tensor] = list(named.values())
        self.copies = [as_leaf(w, torch.float32 if w in exact else dtype) for w in self.weights]
        self.named_copies = dict(zip(named, self.copies, strict=True))
        device = self.weights[0].device
        self.gradients = [torch.zeros_like(w, dtype=torch.float32) for w in optimizers.weights]
        self.limit = config.clip or torch.inf
        # What a replay reads: it is written to before, in place.
        self.batch = empty.to(device).with_tensors(Tensor.clone)
        self.share = torch.ones((), device=device)  # 1 / target tokens of the update
        self.rate = torch.zeros((), device=device)
        self.void = torch.zeros((), dtype=torch.bool, device=device)  # while warming up: change nothing
        # What a replay writes.
        self.sums = torch.zeros(2, device=device)
        self.numbers = torch.zeros(4, device=device)
        self.run = StepGraphs(enabled=graph and device.type == "cuda")

    def __call__(self, batches: Sequence[Batch], share: Share, *, lr: float, step: int) -> StepResult:
        """Update the weights once, by the mean loss over all target tokens of the update."""
        self.loss.train()
        # Graphs, streams and kernels are those of the current GPU, which need not be the model's.
        with torch.cuda.device_of(self.numbers):  # type: ignore[no-untyped-call]
            if not self.run.ready:
                self.warm_up()
            self.share.fill_(1 / share.targets)
            self.rate.fill_(lr)
            for number, batch in enumerate(batches):
                self.batch.numbers.copy_(batch.numbers, non_blocking=True)
                if self.batch.patches is not None:
                    assert batch.patches is not None
                    self.batch.patches.copy_(batch.patches, non_blocking=True)
                torch.manual_seed(step_seed(self.seed, step, share.first + number))
                self.run("first" if number == 0 else "more", self.first if number == 0 else self.more)
            if self.reduce is not None:
                self.reduce([*self.gradients, self.sums])
            self.run("update", self.update)
            numbers = self.numbers.clone()
        return StepResult(numbers, *counted(batches))

    def warm_up(self) -> None:
        """Run everything without changing a weight: an empty batch, and an update that is skipped."""
        self.void.fill_(value=True)

        def once() -> None:
            for _ in range(WARM):
                self.first()
                self.more()
                self.update()

        self.run.warm(once)
        self.void.fill_(value=False)
        copy_all(self.copies, self.weights)

    def first(self) -> None:
        """Gradients of the first batch."""
        sums = self.backward()
        copy_all(self.gradients, self.found())
        self.sums.copy_(sums)

    def more(self) -> None:
        """Gradients of a later batch, added."""
        sums = self.backward()
        torch._foreach_add_(self.gradients, [g.float() for g in self.found()])
        self.sums += sums

    def backward(self) -> Tensor:
        for copy in self.copies:
            copy.grad = None
        # Tied weights are one module here, not two: torch need not look for them, and must not swap it twice.
        loss, nll = torch.func.functional_call(self.loss, self.named_copies, (self.batch,), tie_weights=False)
        loss.backward()  # of the sum over tokens: gradients have the same size however many there are
        return torch.stack((loss.detach(), nll)) * self.share

    def found(self) -> list[Tensor]:
        """Gradients of what learns; frozen weights have none."""
        own = {
            weight: copy.grad if copy.grad is not None else torch.zeros_like(copy)
            for weight, copy in zip(self.weights, self.copies, strict=True)
            if weight.requires_grad
        }
        return self.optimizers.gradients(own)

    def update(self) -> None:
        """Clip, step, and the copies follow; all of it on the device, a skip too."""
        norm = torch.stack(torch._foreach_norm(self.gradients)).norm() * self.share
        bad = ~(norm.isfinite() & self.sums.isfinite().all()) | self.void
        torch._foreach_mul_(self.gradients, (self.limit / (norm + 1e-6)).clamp(max=1) * self.share)
        learning = self.optimizers.weights
        for weight, gradient in zip(learning, self.gradients, strict=True):
            weight.grad = gradient
        self.optimizers.step(self.rate, skip=bad)
        for weight in learning:
            weight.grad = None  # it goes with this object
        copy_all(self.copies, self.weights)
        self.numbers.copy_(torch.cat((self.sums, torch.stack((norm, bad.float())))))


@torch.no_grad()
def copy_all(to: Sequence[Tensor], values: Sequence[Tensor]) -> None:
    """Copy each value, in one call for each pair of types: a call for mixed types would be one for each."""
    kinds = {(a.dtype, b.dtype) for a, b in zip(to, values, strict=True)}
    for kind in sorted(kinds, key=str):
        pairs = [(a, b) for a, b in zip(to, values, strict=True) if (a.dtype, b.dtype) == kind]
        torch._foreach_copy_([a for a, _ in pairs], [b for _, b in pairs])


def as_leaf(weight: Tensor, dtype: torch.dtype) -> Tensor:
    return weight.detach().to(dtype, copy=True).requires_grad_(weight.requires_grad)


class StepGraphs:
    """Captures a call the first time and replays it from then on; where that fails, it just calls."""

    def __init__(self, *, enabled: bool) -> None:
        self.enabled, self.ready = enabled, False
        self.graphs: dict[str, torch.cuda.CUDAGraph] = {}
        self.pool: Any = None  # the memory that all graphs share: they run one after the other

    def warm(self, call: Callable[[], None]) -> None:
        """Run a call on a stream of its own, as capturing wants it."""
        self.ready = True
        if not self.enabled:
            return
        stream = torch.cuda.Stream()  # type: ignore[no-untyped-call]
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            call()
        torch.cuda.current_stream().wait_stream(stream)

    def __call__(self, name: str, call: Callable[[], None]) -> None:
        if self.enabled and name not in self.graphs:
            self.capture(name, call)
        if self.enabled:
            self.graphs[name].replay()
        else:
            call()

    def capture(self, name: str, call: Callable[[], None]) -> None:
        try:
            graph = torch.cuda.CUDAGraph()
            # The thread that prepares batches may go on meanwhile.
            with torch.cuda.graph(graph, pool=self.pool, capture_error_mode="thread_local"):
                call()
        except Exception as error:  # whatever the reason: the call itself can still be made
            if is_out_of_memory(error):
                raise
            self.enabled = False
            end_failed_capture()
            reason, *_ = (str(error).strip() or type(error).__name__).splitlines()
            logger.warning("the GPU cannot replay this model's steps (%s): they run one by one", reason)
            return
        self.pool = self.pool or graph.pool()
        self.graphs[name] = graph
