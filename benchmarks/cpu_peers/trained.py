"""A trained model in the contest: real sentences, and answers that end by themselves.

Its folder is written as the work of all contestants (task.py). How fast each is counts the tokens of its own
answers. What the engines find is compared: in int8 with each other, and with what they find in fp32.
"""

import json
from dataclasses import asdict
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import sacrebleu

from cpu_peers.arena import CONTESTANTS, agreement, arena
from cpu_peers.task import EOS, Size
from jumok.architectures import TransformerConfig
from jumok.checkpoint.contents import read_arrays, read_contents
from jumok.text.tokenizer import Tokenizer

NAMES = ("ct2-fp32", "native-fp32", "ct2-int8", "native-int8")
MOST = 128  # tokens of an answer
PAIRS = [("native-fp32", "ct2-fp32"), ("native-int8", "native-fp32"), ("ct2-int8", "ct2-fp32")]
PAIRS += [("native-int8", "ct2-int8")]


def write(folder: Path, model: Path) -> tuple[Path, Tokenizer]:
    """The folder of the task, and the tokenizer of both sides."""
    contents = read_contents(model)
    config, tokenizer = contents.config.model, contents.tokenizers.source
    fits = isinstance(config, TransformerConfig) and config.norm == "post" and config.tied
    if not fits or config.positions != "sinusoidal" or not contents.tokenizers.shared:
        raise SystemExit("the contest takes a post-norm Transformer with one table and sinusoidal positions")
    size = Size(
        config.encoder_layers, config.decoder_layers, config.width, config.heads, config.feedforward,
        tokenizer.size, frequent=0, likely=1,
    )  # fmt: skip
    there = folder / "trained"
    there.mkdir(parents=True, exist_ok=True)
    weights = dict(read_arrays(contents))
    weights["source_embedding.weight"] = weights["target_embedding.weight"]
    np.savez(there / "weights.npz", **weights)  # type: ignore[arg-type]
    (there / "size.json").write_text(json.dumps(asdict(size)), encoding="utf-8")
    return there, contents.tokenizers.target


def measure(
    folder: Path, environments: Path, model: Path, sentences: list[str], rounds: int, clock: str
) -> dict[str, Any]:
    """Greedy search, batches of 32, one thread: rates, answers in common, BLEU of one to the other."""
    there, tokenizer = write(folder, model)
    sources = [[*ids, EOS] for ids in tokenizer.encode_many(sentences)]
    chosen = [one for one in CONTESTANTS if one.name in NAMES]
    answers: dict[str, list[list[int]]] = {}
    rates: dict[str, list[float]] = {one.name: [] for one in chosen}
    with arena(chosen, folder, environments, 600) as ring:
        order = {
            "folder": str(there),
            "sources": sources,
            "beam": 1,
            "batch": 32,
            "new": 128,
            "answers": True,
        }
        for worker in ring.workers.values():
            told = worker.ask(do="prepare", folder=str(there), setting=worker.contestant.setting)
            worker.problem = told.get("problem", "")
        for _ in range(rounds + 1):  # the first is a warm-up
            for name, worker in ring.workers.items():
                told = worker.ask(do="run", setting=worker.contestant.setting | {"threads": 1}, **order)
                if "problem" in told:
                    raise SystemExit(f"{name}: {told['problem']}")
                answers[name] = told["answers"]
                rates[name].append(sum(map(len, answers[name])) / told[clock])
    texts = {name: tokenizer.decode_many(found) for name, found in answers.items()}
    pairs = {
        f"{one} : {other}": agreement(answers[one], answers[other])
        | {"bleu": sacrebleu.corpus_bleu(texts[one], [texts[other]]).score}
        for one, other in PAIRS
    }
    speeds = {name: {"median": median(found[1:]), "rates": found[1:]} for name, found in rates.items()}
    shape = json.loads((there / "size.json").read_text(encoding="utf-8"))
    return {"model": model.name, "size": shape, "sentences": len(sources), "rates": speeds, "pairs": pairs}
