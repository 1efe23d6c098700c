"""One trainer per run folder: a lock that the system releases when its holder ends, however it ends."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from jumok.errors import ConfigError, RunError


@contextmanager
def run_lock(run: Path) -> Iterator[None]:
    """Hold the run folder, made if need be; a second holder is refused at once."""
    try:
        run.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(run / ".lock", os.O_RDWR | os.O_CREAT, 0o644)
    except OSError as error:
        raise ConfigError(
            f"cannot write to the run folder: {error.strerror}",
            where=str(run),
            hint="choose a folder that you may write to with --out",
            code="unwritable",
        ) from None
    try:
        _take(descriptor, run)
        yield
    finally:
        os.close(descriptor)  # this releases the lock; the file stays, deleting it would be a race


def _take(descriptor: int, run: Path) -> None:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        holder = os.pread(descriptor, 20, 0).decode("ascii", "replace").strip() or "unknown"
        raise RunError(
            f"another process is training in this folder (process {holder})",
            where=str(run),
            hint="wait until it ends, stop it, or choose another folder with --out",
            code="locked",
        ) from None
    with suppress(OSError):  # the number only serves the message; a full disk must not matter here
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
