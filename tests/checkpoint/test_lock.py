"""One trainer per run folder."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from jumok.checkpoint.lock import run_lock
from jumok.errors import ConfigError, RunError

HOLDER = """
import sys, time
from pathlib import Path
from jumok.checkpoint.lock import run_lock
with run_lock(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(60)
"""


def test_second_trainer_is_refused_at_once_and_a_killed_one_frees_the_folder(tmp_path: Path) -> None:
    run = tmp_path / "runs" / "x"
    holder = subprocess.Popen([sys.executable, "-c", HOLDER, str(run)], stdout=subprocess.PIPE)
    try:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        began = time.monotonic()
        with pytest.raises(RunError) as caught, run_lock(run):
            pass
        assert time.monotonic() - began < 1
        assert str(caught.value) == (
            f"another process is training in this folder (process {holder.pid})\n  {run}\n"
            "  wait until it ends, stop it, or choose another folder with --out"
        )
        assert caught.value.code == "locked"
    finally:
        holder.send_signal(signal.SIGKILL)
        holder.communicate()
    with run_lock(run):
        assert (run / ".lock").read_text() == f"{os.getpid()}\n"


def test_the_lock_is_free_again_after_an_error(tmp_path: Path) -> None:
    with pytest.raises(KeyError), run_lock(tmp_path):
        raise KeyError("training failed")
    with run_lock(tmp_path), pytest.raises(RunError, match=f"process {os.getpid()}"), run_lock(tmp_path):
        pass


def test_a_folder_that_cannot_be_written_is_a_wrong_setting(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ConfigError) as caught, run_lock(tmp_path / "file" / "run"):
        pass
    assert str(caught.value) == (
        f"cannot write to the run folder: Not a directory\n  {tmp_path / 'file' / 'run'}\n"
        "  choose a folder that you may write to with --out"
    )
    assert (caught.value.code, caught.value.exit_code) == ("unwritable", 2)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_read_only_folder_is_a_wrong_setting(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(ConfigError, match="run folder: Permission denied"), run_lock(tmp_path):
        pass
