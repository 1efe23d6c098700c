"""One update on a CPU in each precision, for each architecture and width: which is the fastest here?

    python benchmarks/cpu_precision.py --json benchmarks/cpu_precision.json

fp32 and bf16 are what `training.precision` does; `torch fp32` and `torch bf16` are the same model computed by
plain torch, the second by autocast, as it was before the C library had products of its own. Contestants take
turns at the same update of 2,048 random pieces, one thread each; what counts is the processor's time, which a
busy neighbour disturbs least.
"""

import argparse
import json
from pathlib import Path
from statistics import median
from time import process_time
from typing import Any

import numpy as np
import torch
from cpu_training import own_versions

from jumok.backends.native import NativeBackend
from jumok.backends.torch import TorchBackend
from jumok.config import LuongConfig, ModelConfig, RnnConfig, TrainingConfig, TransformerConfig
from jumok.data.batch import Batch, lay_pairs
from jumok.models.build import build_model
from jumok.training.optimizer import Optimizers
from jumok.training.step import train_step
from jumok.training.threads import Threads, runs_in_threads

VOCABULARY, TOKENS = 8000, 2048
WIDTHS = (64, 128, 256, 512)
CONTESTANTS = ("torch fp32", "torch bf16", "fp32", "bf16")


def models(width: int) -> dict[str, ModelConfig]:
    transformer = TransformerConfig(
        encoder_layers=3, decoder_layers=3, width=width, heads=4, feedforward=4 * width
    )
    return {"transformer": transformer, "luong": LuongConfig(width=width), "rnn": RnnConfig(width=width)}


class Learning:
    """A model that is trained in one precision."""

    def __init__(self, name: str, config: ModelConfig) -> None:
        torch.manual_seed(0)
        self.model = build_model(config, VOCABULARY, VOCABULARY, shared=True)
        native = not name.startswith("torch")
        self.model.ops = NativeBackend(bf16=name == "bf16") if native else TorchBackend()
        self.autocast = torch.bfloat16 if name == "torch bf16" else None
        self.threads = Threads(self.model) if runs_in_threads(self.model) else None
        self.training = TrainingConfig()
        self.optimizers, self.step = Optimizers(self.model, self.training), 0

    def seconds(self, batch: Batch) -> float:
        self.step += 1
        given: dict[str, Any] = {"lr": 3e-4, "step": self.step, "seed": 0, "autocast": self.autocast}
        began = process_time()
        train_step(self.model, self.optimizers, [batch], self.training, threads=self.threads, **given)
        return process_time() - began


def batches(count: int) -> list[Batch]:
    """Updates of about as many tokens, each of another shape."""
    draw, found = np.random.default_rng(0), []
    for _ in range(count):
        length = int(draw.integers(8, 30))
        pairs = [
            [draw.integers(260, VOCABULARY, length - k) for _ in range(TOKENS // 2 // length)] for k in (1, 2)
        ]
        found.append(lay_pairs(*pairs))
    return found


def compare(arch: str, width: int, updates: int) -> list[dict[str, Any]]:
    learning = {name: Learning(name, models(width)[arch]) for name in CONTESTANTS}
    times: dict[str, list[float]] = {name: [] for name in CONTESTANTS}
    for number, batch in enumerate(batches(updates)):
        for name, one in learning.items():
            seconds = one.seconds(batch)
            if number >= 2:  # the first ones wake libraries
                times[name].append((batch.tokens + batch.source_tokens) / seconds)
    return [
        {"arch": arch, "width": width, "name": name, "tokens_per_second": median(rates), "readings": rates}
        for name, rates in times.items()
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--updates", type=int, default=9)
    parser.add_argument("--widths", type=int, nargs="+", default=WIDTHS)
    parser.add_argument("--archs", nargs="+", default=["transformer", "luong", "rnn"])
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    torch.set_num_threads(1)
    rows: list[dict[str, Any]] = []
    print("| | width | " + " | ".join(CONTESTANTS) + " |")
    for arch in args.archs:
        for width in args.widths:
            found = compare(arch, width, args.updates)
            rows += found
            rates = [row["tokens_per_second"] for row in found]
            print(f"| {arch} | {width} | " + " | ".join(f"{rate:,.0f}" for rate in rates) + " |", flush=True)
    if args.json:
        args.json.write_text(json.dumps({"versions": own_versions(), "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
