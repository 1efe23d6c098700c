"""Training speed on a GPU, beside others: the same sentences through each contestant, in one run.

    python benchmarks/gpu_training.py                     Transformer-base; transformers is a peer if installed
    python benchmarks/gpu_training.py --model both        base and big
    python benchmarks/gpu_training.py --model multi30k    a small model, where launching kernels is the work
    python benchmarks/gpu_training.py --smoke             tiny, on a CPU, for a quick look

Every contestant makes one pass over the same pool of sentences: lengths log-normal, ids as uneven as words are.
Those that pad get it sorted by length and cut by padded tokens, ours packed cuts it by tokens. All batches wait on
the device. Each does all of an update: bf16 (peers by autocast), label smoothing 0.1, gradient norm 1, fused AdamW.
Speed counts tokens that are not padding, the ends of sentences included; so do the operations of one update:

    6 · (Σ_source (W_encoder + W_memory) + Σ_target (W_decoder + V·D))  +  12 · D · layers · visible pairs

W are the weights that a token passes (D² · 4 + 2·D·F in an encoder layer, 2·D² for keys and values of the memory
and 6·D² + 2·D·F in a decoder layer); visible pairs are s² in the encoder, t(t+1)/2 and s·t in the decoder.
"""

import argparse
import gc
import json
import signal
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import count
from pathlib import Path
from time import perf_counter
from types import FrameType
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from peers import MissingError, PlainTransformer, make_marian, marian_logits
from torch import Tensor, nn

from jumok.config import TrainingConfig, TransformerConfig
from jumok.data.batch import Packed, Padded, Room, pack_pairs, pad_pairs, room_for
from jumok.models.build import build_model
from jumok.models.interface import Seq2Seq
from jumok.presets import TRANSFORMERS
from jumok.text.tokenizer import PAD
from jumok.training.optimizer import Optimizers
from jumok.training.step import train_step

RATE, LONGEST, FIRST_WORD, WARM = 3e-4, 127, 4, 8
SETTINGS = TrainingConfig(lr=RATE, label_smoothing=0.1, clip=1.0, batches="packed")
BETAS, EPS = (SETTINGS.momentum, SETTINGS.beta2), 1e-9
Ids = NDArray[np.int64]


@dataclass(frozen=True)
class Size:
    """What is trained, and on how much at a time."""

    model: TransformerConfig
    vocabulary: int
    tokens: int  # of one update, source and target together
    mean: float  # tokens of a sentence, its end included
    steps: int
    square: int = 8192  # of the matrices that measure the peak


SIZES = {
    "base": Size(TransformerConfig(**TRANSFORMERS["base"]), 32_000, 50_000, 27, 30),
    "big": Size(TransformerConfig(**TRANSFORMERS["big"]), 32_000, 50_000, 27, 30),
    "multi30k": Size(
        TransformerConfig(encoder_layers=4, decoder_layers=4, width=256, heads=4, feedforward=1024),
        vocabulary=8_000,
        tokens=8_192,
        mean=14,
        steps=120,
    ),
}
SMOKE = Size(
    TransformerConfig(encoder_layers=1, decoder_layers=1, width=32, heads=2, feedforward=64),
    vocabulary=400,
    tokens=512,
    mean=12,
    steps=3,
    square=256,
)


@dataclass(frozen=True)
class Work:
    """The pool of sentences, cut for those that pack and for those that pad."""

    size: Size
    device: torch.device
    room: Room
    packed: Sequence[Packed]
    padded: Sequence[Padded]  # from short to long
    tokens: int
    operations: float

    @property
    def dtype(self) -> torch.dtype:
        return torch.bfloat16 if self.device.type == "cuda" else torch.float32


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
    loss: float = 0.0  # per target token, of the last step
    problem: str = ""


def make_pairs(size: Size, number: int) -> tuple[list[Ids], list[Ids]]:
    """Sentences without their ends; a target is about as long as its source, and words follow Zipf's law."""
    draw = np.random.default_rng(0)
    sigma = 0.6
    lengths = (size.mean - 1) * np.exp(sigma * draw.standard_normal(number) - sigma**2 / 2)
    ratios = np.exp(0.2 * draw.standard_normal(number) - 0.02)
    sides = []
    for side in (lengths, lengths * ratios):
        whole = np.clip(side.round(), 1, LONGEST).astype(np.int64)
        words = size.vocabulary - FIRST_WORD
        ids = FIRST_WORD - 1 + words ** draw.random(whole.sum())
        sides.append(np.split(ids.astype(np.int64), whole.cumsum())[:-1])
    return sides[0], sides[1]


