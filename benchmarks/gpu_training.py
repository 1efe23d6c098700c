"""Training speed on a GPU, beside others: the same sentences through each contestant, in one run.

    python benchmarks/gpu_training.py                     Transformer-base
    python benchmarks/gpu_training.py --model both        base and big
    python benchmarks/gpu_training.py --model multi30k    a small model, where launching kernels is the work
    python benchmarks/gpu_training.py --smoke             tiny, on a CPU, for a quick look

Every contestant makes one pass over the same sentences: lengths log-normal, ids as uneven as words. Padded
batches come from a corpus that is sorted by length as a whole, packed ones from the same sentences shuffled.
All wait on the device. Each does a whole update: bf16 (peers by autocast), label smoothing 0.1, gradients
clipped at norm 1, fused AdamW; `fp8` has its feed-forward networks in fp8. Only tokens that are not padding
count, the ends of sentences included. The operations of a pass:

    6 · (Σ_s W_source + Σ_t W_target)  +  12 · D · (N_e Σ s² + N_d Σ t (t + 1) / 2 + N_d Σ s t)

for sentences of s and t tokens. W are the weights that a token passes: a source token 4D² + 2DF in each
encoder layer and 2D² (its keys and values) in each decoder layer, a target token 6D² + 2DF in each decoder
layer and V·D in the output. The second part is attention, for the pairs that see each other.
"""

import argparse
import json
import platform
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from itertools import count
from time import perf_counter
from typing import Any

import numpy as np
import torch
from contest import attempt, line, peak_memory, read_options, synchronize, table
from padded import Padded
from peers import PlainTransformer, make_marian, marian_logits, without_layer_drop
from pool import Size, Work, count_operations, make_work, places, real_lengths
from torch import Tensor, nn

from jumok import __version__
from jumok.backends.choose import choose_backend
from jumok.config import TrainingConfig, TransformerConfig
from jumok.data.batch import Batch
from jumok.models.build import build_model
from jumok.models.interface import Seq2Seq
from jumok.presets import TRANSFORMERS
from jumok.text.tokenizer import PAD
from jumok.training.captured import CapturedStep
from jumok.training.optimizer import Optimizers
from jumok.training.step import Share

RATE = 3e-4
WARM = 8  # steps before the clock runs, besides the first
SETTINGS = TrainingConfig(lr=RATE, label_smoothing=0.1, clip=1.0, batches="packed")
BETAS, EPS = (SETTINGS.momentum, SETTINGS.beta2), 1e-9

SIZES = {
    "base": Size(TransformerConfig(**TRANSFORMERS["base"]), 32_000, 50_000, 27, 2_000_000, 34),
    "big": Size(TransformerConfig(**TRANSFORMERS["big"]), 32_000, 50_000, 27, 2_000_000, 34),
    "multi30k": Size(
        TransformerConfig(encoder_layers=4, decoder_layers=4, width=256, heads=4, feedforward=1024),
        vocabulary=8_000,
        tokens=8_192,
        mean=14,
        corpus=29_000,
        steps=90,
    ),
}
SMOKE = Size(
    TransformerConfig(encoder_layers=1, decoder_layers=1, width=32, heads=2, feedforward=64),
    vocabulary=400,
    tokens=512,
    mean=12,
    corpus=400,
    steps=3,
    square=256,
)


@dataclass
class Row:
    """One line of the table; without a speed it says why."""

    model: str
    name: str
    peer: bool
    tokens_per_second: float = 0.0
    step_ms: float = 0.0
    tflops: float = 0.0
    of_peak: float = 0.0
    memory_gb: float = 0.0
    first_step_s: float = 0.0
    steps: int = 0
    padding: float = 0.0  # share of the places that hold no token
    loss: float = 0.0  # per target token, mean of the steps
    problem: str = ""


Step = Callable[[int], Tensor]
"""One update with batch n; gives its loss per target token, still on the device."""


def train_peer(work: Work, module: nn.Module, loss_of: Callable[[Padded], Tensor]) -> Step:
    """The usual loop around a network that takes rectangles."""
    module.to(work.device)
    weights = [weight for weight in module.parameters() if weight.requires_grad]
    optimizer = torch.optim.AdamW(weights, lr=RATE, betas=BETAS, eps=EPS, weight_decay=0.0, fused=True)

    def step(n: int) -> Tensor:
        with torch.autocast(work.device.type, torch.bfloat16, enabled=work.dtype == torch.bfloat16):
            loss = loss_of(work.padded[n])
        loss.backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(weights, SETTINGS.clip)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        return loss.detach()

    return step


