"""What the first step needs is there when the data is."""

import subprocess
import sys

PROGRAM = """
import sys, torch
from importlib.util import find_spec
from jumok.config import TrainingConfig
from jumok.run.warm import load_meanwhile
from jumok.training.optimizer import Optimizers
load_meanwhile().join()
for name in ("sgd", "adam", "adamw", "muon"):
    model = torch.nn.Linear(2, 2)
    model(torch.ones(1, 2)).sum().backward()
    Optimizers(model, TrainingConfig(optimizer=name)).step(0.1)
before = set(sys.modules)
if find_spec("tensorboard"): import torch.utils.tensorboard
print(sorted(set(sys.modules) - before), "torch._dynamo" in sys.modules)
"""


def test_the_log_is_loaded_and_optimisers_need_no_compiler() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[] False"
