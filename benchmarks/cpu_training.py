"""Training speed on a CPU, beside other people's trainers: contestants take turns in one run.

    python benchmarks/cpu_training.py --data FOLDER       FOLDER has train.en.gz and train.de.gz of Multi30k
    python benchmarks/cpu_training.py --data FOLDER --only ours floor
    python benchmarks/cpu_training.py --smoke             tiny, ours alone, for a quick look

A Transformer of 3+3 layers, width 256/1024, with a joint vocabulary of 8,000 pieces; dropout 0.1, label
smoothing 0.1, Adam, gradients clipped at norm 1. Ours fills updates up to 4,096 tokens, the peers' batches
are sized so that theirs have as many on average. Each contestant is started anew in each round, takes a few
updates to warm up and is then timed. Pieces of the source and of the target count, and the ends of targets:
no padding, and no ends of sources, which not everybody has. `ours` computes in fp32 as the peers do, `ours
bf16` and `transformers bf16` multiply in bf16. The peers are installed into environments of their own, once,
in fixed versions; what is in them is written down. The floor is the matrix products of an update alone, in
fp32:

    tokens x W forward, then back to the tokens and to the weights, for every W that a token passes
"""

import argparse
import gzip
import json
import os
import platform
import resource
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from importlib.metadata import version
from pathlib import Path
from statistics import median
from time import perf_counter, process_time
from typing import Any

import numpy as np
import torch
from contest import MissingError, line, table
from trainers import PEERS, Corpus, Reading, Slice, run_peer, versions_of

from jumok.backends.choose import choose_backend
from jumok.config import TextConfig, TrainingConfig, TransformerConfig
from jumok.data.batch import lay_pairs
from jumok.data.sampler import epoch_batches
from jumok.models.build import build_model
from jumok.text.tokenizer import train_tokenizer
from jumok.training.optimizer import Optimizers
from jumok.training.step import train_step
from jumok.training.threads import Threads, runs_in_threads

MODEL = TransformerConfig(encoder_layers=3, decoder_layers=3, width=256, heads=4, feedforward=1024)
TINY = TransformerConfig(encoder_layers=1, decoder_layers=1, width=32, heads=2, feedforward=64)
HEAD = (
    "contestant",
    "tokens/s",
    "lowest–highest",
    "to best peer",
    "tokens/processor s",
    "to best peer",
    "of the floor",
    "padding",
    "peak MB",
    "updates",
    "tokens each",
)
OURS = ("floor", "ours", "ours bf16")


@dataclass(frozen=True)
class Row:
    """One line of the table: what each round gave, or why there is nothing."""

    name: str
    readings: Sequence[Reading]
    problem: str = ""
    versions: dict[str, str] = field(default_factory=dict)

    @property
    def speed(self) -> float:
        return median(one.tokens / one.seconds for one in self.readings) if self.readings else 0.0

    @property
    def own_speed(self) -> float:
        """By processor time, which busy neighbours hardly change."""
        return median(one.tokens / one.cpu for one in self.readings) if self.readings else 0.0


def make_corpus(folder: Path | None, vocabulary: int, into: Path) -> Corpus:
    """Pieces of the training pairs, and the files that the peers read them from; no folder: random ones."""
    if folder is None:
        draw = np.random.default_rng(0)
        sides = [
            [draw.integers(260, vocabulary, draw.integers(4, 20)).tolist() for _ in range(200)] for _ in "st"
        ]
    else:
        texts = [read_lines(folder / f"train.{end}.gz") for end in ("en", "de")]
        tokenizer = train_tokenizer([*texts[0], *texts[1]], TextConfig(vocabulary=vocabulary))
        sides = [tokenizer.encode_many(text) for text in texts]
    return Corpus.write(sides[0], sides[1], vocabulary, into)


def read_lines(path: Path) -> list[str]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return file.read().splitlines()