def smoothed(logits: Tensor, target: Tensor) -> Tensor:
    """The label-smoothed loss per target token of logits (B, T, V)."""
    return nn.functional.cross_entropy(
        logits.flatten(0, 1), target.flatten(), ignore_index=PAD, label_smoothing=SETTINGS.label_smoothing
    )


def plain(work: Work) -> Step:
    module = PlainTransformer(work.size.model, work.size.vocabulary).train()
    return train_peer(work, module, lambda batch: smoothed(module(batch), batch.target_out))


def marian(work: Work) -> Step:
    module = without_layer_drop(make_marian(work.size.model, work.size.vocabulary).train())
    return train_peer(
        work,
        module,
        lambda b: smoothed(marian_logits(module, b.source, b.source_mask, b.target_in), b.target_out),
    )


def marian_compiled(work: Work, *, tuned: bool) -> Step:
    """Network and loss in one graph, so that the loss is fused as well."""
    torch.compiler.reset()
    module = make_marian(work.size.model, work.size.vocabulary).train()
    if tuned:
        module = without_layer_drop(module)
    how: dict[str, Any] = {"backend": "eager"} if work.device.type == "cpu" else {}  # tracing alone

    @torch.compile(dynamic=True, **how)
    def compiled(source: Tensor, mask: Tensor, target_in: Tensor, target_out: Tensor) -> Tensor:
        return smoothed(marian_logits(module, source, mask, target_in), target_out)

    return train_peer(work, module, lambda b: compiled(b.source, b.source_mask, b.target_in, b.target_out))


def packed(work: Work, *, graph: bool, eight: bool = False) -> Step:
    model, optimizers = make_ours(work, eight=eight)
    update = CapturedStep(
        model,
        optimizers,
        SETTINGS,
        work.packed[0],
        seed=0,
        dtype=work.dtype,
        graph=graph and work.device.type == "cuda",
        reduce=None,
    )
    number = count(1)

    def step(n: int) -> Tensor:
        batch = work.packed[n]
        return update([batch], Share(batch.tokens), lr=RATE, step=next(number)).numbers[0]

    return step


def make_ours(work: Work, *, eight: bool) -> tuple[Seq2Seq, Optimizers]:
    torch.manual_seed(0)
    size = work.size
    model = build_model(size.model, size.vocabulary, size.vocabulary, shared=True).to(work.device).train()
    model.ops = choose_backend(work.device, precision="fp8" if eight else "bf16")
    return model, Optimizers(model, SETTINGS)


@dataclass(frozen=True)
class Contestant:
    name: str
    make: Callable[[Work], Step]
    peer: bool = False
    packs: bool = False


CONTESTANTS = {
    "plain": Contestant("nn.Transformer, padded", plain, peer=True),
    "marian": Contestant("Marian, padded", marian, peer=True),
    "compiled": Contestant("Marian, padded, compiled", partial(marian_compiled, tuned=True), peer=True),
    "broken": Contestant(
        "Marian, padded, compiled as it comes", partial(marian_compiled, tuned=False), peer=True
    ),
    "eager": Contestant("ours, packed, no graph", partial(packed, graph=False), packs=True),
    "packed": Contestant("ours, packed", partial(packed, graph=True), packs=True),
    "fp8": Contestant("ours, packed, fp8", partial(packed, graph=True, eight=True), packs=True),
}


USUAL = [key for key in CONTESTANTS if key != "broken"]  # which breaks into a graph for each layer


