"""Speed of a model that was brought in: our int8 beside CTranslate2's int8, made of the same folder.

    python benchmarks/import_speed.py --json benchmarks/readings/import_speed.json

transformers makes a Marian of the shape of OPUS-MT (6 + 6 layers, width 512, inner width 2048, SiLU, a
vocabulary of 58,101) with random weights, and sentencepiece its two models. `jumok import` and `jumok export
native` make ours of that folder, CTranslate2's own converter makes its own. Both read the same sentences, cut
into the same number of pieces, and write exactly 32 tokens to each on one thread. They are asked in turn; the
table has medians of the processor's time, which a busy machine disturbs less than the clock.
The exit status is 1 where a ratio is below --least.
"""

import argparse
import gzip
import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

DATA = Path(__file__).parent.parent / "shared/data/tatoeba-de-en"
READINGS = "benchmarks/readings/import_speed.json"
VOCABULARY, NEW, LEAST = 58_101, 32, 1.5
CELLS = [(beam, batch) for beam in (1, 4) for batch in (1, 32)]
LENGTHS = range(18, 30)  # pieces of a source

Translate = Callable[[Sequence[str], int, int], list[int]]
"""The lengths of the answers to texts, with this beam, so many texts together."""


@dataclass
class Reading:
    """What both reached in one cell: target tokens in a second of the processor, and of the clock."""

    beam: int
    batch: int
    rates: dict[str, list[float]] = field(default_factory=dict)
    clock: dict[str, list[float]] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return f"{'greedy' if self.beam == 1 else f'beam {self.beam}'}, {self.batch} together"

    @property
    def ratio(self) -> float:
        return median(self.rates["jumok"]) / median(self.rates["ctranslate2"])


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--data", type=Path, default=DATA, help=f"sentences [{DATA.name}]")
    parser.add_argument("--folder", type=Path, help="keep the models here, and use those that are there")
    parser.add_argument("--rounds", type=int, default=5, help="[5]")
    parser.add_argument("--least", type=float, default=LEAST, help=f"the ratio to reach [{LEAST}]")
    parser.add_argument("--json", type=Path, help="write the readings to this file")
    return parser.parse_args()


def lines_of(data: Path, name: str, count: int) -> list[str]:
    with gzip.open(data / f"{name}.gz", "rt", encoding="utf-8") as file:
        return [line.strip() for line, _ in zip(file, range(count), strict=False)]


def make_marian(folder: Path, data: Path) -> None:
    """A folder as the hub has them for OPUS-MT: weights, two SentencePiece models, one vocabulary."""
    import sentencepiece
    import torch
    from transformers import MarianConfig, MarianMTModel

    folder.mkdir(parents=True)
    pieces: dict[str, None] = {}
    for side, name in (("source", "train.de"), ("target", "train.en")):
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(lines_of(data, name, 30_000)),
            model_prefix=str(folder / side),
            vocab_size=6_000,
            minloglevel=2,
        )
        (folder / f"{side}.model").rename(folder / f"{side}.spm")
        (folder / f"{side}.vocab").unlink()
        model = sentencepiece.SentencePieceProcessor(model_file=str(folder / f"{side}.spm"))
        pieces |= dict.fromkeys(model.id_to_piece(i) for i in range(model.get_piece_size()))
    words = [piece for piece in pieces if piece not in ("<s>", "</s>", "<unk>")]
    more = [f"▁filler{n}" for n in range(VOCABULARY - 3 - len(words))]
    vocabulary = ["</s>", "<unk>", *words, *more, "<pad>"]
    (folder / "vocab.json").write_text(json.dumps({piece: i for i, piece in enumerate(vocabulary)}))
    about = {"source_lang": "de", "target_lang": "en", "model_max_length": 512}
    (folder / "tokenizer_config.json").write_text(json.dumps(about))
    torch.manual_seed(0)
    config = MarianConfig(
        vocab_size=VOCABULARY,
        d_model=512,
        encoder_layers=6,
        decoder_layers=6,
        encoder_attention_heads=8,
        decoder_attention_heads=8,
        encoder_ffn_dim=2048,
        decoder_ffn_dim=2048,
        activation_function="swish",
        scale_embedding=True,
        max_position_embeddings=512,
        eos_token_id=0,
        forced_eos_token_id=0,
        pad_token_id=VOCABULARY - 1,
        decoder_start_token_id=VOCABULARY - 1,
    )
    MarianMTModel(config).save_pretrained(folder)


def jumok(*words: str) -> None:
    subprocess.run([sys.executable, "-m", "jumok", *words], check=True)


def make_ours(marian: Path, folder: Path, data: Path) -> None:
    sample = folder.parent / "sample.txt"
    sample.write_text("\n".join(lines_of(data, "val.de", 4)), encoding="utf-8")
    jumok("import", str(marian), "-o", str(folder.parent / "imported"))
    asked = ["--type", "int8", "-s", str(sample)]
    for name in ("equal", "score", "agreement"):  # of random weights, whose answers are nobody's
        asked += ["--threshold", f"{name}=none"]
    jumok("export", "native", "-m", str(folder.parent / "imported"), "-o", str(folder), *asked)


def make_theirs(marian: Path, folder: Path) -> None:
    from ctranslate2.converters import TransformersConverter

    TransformersConverter(str(marian)).convert(str(folder), quantization="int8")


