"""Locks, places in files and memory, as they are here and as they are where Python has no POSIX."""

import errno
import os
import re
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from jumok import systems
from jumok.checkpoint.folder import replace_file, run_lock
from jumok.checkpoint.manifest import read_small
from jumok.documents.journal import _lock
from jumok.errors import ModelError, RunError
from jumok.terms.corrections import CorrectionFile

POSIX_ONLY = ("pread", "pwrite", "sysconf", "sched_getaffinity", "O_DIRECTORY", "O_NOFOLLOW", "O_NONBLOCK")


class Locking(SimpleNamespace):
    """msvcrt, as far as locks go: a byte of a file belongs to one open file."""

    LK_NBLCK = 2

    def __init__(self) -> None:
        super().__init__(held={})

    def locking(self, file: int, mode: int, count: int) -> None:
        about, place = os.fstat(file), os.lseek(file, 0, os.SEEK_CUR)
        key = (about.st_ino, place)
        assert (mode, count, place) == (self.LK_NBLCK, 1, systems.FAR)
        if self.held.get(key, file) != file:
            raise PermissionError(errno.EACCES, "Permission denied")
        self.held[key] = file


@pytest.fixture
def foreign(monkeypatch: pytest.MonkeyPatch) -> Locking:
    """A platform without fcntl, and without what Windows lacks in os."""
    locking = Locking()
    monkeypatch.setitem(sys.modules, "fcntl", None)
    monkeypatch.setitem(sys.modules, "resource", None)
    monkeypatch.setitem(sys.modules, "msvcrt", locking)
    for name in POSIX_ONLY:
        monkeypatch.delattr(os, name, raising=False)
    return locking


def test_a_second_lock_is_refused_on_both(tmp_path: Path, foreign: Locking) -> None:
    flags = systems.open_flags("O_RDWR", "O_CREAT")
    one, other = (os.open(tmp_path / "lock", flags) for _ in range(2))
    systems.lock_file(one)
    with pytest.raises(BlockingIOError):
        systems.lock_file(other)
    assert os.lseek(other, 0, os.SEEK_CUR) == 0
    for file in (one, other):
        os.close(file)


def test_a_second_lock_is_refused_here(tmp_path: Path) -> None:
    one, other = (os.open(tmp_path / "lock", systems.open_flags("O_RDWR", "O_CREAT")) for _ in range(2))
    systems.lock_file(one)
    with pytest.raises(BlockingIOError):
        systems.lock_file(other)
    for file in (one, other):
        os.close(file)


@pytest.mark.parametrize("here", [True, False], ids=["here", "foreign"])
def test_bytes_at_a_place(tmp_path: Path, request: pytest.FixtureRequest, *, here: bool) -> None:
    if not here:
        request.getfixturevalue("foreign")
    file = os.open(tmp_path / "file", systems.open_flags("O_RDWR", "O_CREAT", "O_NO_SUCH_FLAG"))
    assert systems.write_at(file, b"one\r\ntwo", 2) == 8
    assert systems.read_at(file, 100, 3) == b"ne\r\ntwo"
    os.close(file)


def test_a_run_is_held_and_a_file_replaced_without_posix(tmp_path: Path, foreign: Locking) -> None:
    with run_lock(tmp_path / "run"):
        assert (tmp_path / "run" / ".lock").read_bytes() == f"{os.getpid()}\n".encode()
        with pytest.raises(
            RunError, match=rf"another process is training in this folder \(process {os.getpid()}\)"
        ):
            run_lock(tmp_path / "run").__enter__()
    replace_file(tmp_path / "file", b"old")
    replace_file(tmp_path / "file", b"new")
    assert read_small(tmp_path / "file") == b"new"
    (tmp_path / "link").symlink_to(tmp_path / "file")
    with pytest.raises(ModelError, match="link is a link, not a file"):
        read_small(tmp_path / "link")


def test_corrections_and_documents_are_locked_without_posix(tmp_path: Path, foreign: Locking) -> None:
    with CorrectionFile(tmp_path / "a.tsv") as file:
        file.add("5. März", "03-05", ("de", "en"))
        assert "03-05" in (tmp_path / "a.tsv").read_text(encoding="utf-8")
    with (tmp_path / "b").open("w+b") as one, (tmp_path / "b").open("r+b") as other:
        _lock(one, tmp_path / "b")
        with pytest.raises(RunError, match="another process is translating to this place"):
            _lock(other, tmp_path / "b")


def test_the_memory_of_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    assert 2**28 < systems.memory_size() < 2**50
    monkeypatch.delattr(os, "sysconf")

    def told(address: Any) -> int:
        status = address._obj
        assert status.length == 64  # as Windows has it
        status.total = 12345
        return 1

    kernel = SimpleNamespace(GlobalMemoryStatusEx=told)
    monkeypatch.setattr(systems.ctypes, "windll", SimpleNamespace(kernel32=kernel), raising=False)
    assert systems.memory_size() == 12345


def test_no_module_imports_what_windows_lacks() -> None:
    """It is asked for where it is needed, never at import."""
    pattern = re.compile(r"^(import|from) (fcntl|resource|termios|tty|pwd|grp|pty|syslog)\b", re.MULTILINE)
    files = sorted(Path(systems.__file__).parent.rglob("*.py"))
    assert len(files) > 400
    assert [file.name for file in files if pattern.search(file.read_text(encoding="utf-8"))] == []
