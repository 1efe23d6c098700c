"""Decoding speed on a GPU, beside transformers' `generate`: the same weights and sentences, beam 5, bf16.

    python benchmarks/gpu_decoding.py --sentences test_2016_flickr.en.gz    Transformer-base, random weights
    python benchmarks/gpu_decoding.py --sentences FILE --references FILE --model FOLDER     a trained model
    python benchmarks/gpu_decoding.py --smoke                               tiny, on a CPU, for a quick look

The sentences are repeated until there are enough, and each is searched anew. Our weights are copied into a
MarianMTModel; before anything is timed the logits of both are compared in fp32. `generate` gets sentences
sorted by length, its cache, fused attention, `early_stopping`, and the best of several batch sizes. The clock
runs from ids to the ids of the best answers: padding and reading the result count, tokenising does not.

Random weights do not know when to end, so every answer then has the same length. Those of a trained model end
by themselves, and the table shows how alike the answers are.
"""

import argparse
import gzip
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import sacrebleu
import torch
from contest import attempt, line, peak_memory, read_options, synchronize, table, write_readings
from padded import Padded, pad_pairs
from peers import copy_into_marian, marian_logits

from jumok.checkpoint.checkpoints import load_model
from jumok.config import DecodingConfig, TextConfig, TransformerConfig
from jumok.data.batch import lay_pairs
from jumok.decoding.device import DeviceSearch
from jumok.decoding.filters import LEARNED
from jumok.decoding.jobs import Job
from jumok.models.build import build_model
from jumok.models.transformer import TransformerSeq2Seq
from jumok.native.model import SearchOptions
from jumok.presets import TRANSFORMERS
from jumok.text.normalize import tidy
from jumok.text.tokenizer import EOS, PAD, Tokenizer, train_tokenizer
from jumok.training.step import sides_of

Ids = Sequence[int]
SIZES = (1024, 2048, 4096, 8192)  # sentences in a batch of `generate`
SAMPLE = 4096  # sentences that choose among them
PATIENCE = (
    45.0  # seconds that `generate` may take for what is timed; beyond, a share of the sentences will do
)
TOLERANCE = 1e-3


@dataclass(frozen=True)
class Task:
    """What both are to do."""

    model: TransformerSeq2Seq
    config: TransformerConfig
    sources: Sequence[Ids]  # without their ends
    decoding: DecodingConfig
    device: torch.device
    tokenizer: Tokenizer | None = None  # of the target, if the weights mean something
    references: Sequence[str] = ()
    sizes: Sequence[int] = SIZES

    @property
    def limits(self) -> list[int]:
        """Most pieces of each answer, its end included."""
        return [Job(tuple(ids)).limit(self.decoding) for ids in self.sources]


@dataclass
class Row:
    """One line of the table; without a speed it says why."""

    name: str
    peer: bool
    sentences_per_second: float = 0.0
    seconds: float = 0.0
    sentences: int = 0
    batch: str = ""
    pieces: float = 0.0  # of an answer, without its end
    steps: int = 0  # of the decoder, each for a whole batch; 0 where it is not known
    memory_gb: float = 0.0
    start_s: float = 0.0  # the first small call
    bleu: float = 0.0
    problem: str = ""
    answers: dict[int, tuple[int, ...]] = field(default_factory=dict)  # sentence -> ids without the end


def random_task(lines: Sequence[str], count: int, device: torch.device, *, smoke: bool) -> Task:
    """A fresh model. Lengths come from real sentences if there are any, else they are drawn."""
    draw, vocabulary = np.random.default_rng(0), 400 if smoke else 32_000
    if lines:
        tokenizer = train_tokenizer(lines, TextConfig(vocabulary=min(vocabulary, 8000)))
        distinct = [tuple(ids) for ids in tokenizer.encode_many(lines)]
    else:
        lengths = np.clip((13 * np.exp(0.35 * draw.standard_normal(1000))).round(), 3, 60).astype(int)
        distinct = [tuple(draw.integers(LEARNED, vocabulary, n).tolist()) for n in lengths]
    size: dict[str, Any] = TRANSFORMERS["base"]
    if smoke:
        size = {"encoder_layers": 1, "decoder_layers": 1, "width": 32, "heads": 2, "feedforward": 64}
    config = TransformerConfig(**size)
    torch.manual_seed(0)
    model = build_model(config, vocabulary, vocabulary, shared=True).eval()
    assert isinstance(model, TransformerSeq2Seq)
    never_end(model)
    decoding = DecodingConfig(beam=5, max_len=round(np.mean([len(ids) for ids in distinct])) + 1)
    sizes = (8, 16) if smoke else SIZES
    return Task(model, config, repeated(distinct, count), decoding, device, sizes=sizes)


