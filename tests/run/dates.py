"""A few of the built-in dates and small models, so that the demo takes seconds in tests."""

from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from jumok.data.builtin import builtin_corpus
from jumok.data.corpus import Corpus, open_corpus
from tests.run.conftest import TINY

SIZES = {"train": 300, "valid": 10, "test": 12}


def few_dates(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the demo see only the first pairs of each split, and build only tiny models."""
    from jumok.run import demo

    for split, size in SIZES.items():
        pairs = islice(builtin_corpus("dates", split).pairs(), size)  # type: ignore[arg-type]
        text = "".join(f"{source}\t{target}\n" for source, target in pairs)
        (folder / f"{split}.tsv").write_text(text, encoding="utf-8")

    def few(name: str, split: str) -> Corpus:
        assert name == "dates"
        return open_corpus(str(folder / f"{split}.tsv"))

    small: dict[str, Any] = {"text.vocabulary": 300, "training.threads": 1, "decoding.max_len": 8}
    for place in ("jumok.run.demo.builtin_corpus", "jumok.run.prepare.builtin_corpus"):
        monkeypatch.setattr(place, few)
    monkeypatch.setattr(demo, "COMMON", demo.COMMON | small)
    monkeypatch.setattr(demo, "SETTINGS", {arch: demo.SETTINGS[arch] | TINY[arch] for arch in TINY})
