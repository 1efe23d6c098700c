"""Answers drawn at random by the engine in C and by torch: how fast, and whether they are the same.

    python benchmarks/draws.py --german test.de.gz --json benchmarks/draws.json
    python benchmarks/draws.py --smoke          eight dates, one round

Bundled models answer sentences: the one of dates its test set, the one from German to English, in int8,
those of a file. One draw of each, sixteen of each of which the most typical is kept (`mbr`), and greedily for
comparison. The engines take turns with one thread each, and the figures are medians over the rounds. torch
computes in fp32.
"""

import argparse
import gzip
import json
import os
import platform
import statistics
import time
from pathlib import Path
from typing import Any

os.environ["OMP_NUM_THREADS"] = "1"  # before torch reads it

import torch  # noqa: E402

import jumok  # noqa: E402
from jumok.data.builtin import builtin_corpus  # noqa: E402
from jumok.decoding.translator import Translator, load  # noqa: E402

WAYS: dict[str, dict[str, Any]] = {
    "greedy": {"beam": 1},
    "one draw": {"sample": True, "seed": 1},
    "mbr of 16": {"mbr": 16, "seed": 1},
}


def sentences(corpus: str, count: int) -> list[str]:
    """The first sources of a bundled corpus' test set, or of a file with one in each line."""
    if corpus == "dates":
        return [source for source, _ in builtin_corpus(corpus, "test").pairs()][:count]
    return gzip.decompress(Path(corpus).read_bytes()).decode().splitlines()[:count]


def seconds(model: Translator, texts: list[str], options: dict[str, Any]) -> tuple[float, list[str]]:
    """How long the answers take, by the processor's clock, and what they are."""
    began = time.process_time()
    answers = [one.text for one in model.translate(texts, **options)]
    return time.process_time() - began, answers


def measure(name: str, corpus: str, count: int, rounds: int) -> dict[str, Any]:
    """Both engines with one model, in turn."""
    texts = sentences(corpus, count)
    engines = {engine: load(name, engine=engine) for engine in ("native", "torch")}
    found: dict[str, Any] = {}
    for way, options in WAYS.items():
        times: dict[str, list[float]] = {engine: [] for engine in engines}
        said: dict[str, list[str]] = {}
        for engine in engines:
            seconds(engines[engine], texts[:4], options)  # what is made once
        for number in range(rounds):
            for engine in sorted(engines, reverse=number % 2 == 1):
                took, said[engine] = seconds(engines[engine], texts, options)
                times[engine].append(round(took, 4))
        middle = {engine: statistics.median(times[engine]) for engine in engines}
        found[way] = {
            "sentences": len(texts),
            "rounds_s": times,
            "native_per_s": round(len(texts) / middle["native"], 1),
            "torch_per_s": round(len(texts) / middle["torch"], 1),
            "ratio": round(middle["torch"] / middle["native"], 2),
            "equal": sum(a == b for a, b in zip(said["native"], said["torch"], strict=True)),
        }
        ratio, equal = found[way]["ratio"], found[way]["equal"]
        print(f"{name:18} {way:10} {ratio:6.2f} x torch, {equal} of {len(texts)} equal")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sentences", type=int, default=400)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--german", help="a packed file of German sentences")
    parser.add_argument("--json", type=Path, help="write the readings here")
    parser.add_argument("--smoke", action="store_true", help="eight dates, one round")
    options = parser.parse_args()
    if options.smoke:
        options.sentences, options.rounds = 8, 1
    about = {
        "command": f"benchmarks/draws.py --sentences {options.sentences} --rounds {options.rounds}",
        "versions": {
            "jumok": jumok.__version__,
            "torch": torch.__version__,
            "python": platform.python_version(),
        },
        "clock": "processor time of one thread",
    }
    asked = {"demo/transformer": "dates"} | ({"demo/de-en": options.german} if options.german else {})
    models = {
        name: measure(name, corpus, options.sentences, options.rounds) for name, corpus in asked.items()
    }
    if options.json:
        text = json.dumps({"about": about, "models": models}, indent=1, ensure_ascii=False)
        options.json.write_text(text + "\n", "utf-8")


if __name__ == "__main__":
    main()