@torch.no_grad()
def never_end(model: TransformerSeq2Seq) -> None:
    """Make the end, and all that is no learned piece, improbable: a logit near -30 where others are near 0.

    Features get a constant part in one direction, and the rows of these pieces its opposite. So both searches
    go on to the limit, and find the same, without a filter that would cost one of them more than the other.
    """
    table = model.target_embedding.weight  # (V, D)
    direction = torch.nn.functional.normalize(torch.randn(table.shape[1]), dim=0)
    shift: Any = model.decoder[-1].add_feedforward.norm.bias  # type: ignore[union-attr]
    shift += 30 * direction
    table[:LEARNED] = -direction


def trained_task(
    folder: Path, lines: Sequence[str], references: Sequence[str], count: int, device: torch.device
) -> Task:
    loaded = load_model(folder, "cpu")
    if not isinstance(loaded.model, TransformerSeq2Seq) or not isinstance(
        loaded.config.model, TransformerConfig
    ):
        sys.exit(f"{folder}: only a Transformer has a twin in transformers")
    most = loaded.config.data.max_length
    ids = [tuple(ids[:most]) for ids in loaded.tokenizers.source.encode_many(map(tidy, lines))]
    return Task(
        loaded.model.eval(),
        loaded.config.model,
        repeated(ids, count),
        replace(loaded.config.decoding, beam=5, n_best=1),
        device,
        loaded.tokenizers.target,
        references,
    )


def repeated(items: Sequence[Ids], count: int) -> list[Ids]:
    return [items[n % len(items)] for n in range(count)]


def marian_of(task: Task) -> Any:
    """The twin, and proof that it is one: logits in fp32, where both have a token to predict."""
    longest = max(map(len, task.sources))
    rows = max(3 * longest + 30, task.decoding.max_len) + 2
    marian = copy_into_marian(task.model.cpu().float(), task.config, rows)
    some = task.sources[:8]
    batch = pad_pairs(some, some[::-1])
    with torch.inference_mode():
        mine = logits_of(task.model, some, some[::-1], batch)
        its = marian_logits(marian, batch.source, batch.source_mask, batch.target_in)
    apart = float((mine - its)[batch.target_mask].abs().max())
    print(f"  logits of both in fp32: at most {apart:.1e} apart, of up to {float(mine.abs().max()):.1f}")
    assert apart < TOLERANCE, "the twins differ"
    return marian


def logits_of(
    model: TransformerSeq2Seq, sources: Sequence[Ids], targets: Sequence[Ids], batch: Padded
) -> torch.Tensor:
    """Ours of the same sentences, as a rectangle (B, T, V)."""
    source, target_in = sides_of(lay_pairs(sources, targets))
    grid = target_in.grid(model(source, target_in).logits())
    assert grid.shape[:2] == batch.target_in.shape
    return grid


