"""What the first step needs is there when the data is."""

import subprocess
import sys

PROGRAM = """
import sys, torch
from importlib.util import find_spec
from jumok.run.warm import load_meanwhile
assert "torch._dynamo" not in sys.modules
load_meanwhile().join()
before = set(sys.modules)
torch.optim.AdamW([torch.zeros(1, requires_grad=True)], fused=True)
if find_spec("tensorboard"): import torch.utils.tensorboard
print(sorted(set(sys.modules) - before))
"""


def test_an_optimiser_and_the_log_load_nothing_more() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
