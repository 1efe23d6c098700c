"""How often is a text called strange that is of the kind a model learned, and how often one that is not?

    python benchmarks/novelty.py            writes readings/novelty.json
    python benchmarks/novelty.py --smoke    a hundred texts of each; writes nothing

The test sentences of each bundled model's data as they are, with their characters shuffled and with their
words shuffled (seed 0), and test sentences of another language. Nothing is translated.
"""

import argparse
import json
import random
from collections.abc import Callable, Sequence
from pathlib import Path

from jumok.data.builtin import builtin_corpus
from jumok.decoding.translator import load

READING = Path(__file__).parent / "readings" / "novelty.json"
OTHERS = {
    "dates": "homeassistant-de-en",
    "homeassistant-de-en": "homeassistant-ko-en",
    "homeassistant-ko-en": "homeassistant-de-en",
}
MODELS = {
    "dates": "demo/transformer",
    "homeassistant-de-en": "demo/de-en",
    "homeassistant-ko-en": "demo/ko-en",
}


def shuffled(draw: random.Random, parts: Sequence[str], between: str) -> str:
    return between.join(draw.sample(parts, len(parts)))


def measured(data: str, most: int | None) -> dict[str, float]:
    """The share of strange texts of each kind, and how many texts there are."""
    model, draw = load(MODELS[data], "cpu"), random.Random(0)
    novelty, encode = model.novelty, model.tokenizers.source.encode
    assert novelty is not None
    own, others = (
        [source for source, _ in builtin_corpus(one, "test").pairs()][:most] for one in (data, OTHERS[data])
    )
    kinds: dict[str, Callable[[], list[str]]] = {
        "own": lambda: own,
        "characters": lambda: [shuffled(draw, text, "") for text in own],
        "words": lambda: [shuffled(draw, text.split(), " ") for text in own],
        "other": lambda: others,
    }
    found = {
        kind: sum(novelty.count([encode(text)]).strange for text in texts())
        / len(own if kind != "other" else others)
        for kind, texts in kinds.items()
    }
    return {**found, "texts": len(own), "usual": novelty.usual, "bytes": len(novelty.bits)}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--smoke", action="store_true")
    smoke = parser.parse_args().smoke
    found = {data: measured(data, 100 if smoke else None) for data in MODELS}
    for data, one in found.items():
        print(data, *(f"{kind} {one[kind]:.1%}" for kind in ("own", "characters", "words", "other")))
    if not smoke:
        reading = {
            "command": "python benchmarks/novelty.py",
            "machine": "two cores of an AMD EPYC; the shares do not depend on it",
            "kept": "all that the command computed",
            "data": {data.replace("-", "_"): one for data, one in found.items()},
        }
        READING.write_text(json.dumps(reading, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
