"""How waiting threads should wait: one training step, idle and beside a busy process, for each setting.

    python benchmarks/threads.py

OpenMP reads its settings when torch is loaded, so each setting runs in a process of its own.
"""

import os
import subprocess
import sys

STEP = """
import time, numpy as np, torch
from jumok.config import TrainingConfig, TransformerConfig
from jumok.data.batch import pad_pairs
from jumok.models.build import build_model
from jumok.training.optimizer import Optimizers
from jumok.training.step import train_step

torch.manual_seed(0)
model = build_model(TransformerConfig(encoder_layers=3, decoder_layers=3, width=256, heads=4, feedforward=1024),
                    4000, 4000, shared=True)
config = TrainingConfig()
optimizers, draw = Optimizers(model, config), np.random.default_rng(0)
sides = [[draw.integers(260, 4000, 20) for _ in range(48)] for _ in range(2)]
batch = [pad_pairs(*sides)]
times = []
for step in range(14):
    began = time.perf_counter()
    train_step(model, optimizers, batch, config, lr=1e-4, step=step, seed=0)
    times.append(time.perf_counter() - began)
print(sorted(times[4:])[5] * 1000)
"""
BUSY = "while True: pass"
SETTINGS = {
    "as torch comes": {},
    "OMP_WAIT_POLICY=passive": {"OMP_WAIT_POLICY": "passive"},
    "GOMP_SPINCOUNT=0": {"GOMP_SPINCOUNT": "0"},
    "one thread": {"OMP_NUM_THREADS": "1"},
}


def step_ms(setting: dict[str, str]) -> float:
    """Median milliseconds of one step under this environment."""
    clean = {key: value for key, value in os.environ.items() if not key.startswith(("OMP_", "GOMP_"))}
    done = subprocess.run(
        [sys.executable, "-c", STEP], env=clean | setting, capture_output=True, text=True, check=True
    )
    return float(done.stdout)


def main() -> None:
    cores = len(os.sched_getaffinity(0))
    print(f"{cores} cores; median ms of one training step (3+3 layers, width 256, 2,000 pieces)")
    print(f"{'':<26} {'idle':>8} {'one busy core':>14} {'all cores busy':>15}")
    for name, setting in SETTINGS.items():
        row = []
        for busy in (0, 1, cores):
            others = [subprocess.Popen([sys.executable, "-c", BUSY]) for _ in range(busy)]
            try:
                row.append(step_ms(setting))
            finally:
                for other in others:
                    other.kill()
                    other.wait()
        print(f"{name:<26} {row[0]:>8.0f} {row[1]:>14.0f} {row[2]:>15.0f}", flush=True)


if __name__ == "__main__":
    main()
