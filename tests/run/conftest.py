"""A corpus that a tiny model can learn in seconds, and the settings for it."""

import random
from pathlib import Path
from typing import Any

import pytest

TINY: dict[str, dict[str, Any]] = {
    "rnn": {"model.width": 16},
    "luong": {"model.width": 16},
    "transformer": {
        "model.width": 16,
        "model.heads": 2,
        "model.feedforward": 32,
        "model.encoder_layers": 1,
        "model.decoder_layers": 1,
    },
}


def tiny_settings(arch: str, folder: Path) -> dict[str, Any]:
    """Settings of a run that takes a second or two, with dropout, so that randomness matters too."""
    return {
        "data.source": str(folder / "train.src"),
        "data.target": str(folder / "train.tgt"),
        "data.hold_out": 20,
        "model.arch": arch,
        "model.dropout": 0.2,
        "text.vocabulary": 300,
        "training.batch_tokens": 300,
        "training.max_steps": 60,
        "training.warmup": 10,
        "training.log_every": 1,
        "training.validate_every": 20,
        "training.save_every": 5,
        "training.valid_sentences": 5,
        **TINY[arch],
    }


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    """A folder with train.src and train.tgt: numbers, and the same numbers backwards."""
    draw = random.Random(5)
    numbers = [str(draw.randrange(10**6)) for _ in range(300)]
    (tmp_path / "train.src").write_text("".join(f"{number}\n" for number in numbers), encoding="utf-8")
    (tmp_path / "train.tgt").write_text("".join(f"{number[::-1]}\n" for number in numbers), encoding="utf-8")
    return tmp_path