def measure(work: Work, one: Contestant, row: Row, peak: float) -> None:
    """Fill the row: the first step, some more from short to long, then all of them in a mixed order."""
    batches: Sequence[Batch] | Sequence[Padded] = work.packed if one.packs else work.padded
    last = len(batches) - 1
    began = perf_counter()
    step = one.make(work)
    step(last)
    synchronize(work.device)
    row.first_step_s = perf_counter() - began
    for n in range(0, last, max(1, last // WARM)):
        step(n)
    order = np.random.default_rng(1).permutation(len(batches)).tolist()
    synchronize(work.device)
    began = perf_counter()
    losses = [step(n) for n in order]
    synchronize(work.device)
    seconds = perf_counter() - began
    row.steps, row.loss = len(batches), float(torch.stack(losses).mean())
    row.step_ms = 1e3 * seconds / row.steps
    lengths = [real_lengths(batch) for batch in batches]
    tokens = sum(int(s.sum() + t.sum()) for s, t in lengths)
    row.tokens_per_second = tokens / seconds
    row.tflops = sum(count_operations(work.size, s, t) for s, t in lengths) / seconds / 1e12
    row.of_peak = row.tflops / peak
    row.padding = 1 - tokens / sum(map(places, batches))
    row.memory_gb = peak_memory(work.device)


def measure_peak(square: int, device: torch.device, dtype: torch.dtype) -> float:
    """TFLOP/s of the product of two square matrices of random numbers, the best of five times."""
    a, b = (torch.randn(square, square, device=device, dtype=dtype) for _ in range(2))
    found, rounds = [], 20
    for _ in range(6):
        synchronize(device)
        began = perf_counter()
        for _ in range(rounds):
            a @ b
        synchronize(device)
        found.append(rounds * 2 * square**3 / (perf_counter() - began) / 1e12)
    return max(found[1:])


HEAD = [
    "contestant",
    "M tokens/s",
    "ms/step",
    "TFLOP/s",
    "of peak",
    "to best peer",
    "GB",
    "first step s",
    "steps",
    "padding",
    "loss",
]


def cells(row: Row, rows: Sequence[Row]) -> list[str]:
    """The row as text; the ratio is to the best peer of its model among `rows`."""
    if row.problem:
        return [row.name, row.problem]
    best = max((one.tokens_per_second for one in rows if one.peer and one.model == row.model), default=0.0)
    return [
        row.name,
        f"{row.tokens_per_second / 1e6:.3f}",
        f"{row.step_ms:.2f}",
        f"{row.tflops:.3g}",
        f"{row.of_peak:.1%}",
        f"{row.tokens_per_second / best:.2f}" if best else "-",
        f"{row.memory_gb:.1f}",
        f"{row.first_step_s:.1f}",
        str(row.steps),
        f"{row.padding:.1%}",
        f"{row.loss:.3f}",
    ]


def compete(name: str, work: Work, chosen: Sequence[str], limit: float) -> list[Row]:
    """The rows of one model, printed as they come and again as a table."""
    size = work.size
    peak = measure_peak(size.square, work.device, work.dtype)
    model = size.model
    print(
        f"\n{name}: {model.encoder_layers}+{model.decoder_layers} x {model.width}/{model.feedforward}, "
        f"{model.heads} heads, vocabulary {size.vocabulary:,}, {work.room.source:,} + {work.room.target:,} "
        f"tokens an update\nmatrix peak: {peak:.3g} TFLOP/s (product of {size.square} x {size.square}, "
        f"{str(work.dtype).removeprefix('torch.')})",
        flush=True,
    )
    rows: list[Row] = []
    for key in chosen:
        one = CONTESTANTS[key]
        row = Row(name, one.name, one.peer)
        row.problem = attempt(partial(measure, work, one, row, peak), work.device, limit)
        rows.append(row)
        print(line(HEAD, cells(row, rows)), flush=True)
    print("\n" + table(HEAD, [cells(row, rows) for row in rows]), flush=True)
    return rows


def facts(device: torch.device) -> dict[str, Any]:
    """What was run, where and with which versions."""
    there = {}
    for name in ("torch", "triton", "transformers", "numpy"):
        try:
            there[name] = version(name)
        except PackageNotFoundError:
            there[name] = "not installed"
    gpu = torch.cuda.get_device_name() if device.type == "cuda" else "none"
    driver = {"cuda": str(torch.version.cuda), "python": platform.python_version(), "jumok": __version__}
    return {"command": " ".join(["python", *sys.argv]), "gpu": gpu, "versions": there | driver}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--model", choices=[*SIZES, "both"], default="base", help="both: base and big")
    parser.add_argument("--steps", type=int, help="updates to time")
    parser.add_argument("--only", nargs="+", choices=CONTESTANTS, default=USUAL)
    args, device = read_options(parser, limit=120)
    names = ["smoke"] if args.smoke else ["base", "big"] if args.model == "both" else [args.model]
    rows: list[Row] = []
    for name in names:
        size = SMOKE if args.smoke else SIZES[name]
        work = make_work(replace(size, steps=args.steps or size.steps), device)
        rows += compete(name, work, args.only, args.limit)
        if args.json:
            found = facts(device) | {"rows": [asdict(row) for row in rows]}
            args.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