def generate(task: Task, row: Row) -> None:
    """transformers: the batch size is chosen on a sample, then all sentences are timed."""
    began = perf_counter()
    marian = marian_of(task).to(task.device)
    if task.device.type == "cuda":
        marian = marian.to(torch.bfloat16)
    order = sorted(range(len(task.sources)), key=lambda n: -len(task.sources[n]))
    search_with(task, marian, order[: min(task.sizes)], min(task.sizes))
    row.start_s = perf_counter() - began
    sample = order[:: max(1, len(order) // SAMPLE)]
    rates = {}
    for size in task.sizes:
        try:
            seconds, _, _ = search_with(task, marian, sample, size)
        except torch.OutOfMemoryError:
            break
        rates[size] = len(sample) / seconds
        print(f"  generate with {size} sentences a batch: {rates[size]:,.0f} sentences/s", flush=True)
    best = max(rates, key=lambda size: rates[size])
    expected = len(order) / rates[best]
    timed = order[:: max(1, round(expected / PATIENCE + 0.5))] if expected > PATIENCE else order
    if task.device.type == "cuda":
        torch.cuda.reset_peak_memory_stats()  # the other batch sizes do not count
    row.seconds, row.steps, row.answers = search_with(task, marian, timed, best)
    row.batch = f"{best} sentences"


@torch.inference_mode()
def search_with(
    task: Task, marian: Any, order: Sequence[int], size: int
) -> tuple[float, int, dict[int, tuple[int, ...]]]:
    """Seconds, decoder steps and answers of `generate` for these sentences in this order."""
    found: dict[int, tuple[int, ...]] = {}
    steps = 0
    synchronize(task.device)
    began = perf_counter()
    for first in range(0, len(order), size):
        chosen = order[first : first + size]
        longest = max(len(task.sources[n]) for n in chosen) + 1
        ids = [[*task.sources[n], EOS, *[PAD] * (longest - 1 - len(task.sources[n]))] for n in chosen]
        source = torch.tensor(ids, device=task.device)
        limit = Job(tuple(task.sources[chosen[0]])).limit(task.decoding)
        out = marian.generate(
            input_ids=source,
            attention_mask=source != PAD,
            num_beams=task.decoding.beam,
            max_new_tokens=limit,
            early_stopping=True,
            length_penalty=task.decoding.length_penalty,
            do_sample=False,
            use_cache=True,
        )
        steps += out.shape[1] - 1
        for n, row in zip(chosen, out[:, 1:].tolist(), strict=True):
            found[n] = tuple(row[: row.index(EOS)] if EOS in row else row)
    synchronize(task.device)
    return perf_counter() - began, steps, found


def ours(task: Task, row: Row) -> None:
    began = perf_counter()
    search, limits, few = DeviceSearch(task.model.to(task.device)), task.limits, min(task.sizes)
    answers_of(task, search, limits[:few])
    row.start_s = perf_counter() - began
    began = perf_counter()
    row.answers = answers_of(task, search, limits)
    row.seconds = perf_counter() - began


def answers_of(task: Task, search: DeviceSearch, limits: Sequence[int]) -> dict[int, tuple[int, ...]]:
    """The ids of the best answer to each of the first sentences; equal ones are searched each time."""
    config = task.decoding
    options = SearchOptions(beam=config.beam, n_best=1, length_penalty=config.length_penalty, keep=1)
    found: dict[int, tuple[int, ...]] = {}
    for places, answers in search.search(task.sources[: len(limits)], limits, options):
        found.update((place, best[0].ids) for place, best in zip(places, answers, strict=True))
    return found


CONTESTANTS: dict[str, tuple[str, Callable[[Task, Row], None], bool]] = {
    "generate": ("transformers' generate", generate, True),
    "ours": ("ours", ours, False),
}


def finish(task: Task, row: Row) -> None:
    """What follows from the answers."""
    row.sentences = len(row.answers)
    row.sentences_per_second = row.sentences / row.seconds
    row.pieces = float(np.mean([len(ids) for ids in row.answers.values()]))
    row.memory_gb = peak_memory(task.device)
    if task.tokenizer is not None and task.references:
        known = [n for n in range(len(task.references)) if n in row.answers]
        texts = [task.tokenizer.decode(row.answers[n]) for n in known]
        row.bleu = sacrebleu.corpus_bleu(texts, [[task.references[n] for n in known]]).score


HEAD = "contestant|sentences/s|to generate|sentences|seconds|batch|pieces|steps|GB|start s|same answers|BLEU"


def cells(row: Row, rows: Sequence[Row]) -> list[str]:
    if row.problem:
        return [row.name, row.problem]
    peer = next((one for one in rows if one.peer and not one.problem), None)
    both = [n for n in row.answers if peer is not None and n in peer.answers]
    same = sum(row.answers[n] == peer.answers[n] for n in both) if peer is not None else 0
    return [
        row.name,
        f"{row.sentences_per_second:,.0f}",
        f"{row.sentences_per_second / peer.sentences_per_second:.2f}" if peer is not None else "-",
        f"{row.sentences:,}",
        f"{row.seconds:.2f}",
        row.batch or "-",
        f"{row.pieces:.1f}",
        f"{row.steps:,}" if row.steps else "-",
        f"{row.memory_gb:.1f}",
        f"{row.start_s:.1f}",
        f"{same / len(both):.1%}" if both else "-",
        f"{row.bleu:.1f}" if row.bleu else "-",
    ]


def read_lines(path: Path | None) -> list[str]:
    """Lines of a plain or gzip file that are not blank."""
    if path is None:
        return []
    data = path.read_bytes()
    text = (gzip.decompress(data) if path.suffix == ".gz" else data).decode("utf-8")
    return [one.strip() for one in text.splitlines() if one.strip()]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--sentences", type=Path, help="a text file, plain or .gz; else lengths are drawn")
    parser.add_argument("--references", type=Path, help="their translations, for BLEU with --model")
    parser.add_argument("--model", type=Path, help="a trained Transformer; else random weights")
    parser.add_argument("--count", type=int, default=32_000, help="sentences in all")
    parser.add_argument("--only", nargs="+", choices=CONTESTANTS, default=list(CONTESTANTS))
    args, device = read_options(parser, limit=100)
    lines, count = read_lines(args.sentences), 32 if args.smoke else args.count
    if args.model:
        task = trained_task(args.model, lines, read_lines(args.references), count, device)
    else:
        task = random_task(lines, count, device, smoke=args.smoke)
    how = "answers end by themselves" if task.tokenizer else f"answers of {task.decoding.max_len} pieces"
    mean = np.mean([len(ids) + 1 for ids in task.sources])
    print(f"{count:,} sentences, mean {mean:.1f} pieces, beam {task.decoding.beam}, {how}", flush=True)
    rows: list[Row] = []
    head = HEAD.split("|")
    for key in args.only:
        name, run, peer = CONTESTANTS[key]
        row = Row(name, peer)

        def measured(row: Row = row, run: Callable[[Task, Row], None] = run) -> None:
            run(task, row)
            finish(task, row)

        row.problem = attempt(measured, device, args.limit)
        rows.append(row)
        print(line(head, cells(row, rows)), flush=True)
        if args.json:
            told = [{k: v for k, v in asdict(one).items() if k != "answers"} for one in rows]
            write_readings(args.json, told, device)
    print("\n" + table(head, [cells(row, rows) for row in rows]), flush=True)


if __name__ == "__main__":
    main()
