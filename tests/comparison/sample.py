"""A report of schema compare/1 with invented numbers, each different, for the tests of its page."""

from itertools import count
from typing import Any

ARCHS = ("rnn", "luong", "transformer")
BINS = ((1, 10), (11, 20), (21, 30), (31, None))


def sample_report(
    *, seeds: int = 1, ablations: tuple[str, ...] = ("no-scale", "positions-none"), points: int = 6
) -> dict[str, Any]:
    """Three architectures, ablations of the Transformer, one of which failed; a fresh one at each call."""
    numbers = count(1)
    entries = [
        sample_entry(numbers, arch if seed == 1 else f"{arch}-s{seed}", arch, seed=seed, points=points)
        for arch in ARCHS
        for seed in range(1, seeds + 1)
    ]
    for name in ablations:
        changed = {"model.positions": name[10:]} if name.startswith("positions") else {"model.scaled": False}
        entry = sample_entry(numbers, f"transformer {name}", "transformer", points=points)
        entries.append(entry | {"group": name, "changes": changed, "settings": entry["settings"] | changed})
    entries.append(failed_entry("transformer no-residual"))
    before = [entry for entry in entries if entry["group"] == "plain" and entry["seed"] == 1]
    pairs = [(a["name"], b["name"]) for a, b in zip(before, before[1:], strict=False)]
    pairs += [("transformer", f"transformer {name}") for name in ablations]
    return {
        "schema": "compare/1",
        "title": "dates: three generations",
        "made": "2026-01-01T12:00:00Z",
        "version": "0.1.0",
        "command": "jumok compare --data dates",
        "data": {
            "name": "dates", "train": 48003, "valid": 1001, "test": 2022, "test_name": "dates test",
            "sha256": "ab" * 32, "source_language": "ko", "target_language": "en", "vocabulary": 1703,
        },
        "machine": {"name": "a machine", "cores": 2, "device": "cpu"},
        "budget": {"kind": "time", "value": 71.0, "matched": True, "spread": 0.0326},
        "metric": {"name": "exact", "label": "exact", "lower_is_better": False, "signature": "nrefs:1"},
        "entries": entries,
        "groups": [
            {"name": arch, "label": arch, "arch": arch, "seeds": list(range(1, seeds + 1)),
             "mean": 50.25 + n, "min": 49.125 + n, "max": 51.375 + n}
            for n, arch in enumerate(ARCHS)
        ],
        "pairs": [
            {"before": a, "after": b, "metric": "exact", "delta": 3.5 - n, "p": 0.01 * n + 0.0123,
             "resamples": 1000}
            for n, (a, b) in enumerate(pairs)
        ],
        "slopes": [
            {"entry": arch, "short": sample_bin(numbers, 1, 10), "long": sample_bin(numbers, 21, 30),
             "change": -7.25 - n, "ci95": [-9.5 - n, -4.75 - n], "falls": [True, False, None][n]}
            for n, arch in enumerate(ARCHS)
        ],
        "summary": ["rnn falls with length.", "luong does not."],
    }  # fmt: skip


def sample_bin(numbers: "count[int]", lo: int, hi: int | None) -> dict[str, Any]:
    n = next(numbers)
    return {
        "lo": lo, "hi": hi, "n": 25 + n, "value": 40 + n / 8, "ci95": [38.5 + n / 8, 41.5 + n / 8],
        "thin": hi is None, "beyond": hi is None,
    }  # fmt: skip


def sample_entry(
    numbers: "count[int]", name: str, arch: str, *, seed: int = 1, points: int = 6
) -> dict[str, Any]:
    n = next(numbers)
    value, steps = 60 + n / 4, range(1, points + 1)
    kinds = {"rnn": (), "luong": ("cross",), "transformer": ("enc_self", "dec_self", "cross")}[arch]
    attention = {
        kind: {
            "entropy_bits": 1.5 + place / 8, "max_entropy_bits": 4.125, "sharpness": 0.5 + place / 16,
            "by_layer": [[1.25 + n / 64, 2.5 + n / 64]] * (1 if arch == "luong" else 2),
        }
        for place, kind in enumerate(kinds)
    }  # fmt: skip
    lengths = [8, 16, 32, 64]
    answer = "May 5" if arch == "rnn" else "March 5"
    return {
        "name": name, "arch": arch, "group": "plain", "seed": seed, "status": "completed", "error": None,
        "changes": {},
        "settings": {"model.arch": arch, "model.width": 128, "model.positions": "rotary", "seed": seed},
        "parameters": 420_001 + n, "steps": 1000 + n, "train_s": 70.5 + n, "tokens": 2_000_001 + n,
        "curves": {
            "step": [100 * s for s in steps], "elapsed_s": [11.5 * s + n for s in steps],
            "tokens": [300_001 * s + n for s in steps], "loss": [3 / s + n / 64 for s in steps],
            "score": [60 - 30 / s + n / 4 for s in steps],
        },
        "speed": {
            "train_tokens_per_s": 30_000.5 + n, "sentences_per_s": 512.25 + n,
            "target_tokens_per_s": 9_000.5 + n,
            "ms_per_sentence": {"median": 2.125 + n, "p95": 4.375 + n}, "threads": 2,
        },
        "memory": {"train_peak_bytes": 402_653_184 + n, "decode_peak_bytes": 281_857_228 + n},
        "quality": {
            "value": value, "ci95": [value - 1.25, value + 1.25], "n": 2022,
            "metrics": {
                "exact": {"value": value, "ci95": [value - 1.25, value + 1.25], "signature": "nrefs:1"},
                "chrf": {"value": value + 9.5, "ci95": [value + 8.5, value + 10.5], "signature": "nrefs:1"},
            },
            "by_length": {
                "unit": "source_words", "trained_to": 30, "bins": [sample_bin(numbers, *one) for one in BINS],
            },
            "examples": [
                {"source": "3월 5일", "reference": "March 5", "hypothesis": answer},
                {"source": "같다", "reference": "same", "hypothesis": "same"},
            ],
        },
        "attention": {"kinds": attention, "sentences": 97} if kinds else None,
        "influence": {
            "distance": [0.125, 0.375, 0.625, 0.875], "share": [0.5 + n / 512, 0.25, 0.125, 0.125 - n / 512],
            "even": [0.4, 0.3, 0.2, 0.1], "sentences": 23,
        },
        "growth": {
            "lengths": lengths, "ms": [0.5 + s / 64 + n / 64 for s in lengths],
            "bytes": [s * 5000 + n for s in lengths], "flops": [s * 1_000_000 + n for s in lengths],
            "formula_bytes": [s * 4000 + n for s in lengths], "formula": "2·T·D·V", "ms_fit": "n^1.02",
            "exponents": {"ms": 1.015625, "bytes": 1.25, "flops": 1.0, "formula_bytes": 1.0},
        },
    }  # fmt: skip


def failed_entry(name: str) -> dict[str, Any]:
    parts = (
        "parameters",
        "steps",
        "train_s",
        "tokens",
        "curves",
        "speed",
        "memory",
        "quality",
        "attention",
        "influence",
        "growth",
    )
    error = {
        "message": "the loss is not finite at step 312",
        "where": "training",
        "hint": "lower training.lr",
    }
    return {
        "name": name, "arch": "transformer", "group": name.split()[-1], "seed": 1, "status": "failed",
        "error": error, "changes": {"model.residual": False}, "settings": {"model.arch": "transformer"},
        **dict.fromkeys(parts),
    }  # fmt: skip
