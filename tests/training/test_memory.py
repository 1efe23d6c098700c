"""Training on a CPU takes no more memory after many updates than after a few, whatever their shapes.

`JUMOK_UPDATES=2000 pytest tests/training/test_memory.py` watches longer.
"""

import os
from pathlib import Path

import numpy as np
import pytest

from jumok.backends.choose import choose_backend
from jumok.config import LuongConfig, ModelConfig, RnnConfig, TrainingConfig, TransformerConfig
from jumok.data.batch import Batch, Room, lay_pairs
from jumok.models.build import build_model
from jumok.run.compute import tune_torch
from jumok.settings import parse_config
from jumok.training.optimizer import Optimizers
from jumok.training.step import train_step
from jumok.training.threads import Threads, runs_in_threads

UPDATES = int(os.environ.get("JUMOK_UPDATES", "80"))
WARM = 40  # updates until everything that stays is there
MOST = 24 * 2**20  # bytes that pages and arenas may come to; 40 updates in torch's own bf16 are 100 MB
STATM = Path("/proc/self/statm")
CONFIGS: dict[str, ModelConfig] = {
    "transformer": TransformerConfig(encoder_layers=1, decoder_layers=1, width=32, heads=2, feedforward=64),
    "luong": LuongConfig(width=32),
    "rnn": RnnConfig(width=32),
}
pytestmark = pytest.mark.skipif(not STATM.exists(), reason="this system does not say how much memory is used")


def resident() -> int:
    return int(STATM.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def make_batch(draw: np.random.Generator, kind: str) -> Batch:
    """Pairs of any number and lengths; in a room of one size if packed."""
    longest, count = draw.integers(3, 30), draw.integers(2, 12)
    sides = [
        [draw.integers(260, 300, draw.integers(1, longest + 1)) for _ in range(count)]
        for _ in ("source", "target")
    ]
    return lay_pairs(*sides, Room(384, 384) if kind == "packed" else None)


def growth(arch: str, precision: str, kind: str, updates: int) -> int:
    """Bytes that the process has grown by from update WARM to the last."""
    tune_torch(parse_config({}))
    model, config = build_model(CONFIGS[arch], 300, 300, shared=True), TrainingConfig()
    model.ops = choose_backend("cpu", precision=precision)
    threads = Threads(model) if runs_in_threads(model) else None
    optimizers, draw, before = Optimizers(model, config), np.random.default_rng(0), 0
    for step in range(updates):
        if step == WARM:
            before = resident()
        train_step(
            model,
            optimizers,
            [make_batch(draw, kind)],
            config,
            lr=1e-4,
            step=step,
            seed=0,
            threads=threads,
        )
    return resident() - before


@pytest.mark.parametrize("kind", ["sorted", "packed"])
@pytest.mark.parametrize("precision", ["fp32", "bf16"])
@pytest.mark.parametrize("arch", CONFIGS)
def test_memory_does_not_grow(arch: str, precision: str, kind: str) -> None:
    assert growth(arch, precision, kind, UPDATES) < MOST
