"""A few of the demo's dates and small models, so that the demo takes seconds in tests."""

from itertools import islice
from pathlib import Path

import pytest

from jumok.comparison import demo
from jumok.data.builtin import builtin_corpus
from tests.run.conftest import TINY

SIZES = {"train": 300, "valid": 12}


def few_dates(folder: Path, monkeypatch: pytest.MonkeyPatch, steps: int = 6) -> None:
    """Let the demo see only the first pairs, be tested on those of validation, and build tiny models."""
    for split, size in SIZES.items():
        pairs = islice(builtin_corpus(demo.DATA, split).pairs(), size)  # type: ignore[arg-type]
        text = "".join(f"{source}\t{target}\n" for source, target in pairs)
        (folder / f"{split}.tsv").write_text(text, encoding="utf-8")
    given = {
        "data.source": str(folder / "train.tsv"),
        "data.valid_source": str(folder / "valid.tsv"),
        "text.vocabulary": 300,
        "training.threads": 1,
        "training.metric": "exact",
        "training.max_steps": steps,
        "training.cooldown": 0.0,
        "training.log_every": 1,
        "training.validate_every": 10**6,
        "training.save_every": 10**6,
        "decoding.max_len": 8,
        **TINY["transformer"],
    }
    monkeypatch.setattr(demo, "GIVEN", given)