def train_ours(corpus: Corpus, model: TransformerConfig, slice_: Slice, *, bf16: bool = False) -> Reading:
    """Our own updates, the making of batches included."""
    torch.set_num_threads(slice_.threads)
    torch.manual_seed(slice_.seed)
    net = build_model(model, corpus.vocabulary, corpus.vocabulary, shared=True)
    net.ops = choose_backend("cpu", precision="bf16" if bf16 else "fp32")
    threads = Threads(net) if runs_in_threads(net) else None
    config = TrainingConfig(lr=slice_.rate, label_smoothing=slice_.smoothing, clip=1.0)
    optimizers = Optimizers(net, config)
    lengths = [np.array([len(ids) for ids in side]) for side in (corpus.source, corpus.target)]
    batches = epoch_batches(*lengths, budget=slice_.tokens, seed=slice_.seed, epoch=0)
    tokens = step = 0
    began, used = perf_counter(), process_time()
    while step <= slice_.warm or perf_counter() - began < slice_.seconds:
        if step == slice_.warm:
            tokens, began, used = 0, perf_counter(), process_time()
        rows = batches[step % len(batches)]
        batch = lay_pairs([corpus.source[row] for row in rows], [corpus.target[row] for row in rows])
        step += 1
        result = train_step(
            net, optimizers, [batch], config, lr=slice_.rate, step=step, seed=slice_.seed, threads=threads
        )
        tokens += result.tokens - result.sentences
    spent, cpu = perf_counter() - began, process_time() - used
    return Reading(tokens, spent, step - slice_.warm, tokens, peak_memory(), cpu)


def multiply(corpus: Corpus, model: TransformerConfig, slice_: Slice) -> Reading:
    """The matrix products of one update of average sentences, again and again."""
    torch.set_num_threads(slice_.threads)
    sums = [sum(len(ids) + 1 for ids in side) for side in (corpus.source, corpus.target)]
    N, M = (round(slice_.tokens * one / sum(sums)) for one in sums)
    D, F, V = model.width, model.feedforward, corpus.vocabulary
    both = [(D, 3 * D), (D, D), (D, F), (F, D)]
    of_source = both * model.encoder_layers + [(D, 2 * D)] * model.decoder_layers
    of_target = (both + [(D, D)] * 2) * model.decoder_layers + [(D, V)]
    shapes = [(N, *shape) for shape in of_source] + [(M, *shape) for shape in of_target]
    made: dict[tuple[int, ...], tuple[torch.Tensor, ...]] = {
        (L, i, o): (
            *(torch.randn(shape) for shape in ((L, i), (o, i), (L, o))),
            torch.empty(L, o),
            torch.empty(L, i),
            torch.empty(o, i),
        )
        for L, i, o in set(shapes)
    }
    step, began, used = -slice_.warm, perf_counter(), process_time()
    while step <= 0 or perf_counter() - began < slice_.seconds:
        if step == 0:
            began, used = perf_counter(), process_time()
        for shape in shapes:
            x, weight, dy, y, dx, d_weight = made[shape]
            torch.mm(x, weight.t(), out=y)
            torch.mm(dy, weight, out=dx)
            torch.mm(dy.t(), x, out=d_weight)
        step += 1
    tokens = (N + M - round(slice_.tokens * len(corpus.source) / sum(sums))) * step
    spent, cpu = perf_counter() - began, process_time() - used
    return Reading(tokens, spent, step, tokens, peak_memory(), cpu)


def peak_memory() -> int:
    """Bytes that this process has had at most."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def run_own(name: str, given: dict[str, Any]) -> Reading:
    """One of ours in a process of its own, with the settings that our commands have."""
    environment = {
        **os.environ,
        "OMP_WAIT_POLICY": "passive",
        "OMP_NUM_THREADS": str(given["slice"]["threads"]),
    }
    command = [sys.executable, __file__, "--child", name, json.dumps(given)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError((done.stderr.strip() or "it ended without a word").splitlines()[-1])
    return Reading(**json.loads(done.stdout.splitlines()[-1]))


def child(name: str, given: dict[str, Any]) -> None:
    works: dict[str, Callable[[Corpus, TransformerConfig, Slice], Reading]] = {
        "floor": multiply,
        "ours": train_ours,
        "ours bf16": partial(train_ours, bf16=True),
    }
    reading = works[name](
        Corpus.read(Path(given["corpus"])), TransformerConfig(**given["model"]), Slice(**given["slice"])
    )
    print(json.dumps(vars(reading)))


def attempt(name: str, given: dict[str, Any], envs: Path) -> tuple[Reading | None, str]:
    """One slice of a contestant, or why there is none; the others go on."""
    try:
        reading = run_own(name, given) if name in OURS else run_peer(name, given, envs)
    except MissingError as error:
        return None, str(error)
    except Exception as error:
        return None, f"{type(error).__name__}: {str(error)[:200]}"
    return reading, ""


def show(row: Row, best: Row | None, floor: float) -> list[str]:
    if not row.readings:
        return [row.name, row.problem]
    speeds = sorted(one.tokens / one.seconds for one in row.readings)
    shares = [1 - one.tokens / one.places for one in row.readings if one.places]
    return [
        row.name,
        f"{row.speed:,.0f}",
        f"{speeds[0]:,.0f}–{speeds[-1]:,.0f}",
        f"{row.speed / best.speed:.2f}" if best else "–",
        f"{row.own_speed:,.0f}",
        f"{row.own_speed / best.own_speed:.2f}" if best else "–",
        f"{floor / row.speed:.2f} x" if floor else "–",
        f"{median(shares):.1%}" if shares else "–",
        f"{max(one.memory for one in row.readings) / 1e6:,.0f}",
        f"{sum(one.steps for one in row.readings)}",
        f"{sum(one.tokens for one in row.readings) / sum(one.steps for one in row.readings):,.0f}",
    ]


def tokens_of_ours(corpus: Corpus, budget: int) -> float:
    """Tokens that count in one of our updates, on average."""
    lengths = [np.array([len(ids) for ids in side]) for side in (corpus.source, corpus.target)]
    updates = epoch_batches(*lengths, budget=budget, seed=1, epoch=0)
    return float((lengths[0] + lengths[1] + 1).sum() / len(updates))


def own_versions() -> dict[str, str]:
    """What ours ran on."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    cpu = next((one.split(":", 1)[1].strip() for one in lines if one.startswith("model name")), "unknown")
    packages = {name: version(name) for name in ("jumok", "torch", "numpy")}
    return {"cpu": cpu, "python": platform.python_version(), **packages}


