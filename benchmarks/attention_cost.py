"""What attention costs: 64 sentences translated, and translated with every weight of every head captured.

    python benchmarks/attention_cost.py            a small model of each kind that has attention
    python benchmarks/attention_cost.py --smoke    smaller, for a quick look

Both are run in turn, so that a busy machine slows both; medians are compared.
"""

import argparse
import random
from pathlib import Path
from statistics import median
from time import perf_counter

import torch

from jumok.checkpoint.model import LoadedModel
from jumok.config import DecodingConfig, LuongConfig, ModelConfig, RunConfig, TextConfig, TransformerConfig
from jumok.decoding.translator import Translator
from jumok.explain.trace import make_traces
from jumok.models.build import build_model
from jumok.text.tokenizer import Tokenizers, train_tokenizer

SENTENCES = 64
LIMIT = 1.3
SYLLABLES = ("ka", "to", "mi", "ren", "sol", "du", "via", "pe", "lan", "gor", "ush", "ima")


def sentences(count: int) -> list[str]:
    """Sentences of 5 to 25 words, the same each time."""
    draw = random.Random(0)
    words = ["".join(draw.choices(SYLLABLES, k=draw.randint(1, 3))) for _ in range(800)]
    return [" ".join(draw.choices(words, k=draw.randint(5, 25))) + "." for _ in range(count)]


def translator(model: ModelConfig, lines: list[str]) -> Translator:
    """Random weights: the answers are nonsense of the usual length, which is bounded by the source's."""
    tokenizer = train_tokenizer(lines, TextConfig(vocabulary=4000))
    torch.manual_seed(0)
    network = build_model(model, tokenizer.size, tokenizer.size, shared=True).eval()
    config = RunConfig(model=model, decoding=DecodingConfig(max_len=32))
    info = {"fingerprint": "benchmark"}
    return Translator(
        LoadedModel(Tokenizers(tokenizer, tokenizer), config, Path("benchmark"), info, model=network)
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--smoke", action="store_true", help="small models, one round")
    smoke = parser.parse_args().smoke
    layers, width, rounds = (1, 32, 1) if smoke else (3, 256, 5)
    models: dict[str, ModelConfig] = {
        "transformer": TransformerConfig(
            encoder_layers=layers, decoder_layers=layers, width=width, heads=4, feedforward=4 * width
        ),
        "luong": LuongConfig(width=width),
    }
    lines = sentences(2000)
    texts = lines[: 8 if smoke else SENTENCES]
    print(f"{len(texts)} sentences, {torch.get_num_threads()} threads, median of {rounds}; seconds")
    print(f"{'':<14}{'beam':>5}  {'plain':>7}  {'with attention':>14}  {'ratio':>6}   (limit {LIMIT})")
    for name, config in models.items():
        one = translator(config, lines)
        for beam in (1, 5):
            plain, traced = [], []
            for _ in range(rounds + 1):
                began = perf_counter()
                one.translate(texts, beam=beam)
                between = perf_counter()
                traces = make_traces(one, texts, options={"beam": beam})
                plain.append(between - began)
                traced.append(perf_counter() - between)
            assert all(len(trace.target_ids) for trace in traces)
            a, b = median(plain[1:]), median(traced[1:])  # the first round warms up
            print(f"{name:<14}{beam:>5}  {a:>7.3f}  {b:>14.3f}  {b / a:>6.2f}", flush=True)


if __name__ == "__main__":
    main()