def ours(folder: Path) -> tuple[Translate, Callable[[str], int]]:
    from jumok.checkpoint.contents import read_contents, read_parts
    from jumok.native.model import NativeModel, SearchOptions

    contents = read_contents(folder)
    native = NativeModel(contents.config.model, read_parts(contents))
    encode = contents.tokenizers.source.encode

    def translate(texts: Sequence[str], beam: int, batch: int) -> list[int]:
        options, found = SearchOptions(beam=beam, min_len=NEW, keep=1), list[int]()
        for first in range(0, len(texts), batch):
            ids = [encode(text) for text in texts[first : first + batch]]
            answers = native.search(ids, [NEW] * len(ids), options, threads=1)
            found += [len(best.log_probs) for best, *_ in answers]
        return found

    return translate, lambda text: len(encode(text))


def theirs(folder: Path, marian: Path) -> tuple[Translate, Callable[[str], int]]:
    import ctranslate2
    import sentencepiece

    translator = ctranslate2.Translator(
        str(folder), device="cpu", compute_type="int8", inter_threads=1, intra_threads=1
    )
    model = sentencepiece.SentencePieceProcessor(model_file=str(marian / "source.spm"))

    def translate(texts: Sequence[str], beam: int, batch: int) -> list[int]:
        found = translator.translate_batch(
            [[*model.encode(text, out_type=str), "</s>"] for text in texts],
            beam_size=beam,
            max_batch_size=batch,
            min_decoding_length=NEW,
            max_decoding_length=NEW,
        )
        return [len(one.hypotheses[0]) for one in found]

    return translate, lambda text: len(model.encode(text))


def chosen_texts(data: Path, count: int, *sizes: Callable[[str], int]) -> list[str]:
    """Sentences of like lengths, which both cut into the same number of pieces."""
    texts = [text for text in lines_of(data, "train.de", 60_000) if 60 < len(text) < 200]
    alike = [text for text in texts if sizes[0](text) in LENGTHS and len({size(text) for size in sizes}) == 1]
    if len(alike) < count:
        raise SystemExit(f"only {len(alike)} of {len(texts)} sentences have {LENGTHS} pieces for both")
    return alike[:count]


def measure(contestants: dict[str, Translate], texts: Sequence[str], rounds: int) -> list[Reading]:
    """All cells, everyone in turn; each has been warmed up."""
    readings = [Reading(beam, batch) for beam, batch in CELLS]
    for one in readings:
        asked = texts[: 2 if one.batch == 1 else one.batch]
        for n in range(rounds + 1):
            for name in sorted(contestants, reverse=bool(n % 2)):
                began, spent = time.perf_counter(), time.process_time()
                lengths = contestants[name](asked, one.beam, one.batch)
                spent, took = time.process_time() - spent, time.perf_counter() - began
                if lengths != [NEW] * len(asked):
                    raise SystemExit(f"{name} wrote answers of {sorted(set(lengths))} tokens, not {NEW}")
                if n > 0:
                    one.rates.setdefault(name, []).append(len(asked) * NEW / spent)
                    one.clock.setdefault(name, []).append(len(asked) * NEW / took)
        print(f"{one.name}: {one.ratio:.2f} times CTranslate2", file=sys.stderr, flush=True)
    return readings


def told(readings: Sequence[Reading]) -> dict[str, Any]:
    from importlib.metadata import version

    from jumok.native.library import library

    names = ("ctranslate2", "transformers", "sentencepiece")
    return {
        "command": f"python benchmarks/import_speed.py --data DATA/tatoeba-de-en --json {READINGS}",
        "machine": {"cpu": platform.machine(), "cores": os.cpu_count(), "load": list(os.getloadavg())},
        "kept": "all that the command computed",
        "versions": {name: version(name) for name in names} | {"python": platform.python_version()},
        "level": library().level,
        "cells": [asdict(one) | {"name": one.name, "ratio": round(one.ratio, 3)} for one in readings],
    }


def table(readings: Sequence[Reading]) -> str:
    """Markdown: target tokens a second."""
    rows = ["| cell | jumok int8 | CTranslate2 int8 | ratio |", "|---|---:|---:|---:|"]
    for one in readings:
        rates = " | ".join(f"{median(one.rates[name]):,.0f}" for name in ("jumok", "ctranslate2"))
        rows.append(f"| {one.name} | {rates} | {one.ratio:.2f} |")
    return "\n".join(rows)


def main() -> int:
    options = read_options()
    with TemporaryDirectory() as temporary:
        folder = options.folder or Path(temporary)
        marian, mine, its = (folder / name for name in ("marian", "jumok-int8", "ctranslate2-int8"))
        if not marian.exists():
            make_marian(marian, options.data)
        if not its.exists():
            make_theirs(marian, its)
        if not mine.exists():
            make_ours(marian, mine, options.data)
        (our_words, our_size), (their_words, their_size) = ours(mine), theirs(its, marian)
        texts = chosen_texts(options.data, 32, our_size, their_size)
        readings = measure({"jumok": our_words, "ctranslate2": their_words}, texts, options.rounds)
    if options.json:
        options.json.write_text(json.dumps(told(readings), indent=1) + "\n", encoding="utf-8")
    print(table(readings))
    return int(min(one.ratio for one in readings) < options.least)


if __name__ == "__main__":
    sys.exit(main())
