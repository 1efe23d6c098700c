"""How waiting threads should wait: one training step, idle and beside a busy process, for each setting.

    python benchmarks/threads.py

OpenMP reads its settings when torch is loaded, so each setting runs in a process of its own.
"""

import os
import subprocess
import sys

STEP = """
import time, numpy as np, torch
from jumok.backends.choose import choose_backend
from jumok.config import LuongConfig, TrainingConfig, TransformerConfig
from jumok.data.batch import lay_pairs
from jumok.models.build import build_model
from jumok.training.optimizer import Optimizers
from jumok.training.step import train_step
from jumok.training.threads import Threads, runs_in_threads

transformer = TransformerConfig(encoder_layers=3, decoder_layers=3, width=128, heads=4, feedforward=512)
for model_config in (LuongConfig(width=256), transformer):
    torch.manual_seed(0)
    model = build_model(model_config, 4000, 4000, shared=True)
    config, draw = TrainingConfig(), np.random.default_rng(0)
    optimizers = Optimizers(model, config)
    batch = [lay_pairs(*[[draw.integers(260, 4000, 20) for _ in range(48)] for _ in range(2)])]
    model.ops = choose_backend("cpu")
    threads = Threads(model) if runs_in_threads(model) else None
    times = []
    for step in range(16):
        began = time.perf_counter()
        train_step(model, optimizers, batch, config, lr=1e-4, step=step, seed=0, threads=threads)
        times.append(time.perf_counter() - began)
    print(sorted(times[5:])[5] * 1000)
"""
BUSY = "while True: pass"
SETTINGS = {
    "as torch comes": {},
    "OMP_WAIT_POLICY=passive": {"OMP_WAIT_POLICY": "passive"},
    "GOMP_SPINCOUNT=1000": {"GOMP_SPINCOUNT": "1000"},
    "GOMP_SPINCOUNT=10000": {"GOMP_SPINCOUNT": "10000"},
    "GOMP_SPINCOUNT=50000": {"GOMP_SPINCOUNT": "50000"},
    "one thread": {"OMP_NUM_THREADS": "1"},
}


def step_ms(setting: dict[str, str]) -> list[float]:
    """Median milliseconds of one step, luong and transformer, under this environment."""
    clean = {key: value for key, value in os.environ.items() if not key.startswith(("OMP_", "GOMP_"))}
    done = subprocess.run(
        [sys.executable, "-c", STEP], env=clean | setting, capture_output=True, text=True, check=True
    )
    return [float(line) for line in done.stdout.split()]


def main() -> None:
    cores = len(os.sched_getaffinity(0))
    print(f"{cores} cores; median ms of a training step of 2,000 pieces: luong 256 / transformer 3+3, 128")
    print(f"{'':<24} {'idle':>13} {'1 core busy':>13} {'all busy':>13}")
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
        print(f"{name:<24} " + " ".join(f"{a:>6.0f} /{b:>5.0f}" for a, b in row), flush=True)


if __name__ == "__main__":
    main()
