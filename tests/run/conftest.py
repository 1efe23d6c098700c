"""A corpus that a tiny model can learn in seconds, and the settings for it."""

import random
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from jumok.run.train import TrainedRun

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


def quick_settings(folder: Path, **more: Any) -> dict[str, Any]:
    """Settings of a run that takes a fraction of a second; names of `more` have __ for the point."""
    return {
        **tiny_settings("luong", folder),
        "training.batch_tokens": 1000,
        "training.max_steps": 6,
        "training.warmup": 1,
        "training.validate_every": 3,
        "training.save_every": 3,
        "training.threads": 1,
        "decoding.max_len": 8,
        **{name.replace("__", "."): value for name, value in more.items()},
    }


def write_corpus(folder: Path, pairs: int = 300) -> Path:
    """train.src and train.tgt: numbers, and the same numbers backwards."""
    draw = random.Random(5)
    numbers = [str(draw.randrange(10**6)) for _ in range(pairs)]
    (folder / "train.src").write_text("".join(f"{number}\n" for number in numbers), encoding="utf-8")
    (folder / "train.tgt").write_text("".join(f"{number[::-1]}\n" for number in numbers), encoding="utf-8")
    return folder


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    """A folder with train.src and train.tgt."""
    return write_corpus(tmp_path)


@pytest.fixture(scope="session")
def trained(tmp_path_factory: pytest.TempPathFactory) -> "TrainedRun":
    """One run that has ended, and its corpus beside it. Who wants to change it makes a copy."""
    from jumok.run.train import train

    folder = write_corpus(tmp_path_factory.mktemp("trained"))
    return train(out=folder / "run", overrides=quick_settings(folder), device="cpu")
