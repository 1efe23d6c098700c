"""Waiting threads spin on an idle machine and sleep on a busy one."""

import os
from pathlib import Path

import pytest

from jumok.cli import threads
from jumok.cli.threads import cores_taken, cpu_times, settle_threads


def moving(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, busy: int, idle: int) -> Path:
    """A stat file whose counters grow by this much during the sample."""
    stat = tmp_path / "stat"
    stat.write_text("cpu  100 0 50 1000 5 0 0 0 0 0\ncpu0 1\n", encoding="ascii")

    def later(_seconds: float) -> None:
        stat.write_text(f"cpu  {100 + busy} 0 50 {1000 + idle} 5 0 0 0 0 0\n", encoding="ascii")

    monkeypatch.setattr(threads.time, "sleep", later)
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    return stat


def test_cores_taken_is_the_share_of_time_that_was_not_idle(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert cores_taken(moving(monkeypatch, tmp_path, busy=6, idle=6)) == 1.0
    assert cores_taken(moving(monkeypatch, tmp_path, busy=0, idle=12)) == 0.0
    assert cores_taken(moving(monkeypatch, tmp_path, busy=12, idle=0)) == 2.0


def test_threads_sleep_only_beside_a_busy_program(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("OMP_WAIT_POLICY", raising=False)
    settle_threads(moving(monkeypatch, tmp_path, busy=0, idle=12))
    assert "OMP_WAIT_POLICY" not in os.environ
    settle_threads(moving(monkeypatch, tmp_path, busy=6, idle=6))
    assert os.environ["OMP_WAIT_POLICY"] == "passive"


def test_what_the_user_has_set_stays(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("OMP_WAIT_POLICY", "active")
    settle_threads(moving(monkeypatch, tmp_path, busy=12, idle=0))
    assert os.environ["OMP_WAIT_POLICY"] == "active"


def test_a_system_that_does_not_tell_counts_as_idle(tmp_path: Path) -> None:
    assert cores_taken(tmp_path / "missing") == 0.0
    (tmp_path / "odd").write_text("cpu", encoding="ascii")
    assert cores_taken(tmp_path / "odd") == 0.0


@pytest.mark.skipif(not Path("/proc/stat").exists(), reason="this system has no /proc")
def test_the_real_counters_can_be_read() -> None:
    assert sum(cpu_times(Path("/proc/stat"))) > 0
    assert cores_taken() >= 0
