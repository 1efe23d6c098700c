"""Peak memory of training and of decoding: on a GPU as torch counts it, on a CPU the bytes of live tensors.

A process's own size would say little: Python and torch take hundreds of megabytes before a model is built.
"""

import weakref
from collections.abc import Callable, Sequence
from copy import deepcopy
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from jumok.config import RunConfig
from jumok.data.batch import lay_pairs
from jumok.models.interface import Seq2Seq
from jumok.training.optimizer import Optimizers
from jumok.training.step import train_step

Pairs = Sequence[tuple[Sequence[int], Sequence[int]]]


class LiveTensors(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Counts the bytes of all tensors made inside it while they live, and remembers the most."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.now = self.peak = 0
        self.held: dict[int, weakref.ref[Any]] = {}

    def __torch_dispatch__(
        self, func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        made = func(*args, **(kwargs or {}))
        for leaf in tree_leaves(made):
            if isinstance(leaf, Tensor):
                self.add(leaf.untyped_storage())
        return made

    def add(self, storage: Any) -> None:
        key, size = id(storage), storage.nbytes()
        if key in self.held or not size:
            return

        def gone(_: object) -> None:
            self.now -= size
            self.held.pop(key, None)

        self.held[key] = weakref.ref(storage, gone)
        self.now += size
        self.peak = max(self.peak, self.now)


def weight_bytes(model: nn.Module) -> int:
    """Bytes of the weights themselves."""
    return sum(weight.numel() * weight.element_size() for weight in model.parameters())


def peak_of(model: Seq2Seq, work: Callable[[], object]) -> int:
    """The most bytes in use at once while `work` runs the model, its weights included."""
    device = next(model.parameters()).device
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats(device)
        work()
        most: int = torch.cuda.max_memory_allocated(device)
        return most
    live = LiveTensors()
    with live:
        work()
    return weight_bytes(model) + live.peak


def update_peak(model: Seq2Seq, config: RunConfig, pairs: Pairs) -> int:
    """The peak of two updates on as many of the longest pairs as one part of a batch holds.

    Two: the optimiser makes its moments in the first, and the second runs beside them.
    """
    twin = deepcopy(model).float()
    training = config.training
    room = max(1, training.batch_tokens // training.accumulate)
    ordered = sorted(pairs, key=lambda pair: len(pair[0]) + len(pair[1]), reverse=True)
    ordered = [pair for pair in ordered if max(map(len, pair)) <= config.data.max_length] or ordered[-1:]
    widest = sum(map(len, ordered[0])) + 2
    some = ordered[: max(1, room // widest)]
    batch = lay_pairs([source for source, _ in some], [target for _, target in some])

    def updates() -> None:
        optimizers = Optimizers(twin, training)
        for step in (1, 2):
            train_step(twin, optimizers, [batch], training, lr=1e-6, step=step, seed=config.seed)

    return peak_of(twin, updates)