def make_work(size: Size, device: torch.device) -> Work:
    """Pack as many sentences as fill `steps` rooms; the same ones, sorted by length, are padded."""
    sources, targets = make_pairs(size, int(size.steps * size.tokens / size.mean / 2 * 1.2) + 100)
    s = np.array([len(x) for x in sources], dtype=np.int64)
    t = np.array([len(y) for y in targets], dtype=np.int64)
    room = room_for(s, t, size.tokens)
    packed, begin, used = [], 0, (0, 0)
    for n in range(len(s)):
        if len(packed) == size.steps:
            break
        used = (used[0] + s[n] + 1, used[1] + t[n] + 1)
        if used[0] > room.source or used[1] > room.target:
            packed.append(pack_pairs(sources[begin:n], targets[begin:n], room).to(device))
            begin, used = n, (s[n] + 1, t[n] + 1)
    assert len(packed) == size.steps
    order = np.lexsort((t[:begin], s[:begin]))
    padded = [
        pad_pairs([sources[i] for i in rows], [targets[i] for i in rows]).to(device)
        for rows in cut_by_length(order, s + 1, t + 1, room.source + room.target)
    ]
    tokens = int(s[:begin].sum() + t[:begin].sum()) + 2 * begin
    operations = count_operations(size, s[:begin] + 1, t[:begin] + 1)
    return Work(size, device, room, packed, padded, tokens, operations)


def cut_by_length(order: Ids, s: Ids, t: Ids, budget: int) -> Iterator[Ids]:
    """Rows in this order, cut where the next one would make the rectangles larger than the budget."""
    begin, longest = 0, (0, 0)
    for n, row in enumerate(order):
        grown = (max(longest[0], s[row]), max(longest[1], t[row]))
        if (n + 1 - begin) * sum(grown) > budget:
            yield order[begin:n]
            begin, grown = n, (s[row], t[row])
        longest = grown
    yield order[begin:]


