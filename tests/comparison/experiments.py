"""Entries with answers that were made up for the test, in the form in which they are measured and kept."""

import json
from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

from jumok.comparison.bins import by_length, scored
from jumok.comparison.entry import PLAIN, ComparisonEntry
from jumok.comparison.measure import TESTED
from jumok.config import Arch
from jumok.evaluation.evaluate import score_texts
from jumok.evaluation.lengths import Bars, TrainLengths

SOURCES = [("a" * (1 + i % 30)) for i in range(240)]
REFERENCES = [f"{i} {len(text)}" for i, text in enumerate(SOURCES)]
FACTS: dict[str, Any] = {
    "title": "made up",
    "made": "2026-01-01T00:00:00+00:00",
    "version": "0",
    "command": "jumok compare",
    "data": {"name": "made up", "train": 1000, "valid": 10, "test": 240, "test_name": "made up test"},
    "machine": {"name": "CPU", "cores": 2, "device": "cpu"},
    "budget": {"kind": "steps", "value": 100, "matched": True},
    "metric": "exact",
}


def answers(wrong: Sequence[int]) -> list[str]:
    """The references with some of them wrong."""
    return ["nothing" if i in set(wrong) else text for i, text in enumerate(REFERENCES)]


def longer_than(length: int) -> list[int]:
    return [i for i, text in enumerate(SOURCES) if len(text) > length]


def entry(arch: Arch, group: str = PLAIN, *, seed: int = 1, several: bool = False) -> ComparisonEntry:
    name = arch if group == PLAIN else f"{arch} {group}"
    changes = {} if group == PLAIN else {"model.scaled": False}
    return ComparisonEntry(
        name=f"{name}-s{seed}" if several else name, arch=arch, group=group, seed=seed, changes=changes
    )


def measured(
    out: Path, one: ComparisonEntry, hypotheses: Sequence[str], *, trained_to: int = 30, **others: Any
) -> dict[str, Any]:
    """What `measure_entry` would give, and what it would keep in the entry's folder."""
    found = score_texts(hypotheses, REFERENCES, metrics=("exact", "chrf"), bootstrap=100)
    chrf = found.statistics["chrf"]
    right = [[text] for text in REFERENCES]
    texts = {"sources": SOURCES, "references": right, "hypotheses": list(hypotheses)}
    digest = sha256("".join(SOURCES).encode()).hexdigest()
    kept = {"data": "test", "sha256": digest, **texts, "chrf": chrf.score(chrf.rows).tolist()}
    (out / one.folder).mkdir(parents=True)
    (out / one.folder / TESTED).write_text(json.dumps(kept), encoding="utf-8")
    seen = TrainLengths(1, 1, {"source_characters": Bars(1, (1,) * trained_to)})
    metrics = {name: scored(one, 100) for name, one in found.statistics.items()}
    quality = {
        **{key: metrics["exact"][key] for key in ("value", "ci95")},
        "n": len(SOURCES),
        "metrics": metrics,
        "by_length": by_length(SOURCES, found.statistics["exact"], seen, 100),
        "examples": [],
    }
    return {**figures(), "quality": quality, **others}


def figures() -> dict[str, Any]:
    """The rest of an entry."""
    curves = {"step": [100], "elapsed_s": [9.0], "tokens": [5000], "loss": [0.1], "score": [50.0]}
    alone = {"median": 2.0, "p95": 4.0}
    return {
        "status": "completed",
        "error": None,
        "settings": {"seed": 1},
        "parameters": 1000,
        "steps": 100,
        "train_s": 9.0,
        "tokens": 5000,
        "curves": curves,
        "speed": {"train_tokens_per_s": 1000.0, "sentences_per_s": 100.0, "target_tokens_per_s": 900.0}
        | {"ms_per_sentence": alone},
        "memory": {"train_peak_bytes": 20_000, "decode_peak_bytes": 5000, "process_peak_bytes": 10**8},
        "attention": None,
        "influence": None,
        "growth": None,
    }


def failed(message: str) -> Mapping[str, Any]:
    return {"status": "failed", "error": {"message": message, "where": "", "hint": ""}}