def main() -> None:
    parser = argparse.ArgumentParser(description="Training speed on a CPU beside other trainers")
    parser.add_argument("--data", type=Path, help="folder with train.en.gz and train.de.gz")
    parser.add_argument("--only", nargs="+", choices=(*OURS, *PEERS), default=[*OURS, *PEERS])
    parser.add_argument("--rounds", type=int, default=3, help="how often each contestant has its turn")
    parser.add_argument("--seconds", type=float, default=30, help="of one turn, after the warm-up")
    parser.add_argument("--tokens", type=int, default=4096, help="source and target tokens of an update")
    parser.add_argument("--warm", type=int, default=5, help="updates before the clock runs")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument(
        "--envs", type=Path, default=Path(tempfile.gettempdir()) / "jumok-peers", help="where peers go"
    )
    parser.add_argument("--json", type=Path, help="write the readings to this file")
    parser.add_argument("--smoke", action="store_true", help="a tiny model, ours alone")
    args = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that a peer is ended too
    if not args.smoke and args.data is None:
        parser.error("--data is missing: a folder with train.en.gz and train.de.gz")
    names = [name for name in args.only if not args.smoke or name in OURS]
    slice_ = Slice(args.seconds, tokens=args.tokens, threads=args.threads, warm=args.warm)
    model, vocabulary, rounds = MODEL, 8000, args.rounds
    if args.smoke:
        slice_, model, vocabulary, rounds = Slice(0.2, tokens=600, threads=2, warm=1), TINY, 400, 1
    with tempfile.TemporaryDirectory() as folder:
        corpus = make_corpus(None if args.smoke else args.data, vocabulary, Path(folder))
        slice_ = replace(slice_, wanted=tokens_of_ours(corpus, slice_.tokens))
        given = {"corpus": str(corpus.folder), "model": asdict(model), "slice": vars(slice_)}
        found: dict[str, list[Reading]] = {name: [] for name in names}
        problems: dict[str, str] = {}
        for _ in range(rounds):
            for name in names:
                if name in problems:
                    continue
                reading, problem = attempt(name, given, args.envs)
                if reading is None:
                    problems[name] = problem
                else:
                    found[name].append(reading)
                    rates = [f"{reading.tokens / spent:,.0f}" for spent in (reading.seconds, reading.cpu)]
                    print(f"  {name}: {rates[0]} tokens/s, {rates[1]} a processor second", flush=True)
    rows = [
        Row(
            name,
            found[name],
            problems.get(name, ""),
            own_versions() if name in OURS else versions_of(name, args.envs),
        )
        for name in names
    ]
    peers = [row for row in rows if row.name in PEERS and row.readings and "bf16" not in row.name]
    best = max(peers, key=lambda row: row.speed, default=None)
    floor = next((row.speed for row in rows if row.name == "floor"), 0.0)
    cells = [show(row, best, floor) for row in rows]
    for row in cells:
        print(line(HEAD, row))
    print(table(HEAD, cells))
    if args.json:
        args.json.write_text(json.dumps([asdict(row) for row in rows], indent=1) + "\n")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        child(sys.argv[2], json.loads(sys.argv[3]))
    else:
        main()
