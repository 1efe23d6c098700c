"""How the cost of one pass grows with length: time and memory as measured, beside `models.cost`'s formulas.

One pair of n source and n target tokens, forward with its loss. Memory is what autograd keeps for the
backward pass, counted to the byte.
"""

import time
from collections.abc import Sequence
from math import log
from statistics import linear_regression, median
from typing import Any

import torch
from torch import Tensor
from torch.autograd.graph import saved_tensors_hooks

from jumok.config import ModelConfig
from jumok.models.cost import forward_cost
from jumok.models.interface import Seq2Seq
from jumok.models.sentences import Sentences
from jumok.progress import Progress, silent

LENGTHS = (16, 32, 64, 128, 256, 512)
REPEATS, SECONDS = (3, 15), 0.2  # passes at each length: at least, at most, and when to stop between
FITTED = 3  # of the longest lengths, whose slope is the exponent


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
