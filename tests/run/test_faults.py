"""A disk that fills up, becomes read-only or is slow, and a clock set back, in the midst of a real training.

benchmarks/interrupts.py does the same with hundreds of runs that are also killed.
"""

import json
import os
import subprocess
import sys
from typing import Any

import pytest

from tests.run.faults import Faults, can_be_built

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not (sys.platform == "linux" and can_be_built()), reason="needs Linux and a compiler"),
]


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What became of a run under each trouble (in_trouble.py)."""
    work, tools = tmp_path_factory.mktemp("runs"), tmp_path_factory.mktemp("tools")
    command = [sys.executable, "-m", "tests.run.in_trouble", str(work), str(tools)]
    environment = os.environ | Faults(tools).environment | {"OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize("trouble", ["full", "read-only", "slow", "set back"])
def test_a_run_in_trouble_that_goes_on_later_equals_one_that_had_none(
    told: dict[str, Any], trouble: str
) -> None:
    whole, broken = told["none"], told[trouble]
    assert whole["error"] is None
    assert broken["again"] is None
    assert len(whole["losses"]) == 9
    assert broken["losses"] == whole["losses"]
    assert broken["weights"] == whole["weights"]
    assert broken["left"] == []


def test_a_full_disk_and_a_read_only_one_are_named(told: dict[str, Any]) -> None:
    full, read_only = told["full"]["error"], told["read-only"]["error"]
    assert full.startswith("disk_full: the disk is full: cannot save step-0000000")
    assert "bytes are needed and " in full
    assert read_only.startswith("io_error: cannot save step-0000000")
    assert "Read-only file system" in read_only
    assert "check that the disk works and may be written to" in read_only


def test_neither_slow_writes_nor_a_clock_set_back_end_a_run(told: dict[str, Any]) -> None:
    assert told["slow"]["error"] is None
    assert told["set back"]["error"] is None
    assert told["set back"]["passed_s"] < -(10**8)  # the run did see the other time
