"""The measurements still run: each in its small form, and what it prints has the figures it is there for."""

import os
import re
import shutil
import subprocess
import sys

import pytest

from tests.test_layout import SRC

ROOT = SRC.parent.parent
FIGURES = {
    "trace_size": r"budget: 1,500,000 bytes raw, 600,000 gzip",
    "attention_cost": r"transformer +5( +\d+\.\d+){3}",
    "serving": r"beam 5: [\d.]+ requests/s one at a time, [\d.]+ with 4 clients",
    "page_budgets": r"pointer move to repaint of row, column and card +[\d.]+ ms",
}


@pytest.mark.slow
@pytest.mark.parametrize("name", FIGURES)
def test_a_measurement_runs_in_its_small_form(name: str) -> None:
    if name == "page_budgets" and not any(
        map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))
    ):
        assert os.environ.get("CI") != "true", "CI needs a Chromium"
        pytest.skip("no Chromium on this machine")
    command = [sys.executable, f"benchmarks/{name}.py", "--smoke"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stderr
    assert re.search(FIGURES[name], done.stdout), done.stdout
