"""What a pass costs as measured: how time and memory grow with length, and peaks of training and decoding.

Growth is of one pair of n source and n target tokens, forward with its loss, beside the formulas of
`models.cost`; its memory is what autograd keeps for the backward pass, counted to the byte. A peak is counted
on a GPU as torch does, on a CPU as the bytes of live tensors: a process's own size would say little, because
Python and torch take hundreds of megabytes before a model is built.
"""

import time
import weakref
from collections.abc import Callable, Sequence
from copy import deepcopy
from math import log
from statistics import linear_regression, median
from typing import Any

import torch
from torch import Tensor
from torch.autograd.graph import saved_tensors_hooks
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from jumok.config import ModelConfig, RunConfig
from jumok.data.batch import lay_pairs
from jumok.models.cost import forward_cost
from jumok.models.interface import Seq2Seq
from jumok.models.sentences import Sentences
from jumok.progress import Progress, silent
from jumok.training.optimizer import Optimizers
from jumok.training.step import train_step

LENGTHS = (16, 32, 64, 128, 256, 512)
REPEATS, SECONDS = (3, 15), 0.2  # passes at each length: at least, at most, and when to stop between
FITTED = 3  # of the longest lengths, whose slope is the exponent
Pairs = Sequence[tuple[Sequence[int], Sequence[int]]]


def measure_growth(
    model: Seq2Seq,
    config: ModelConfig,
    target_vocab: int,
    *,
    lengths: Sequence[int],
    progress: Progress = silent,
) -> dict[str, Any] | None:
    """The `growth` of compare/1: milliseconds and bytes as measured, FLOPs and activations by formula.

    None for a table of learned positions that is too short to see any growth.
    """
    if most := config.table_rows:
        lengths = [n for n in lengths if n <= most]
    if len(lengths) < 2:
        return None
    model.eval()
    rows = []
    for done, n in enumerate(lengths, start=1):
        cost = forward_cost(config, n, n, target_vocab)
        rows.append((n, time_of_pass(model, n), kept_bytes(model, n), cost.flops, cost.activation_bytes))
        progress("growth with length", done, len(lengths))
    names = ("lengths", "ms", "bytes", "flops", "formula_bytes")
    columns = [list(column) for column in zip(*rows, strict=True)]
    figures: dict[str, Any] = dict(zip(names, columns, strict=True))
    exponents = {name: exponent(figures["lengths"], figures[name]) for name in names[1:]}
    return {
        **figures,
        "formula": " + ".join(work.formula for work in forward_cost(config, 1, 1, target_vocab).work),
        "ms_fit": f"n^{exponents['ms']:.2f}",
        "exponents": exponents,
        "threads": torch.get_num_threads(),
    }


def one_pass(model: Seq2Seq, n: int) -> Tensor:
    """The loss of a pair of n tokens on either side; which ones they are does not change the cost."""
    device = next(model.parameters()).device
    sentence = Sentences.lay([[4] * n], device)  # of the first of the plain tokens
    loss: Tensor = model(sentence, sentence).loss(sentence.tokens, 0.0)[0]
    return loss


def time_of_pass(model: Seq2Seq, n: int) -> float:
    """Median milliseconds of a pass that could be learned from."""
    one_pass(model, n)  # wakes kernels, makes position rows
    taken: list[float] = []
    while len(taken) < REPEATS[0] or (len(taken) < REPEATS[1] and sum(taken) < SECONDS):
        began = time.perf_counter()
        one_pass(model, n).item()  # waits for the device
        taken.append(time.perf_counter() - began)
    return 1000 * median(taken)


def kept_bytes(model: Seq2Seq, n: int) -> int:
    """Bytes that autograd keeps alive between forward and backward; weights are not among them."""
    weights = {weight.untyped_storage().data_ptr() for weight in model.parameters()}
    kept: dict[int, int] = {}

    def keep(x: Tensor) -> Tensor:
        storage = x.untyped_storage()  # a view keeps the whole of what it looks at
        if storage.data_ptr() not in weights:
            kept[storage.data_ptr()] = storage.nbytes()
        return x

    with saved_tensors_hooks(keep, lambda x: x):
        loss = one_pass(model, n)  # holds its graph, so that no address is used twice
    assert loss.requires_grad
    return sum(kept.values())


def exponent(lengths: Sequence[float], values: Sequence[float]) -> float:
    """The e of values ≈ c · n^e over the longest lengths: the slope of log value against log n."""
    x, y = ([log(v) for v in some[-FITTED:]] for some in (lengths, values))
    return float(linear_regression(x, y).slope) if len(x) > 1 else 0.0


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


def weight_bytes(model: Seq2Seq) -> int:
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
