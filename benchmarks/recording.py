"""What looking inside costs on the native engine: translating with attention, and the trace of one pair.

    python benchmarks/recording.py            a small model of each kind; writes readings/recording.json
    python benchmarks/recording.py --smoke    smaller, for a quick look; writes nothing

Processor time. Answers of random weights go round in circles; min_len=1 says that they may, else what is cut
off would have to be recorded again. With and without attention are run in turn: a busy machine slows both.
"""

import argparse
import json
import platform
from pathlib import Path
from statistics import median
from time import process_time

import torch
from attention_cost import SENTENCES, sentences

from jumok.checkpoint.contents import Contents
from jumok.config import (
    DecodingConfig,
    LuongConfig,
    ModelConfig,
    RnnConfig,
    RunConfig,
    TextConfig,
    TransformerConfig,
)
from jumok.decoding.engines import NativeEngine
from jumok.model import Model
from jumok.models.build import build_model
from jumok.native.model import NativeModel
from jumok.native.weights import pack_weights
from jumok.text.tokenizer import Tokenizers, train_tokenizer

TOKENS = 20
READING = Path(__file__).parent / "readings" / "recording.json"


def processor() -> str:
    """What this machine computes with, as Linux names it."""
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    return next((line.split(": ")[1] for line in lines if line.startswith("model name")), platform.machine())


def native(config: ModelConfig, lines: list[str]) -> Model:
    """Random weights: the answers are nonsense of the usual length, which is bounded by the source's."""
    tokenizer = train_tokenizer(lines, TextConfig(vocabulary=4000))
    torch.manual_seed(0)
    network = build_model(config, tokenizer.size, tokenizer.size, shared=True).eval()
    tensors = {name: tensor.numpy() for name, tensor in network.state_dict().items()}
    model = NativeModel(config, pack_weights(config, tensors, shared=True))
    run = RunConfig(model=config, decoding=DecodingConfig(max_len=32))
    about = {"fingerprint": "benchmark"}
    contents = Contents(Tokenizers(tokenizer, tokenizer), run, Path("benchmark"), about)
    return Model(NativeEngine(model, contents, strict=True))


def measure(model: Model, texts: list[str], rounds: int) -> dict[str, float]:
    """Seconds of processor time, with and without attention at each beam; milliseconds of one trace."""
    found: dict[str, float] = {}
    for beam in (1, 5):
        plain, seen = list[float](), list[float]()
        for _ in range(rounds + 1):
            began = process_time()
            model.translate(texts, beam=beam, min_len=1)
            between = process_time()
            answers = model.translate(texts, beam=beam, min_len=1, attention=True)
            plain.append(between - began)
            seen.append(process_time() - between)
        assert all(answer.trace is not None for answer in answers)
        a, b = median(plain[1:]), median(seen[1:])  # the first round warms up
        found |= {f"plain_{beam}": a, f"attention_{beam}": b, f"ratio_{beam}": b / a}
    tokenizer = model.tokenizers.source
    ids = tokenizer.encode(" ".join(texts))[: TOKENS - 1]
    text, times = tokenizer.decode(ids), list[float]()
    for _ in range(rounds + 1):
        began = process_time()
        trace = model.trace(text, target=text)
        assert trace.manifest["steps"]
        times.append(1000 * (process_time() - began))
    return {**found, "trace_ms": median(times[1:]), "tokens": len(trace.target_ids)}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--smoke", action="store_true", help="small models, one round")
    smoke = parser.parse_args().smoke
    layers, width, rounds = (1, 32, 1) if smoke else (3, 256, 25)
    models: dict[str, ModelConfig] = {
        "transformer": TransformerConfig(
            encoder_layers=layers, decoder_layers=layers, width=width, heads=4, feedforward=4 * width
        ),
        "luong": LuongConfig(width=width),
        "rnn": RnnConfig(width=width),
    }
    lines = sentences(2000)
    texts = lines[: 8 if smoke else SENTENCES]
    readings = {}
    print(f"{len(texts)} sentences, processor time, median of {rounds}")
    for name, config in models.items():
        readings[name] = one = measure(native(config, lines), texts, rounds)
        ratios = "  ".join(f"beam {beam}: {one[f'ratio_{beam}']:.2f} x" for beam in (1, 5))
        print(
            f"{name:<12} {ratios}  trace of {one['tokens']:.0f} tokens: {one['trace_ms']:.1f} ms", flush=True
        )
    if not smoke:
        machine = f"{processor()}, {platform.system()}, other programs beside it"
        about = {"command": "python benchmarks/recording.py", "machine": machine, "kept": "all"}
        READING.write_text(json.dumps({**about, **readings}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
