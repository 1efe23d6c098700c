"""All kernels in Triton's interpreter. One that fails is turned off, with a notice; its twin works on."""

import logging
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from tests.backends.triton.interpreter import INTERPRETED, needs_triton

from jumok.backends.triton.guard import Guard


@needs_triton
@pytest.mark.skipif(INTERPRETED, reason="starts the interpreter, once")
def test_the_kernels_agree_with_their_twins_in_tritons_interpreter() -> None:
    """It is chosen before anything imports Triton: the files beside this one in a process of their own."""
    files = sorted(set(Path(__file__).parent.glob("test_*.py")) - {Path(__file__)})
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:randomly", "-p", "no:xdist", *map(str, files)]
    environment = os.environ | {"TRITON_INTERPRET": "1", "OMP_NUM_THREADS": "1"}
    run = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=400)
    assert run.returncode == 0, run.stdout + run.stderr
    assert run.stdout.count(" passed") == 1
    assert len(files) == 11


def fails() -> str:
    raise RuntimeError("no compiler\nfound anywhere")


def test_a_kernel_that_runs_is_used(caplog: pytest.LogCaptureFixture) -> None:
    assert Guard()("works", lambda: "fast", lambda: "slow") == "fast"
    assert not caplog.records


def test_a_kernel_that_fails_gives_way_with_one_notice(caplog: pytest.LogCaptureFixture) -> None:
    guarded = Guard()
    with caplog.at_level(logging.WARNING, "jumok"):
        assert guarded("broken", fails, lambda: "slow") == "slow"
        assert guarded("broken", lambda: "fast", lambda: "slow") == "slow"  # not tried again
        assert guarded("other", lambda: "fast", lambda: "slow") == "fast"
    (record,) = caplog.records
    assert record.name == "jumok"
    assert record.getMessage() == (
        "the kernel broken does not run here (no compiler); plain torch does its work, slower"
    )


def test_memory_that_ran_out_is_not_the_kernels_fault() -> None:
    def full() -> str:
        raise torch.OutOfMemoryError("CUDA out of memory")

    guarded = Guard()
    with pytest.raises(torch.OutOfMemoryError, match="out of memory"):
        guarded("large", full, lambda: "slow")
    assert guarded("large", lambda: "fast", lambda: "slow") == "fast"


def test_inside_a_graph_nothing_can_be_taken_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was recorded before the failure would be replayed: whoever records must know."""
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "is_current_stream_capturing", lambda: True)
    guarded = Guard()
    with pytest.raises(RuntimeError, match="no compiler"):
        guarded("broken", fails, lambda: "slow")
    assert not guarded.off