def count_operations(size: Size, s: Ids, t: Ids) -> float:
    """Of one update for each of these pairs, forward and backward; a multiplication and its sum are two."""
    model = size.model
    D, F, V = model.width, model.feedforward, size.vocabulary
    encoder, decoder = model.encoder_layers, model.decoder_layers
    per_source = encoder * (4 * D * D + 2 * D * F) + decoder * 2 * D * D
    per_target = decoder * (6 * D * D + 2 * D * F) + V * D
    pairs = encoder * (s * s).sum() + decoder * ((t * (t + 1) // 2).sum() + (s * t).sum())
    return float(6 * (s.sum() * per_source + t.sum() * per_target) + 12 * D * pairs)


Step = Callable[[int], Tensor]
"""One update with batch n; gives its loss per target token, still on the device."""


def train_peer(work: Work, module: nn.Module, loss_of: Callable[[Padded], Tensor]) -> Step:
    """The usual loop around a network that takes rectangles."""
    module.to(work.device).train()
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
    module = PlainTransformer(work.size.model, work.size.vocabulary)
    return train_peer(work, module, lambda batch: smoothed(module(batch), batch.target_out))


def marian(work: Work) -> Step:
    module = make_marian(work.size.model, work.size.vocabulary)
    return train_peer(
        work,
        module,
        lambda b: smoothed(marian_logits(module, b.source, b.source_mask, b.target_in), b.target_out),
    )


def marian_compiled(work: Work) -> Step:
    """Network and loss in one graph, so that the loss is fused as well."""
    torch.compiler.reset()
    module = make_marian(work.size.model, work.size.vocabulary)
    how: dict[str, Any] = {"backend": "eager"} if work.device.type == "cpu" else {}  # tracing alone

    @torch.compile(dynamic=True, **how)
    def compiled(source: Tensor, mask: Tensor, target_in: Tensor, target_out: Tensor) -> Tensor:
        return smoothed(marian_logits(module, source, mask, target_in), target_out)

    return train_peer(work, module, lambda b: compiled(b.source, b.source_mask, b.target_in, b.target_out))


def packed(work: Work, *, graph: bool) -> Step:
    from jumok.training.packed import PackedStep

    model, optimizers = make_ours(work)
    update = PackedStep(
        model,
        optimizers,
        SETTINGS,
        work.room,
        seed=0,
        dtype=work.dtype,
        graph=graph and work.device.type == "cuda",
        reduce=None,
    )
    number = count(1)

    def step(n: int) -> Tensor:
        batch = work.packed[n]
        return update([batch], batch.tokens, lr=RATE, step=next(number)).numbers[0]

    return step


def padded(work: Work) -> Step:
    model, optimizers = make_ours(work)
    number = count(1)
    autocast = work.dtype if work.dtype == torch.bfloat16 else None

    def step(n: int) -> Tensor:
        batches = [work.padded[n]]
        result = train_step(
            model, optimizers, batches, SETTINGS, lr=RATE, step=next(number), seed=0, autocast=autocast
        )
        return result.numbers[0]

    return step


def make_ours(work: Work) -> tuple[Seq2Seq, Optimizers]:
    torch.manual_seed(0)
    size = work.size
    model = build_model(size.model, size.vocabulary, size.vocabulary, shared=True).to(work.device).train()
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
    "compiled": Contestant("Marian, padded, compiled", marian_compiled, peer=True),
    "padded": Contestant("ours, padded", padded),
    "eager": Contestant("ours, packed, no graph", partial(packed, graph=False), packs=True),
    "packed": Contestant("ours, packed", partial(packed, graph=True), packs=True),
}


def measure(work: Work, one: Contestant, row: Row, peak: float) -> None:
    """Fill the row: the first step, some more from short to long, then the pool once in a mixed order."""
    batches: Sequence[Packed] | Sequence[Padded] = work.packed if one.packs else work.padded
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
    for n in order:
        loss = step(n)
    synchronize(work.device)
    seconds = perf_counter() - began
    row.steps, row.loss = len(batches), float(loss)
    row.step_ms = 1e3 * seconds / row.steps
    row.tokens_per_second = work.tokens / seconds
    row.tflops = work.operations / seconds / 1e12
    row.of_peak = row.tflops / peak
    places = sum(map(size_of, batches))
    row.padding = 1 - work.tokens / places
    row.memory_gb = torch.cuda.max_memory_allocated() / 1e9 if work.device.type == "cuda" else 0.0


def size_of(batch: Packed | Padded) -> int:
    """Places for tokens, used or not."""
    if isinstance(batch, Packed):
        return batch.room.source + batch.room.target
    return batch.source.numel() + batch.target_in.numel()


def synchronize(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize()


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


@contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """Raises TimeoutError in the block when its time is up."""

    def stop(signum: int, frame: FrameType | None) -> None:
        raise TimeoutError(f"stopped after {seconds:.0f} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def run(work: Work, name: str, one: Contestant, peak: float, limit: float) -> Row:
    """One contestant's row, whatever happens to it."""
    row = Row(name, one.name, one.peer)
    if work.device.type == "cuda":
        torch.cuda.reset_peak_memory_stats()
    try:
        with at_most(limit):
            measure(work, one, row, peak)
    except MissingError as error:
        row.problem = str(error)
    except Exception as error:  # the others go on
        traceback.print_exc()
        first, *_ = str(error).strip().splitlines() or [""]
        row.problem = f"{type(error).__name__}: {first[:160]}"
    gc.collect()
    if work.device.type == "cuda":
        torch.cuda.empty_cache()
    return row


HEAD = ("contestant", "M tokens/s", "ms/step", "TFLOP/s", "of peak", "to best peer")
HEAD = (*HEAD, "GB", "first step s", "steps", "padding", "loss")


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
        f"{model.heads} heads, vocabulary {size.vocabulary:,}, {work.tokens:,} tokens "
        f"({work.tokens / size.steps:,.0f} an update when packed), {work.operations / work.tokens / 1e6:.0f} "
        f"MFLOP a token\nmatrix peak: {peak:.3g} TFLOP/s (product of {size.square} x {size.square}, "
        f"{str(work.dtype).removeprefix('torch.')})",
        flush=True,
    )
    rows: list[Row] = []
    for key in chosen:
        rows.append(run(work, name, CONTESTANTS[key], peak, limit))
        told = zip(HEAD, cells(rows[-1], rows), strict=False)
        print(
            "  " + ", ".join(value if n == 0 else f"{head} {value}" for n, (head, value) in enumerate(told)),
            flush=True,
        )
    print("\n| " + " | ".join(HEAD) + " |\n|" + " --- |" * len(HEAD))
    for row in rows:
        print("| " + " | ".join(cells(row, rows)) + " |")
    sys.stdout.flush()
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--model", choices=[*SIZES, "both"], default="base", help="both: base and big")
    parser.add_argument("--steps", type=int, help="packed updates that the pool is good for")
    parser.add_argument("--only", nargs="+", choices=CONTESTANTS, default=list(CONTESTANTS))
    parser.add_argument("--limit", type=float, default=90, help="seconds that one contestant may take")
    parser.add_argument("--json", type=Path, help="write the rows to this file")
    parser.add_argument("--smoke", action="store_true", help="a tiny model on the CPU")
    args = parser.parse_args()
    if not args.smoke and not torch.cuda.is_available():
        sys.exit("no GPU here: --smoke runs a tiny model on the CPU")
    device = torch.device("cpu" if args.smoke else "cuda")
    torch.backends.cuda.enable_cudnn_sdp(enabled=False)  # it builds a plan per shape, 0.4 s each
    names = ["smoke"] if args.smoke else ["base", "big"] if args.model == "both" else [args.model]
    rows: list[Row] = []
    for name in names:
        size = SMOKE if args.smoke else SIZES[name]
        work = make_work(replace(size, steps=args.steps or size.steps), device)
        rows += compete(name, work, args.only, args.limit)
        if args.json:
            args.json.write_text(json.dumps([asdict(row) for row in rows], indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
