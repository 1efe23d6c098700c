"""A folder is written whole or not at all, whatever fails on the way."""

import errno
import os
import shutil
import signal
import subprocess
import sys
from collections import namedtuple
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jumok.checkpoint import folder as folder_module
from jumok.checkpoint.folder import (
    discard,
    dump_json,
    dump_manifest,
    put_in_place,
    replace_file,
    run_lock,
    settle,
    write_folder,
)
from jumok.checkpoint.manifest import MANIFEST, read_file, read_manifest, verify_folder
from jumok.errors import ConfigError, RunError

OLD = {"a.json": b"{}", "b.bin": bytes(1000)}
NEW = {"a.json": b'{"new": true}', "b.bin": bytes(range(250)) * 4}
NAMES = st.from_regex(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,20}", fullmatch=True).filter(lambda n: n != MANIFEST)
FULL = (errno.ENOSPC, errno.EDQUOT)


def content(path: Path) -> dict[str, bytes]:
    assert verify_folder(path) == []
    return {name: read_file(path, name) for name in read_manifest(path)}


@settings(deadline=None, max_examples=40)
@given(st.dictionaries(NAMES, st.binary(max_size=300), max_size=5))
def test_what_was_written_is_read(tmp_path_factory: pytest.TempPathFactory, files: dict[str, bytes]) -> None:
    path = tmp_path_factory.mktemp("x") / "m"
    write_folder(path, files)
    assert content(path) == files
    assert [entry.name for entry in path.parent.iterdir()] == ["m"]


def test_the_same_content_is_accepted_and_left_alone(tmp_path: Path) -> None:
    write_folder(tmp_path / "m", OLD)
    before = (tmp_path / "m" / "b.bin").stat()
    write_folder(tmp_path / "m", OLD)
    assert (tmp_path / "m" / "b.bin").stat() == before


def test_other_and_damaged_content_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "m"
    write_folder(path, OLD)
    write_folder(path, NEW)
    assert content(path) == NEW
    (path / "b.bin").write_bytes(b"")
    write_folder(path, NEW)
    assert content(path) == NEW
    assert [entry.name for entry in tmp_path.iterdir()] == ["m"]


def test_an_empty_folder_may_be_filled_and_a_strange_one_never(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    write_folder(tmp_path / "empty", NEW)
    assert content(tmp_path / "empty") == NEW
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("years of work")
    (tmp_path / "file").write_text("words")
    for path in (tmp_path / "mine", tmp_path / "file"):
        with pytest.raises(ConfigError) as caught:
            write_folder(path, NEW)
        assert str(caught.value) == (
            f"{path} exists and is not a model folder\n"
            "  choose another place: nothing of yours is overwritten"
        )
    assert (tmp_path / "mine" / "thesis.txt").read_text() == "years of work"


def test_everything_is_on_the_disk_before_the_name_appears(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    events: list[str] = []
    fsync, rename = os.fsync, os.rename

    def note_fsync(descriptor: int) -> None:
        events.append(f"sync {Path(os.readlink(f'/proc/self/fd/{descriptor}')).name.split('.tmp-')[0]}")
        fsync(descriptor)

    def note_rename(source: Path, target: Path) -> None:
        events.append(f"rename {Path(source).name.split('.tmp-')[0]} {Path(target).name}")
        rename(source, target)

    monkeypatch.setattr(os, "fsync", note_fsync)
    monkeypatch.setattr(os, "rename", note_rename)
    write_folder(tmp_path / "m", NEW)
    assert events == [
        "sync a.json",
        "sync b.bin",
        "sync MANIFEST.json",
        "sync m",
        "rename m m",
        f"sync {tmp_path.name}",
    ]


def failure(path: Path, files: dict[str, bytes]) -> str:
    """The code word of the error that writing ends in, which must leave no temporary folder behind; or ""."""
    try:
        write_folder(path, files)
    except RunError as error:
        left = list(path.parent.glob("*.tmp-*"))
        return "left something" if left else error.code
    return ""


def fail_at(monkeypatch: pytest.MonkeyPatch, point: int, code: int) -> Callable[[], bool]:
    """Make the system call number `point` fail; the result says whether it was reached."""
    calls = 0

    def failing(real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **options: Any) -> Any:
            nonlocal calls
            calls += 1
            if calls == point:
                raise OSError(code, os.strerror(code))
            return real(*args, **options)

        return call

    reads = () if code in FULL else ("open",)  # reading never meets a full disk
    for name in ("fsync", "rename", "mkdir", *reads):
        monkeypatch.setattr(os, name, failing(getattr(os, name)))
    return lambda: calls >= point


@pytest.mark.parametrize("replaces", [False, True])
@pytest.mark.parametrize("code", [errno.EIO, errno.ENOSPC, errno.EROFS, errno.EDQUOT, errno.EACCES])
def test_a_failing_disk_leaves_the_old_or_the_new(tmp_path: Path, code: int, *, replaces: bool) -> None:
    for point in range(1, 100):
        path = tmp_path / str(point) / "m"
        path.parent.mkdir()
        if replaces:
            write_folder(path, OLD)
        with pytest.MonkeyPatch.context() as monkeypatch:
            reached = fail_at(monkeypatch, point, code)
            error = failure(path, NEW)
            assert error in ("", "disk_full" if code in FULL else "io_error")
            if not reached():
                break
        settle(path.parent)
        assert not path.exists() or content(path) in (OLD, NEW)
        assert path.exists() or not replaces
        assert [entry.name for entry in path.parent.iterdir()] in ([], ["m"])
    assert point > 7  # every call on the way was made to fail once


def test_a_file_on_a_disk_that_becomes_read_only_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also if what was begun can no longer be deleted: `Checkpoints.newest` does that at the next start."""

    def refuse(*_: Any, **__: Any) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    monkeypatch.setattr(os, "replace", refuse)
    monkeypatch.setattr(Path, "unlink", refuse)
    with pytest.raises(RunError, match=r"^cannot save run\.json: Read-only file system"):
        replace_file(tmp_path / "run.json", b"{}")
    assert [entry.name.partition(".tmp-")[0] for entry in tmp_path.iterdir()] == ["run.json"]


@pytest.mark.parametrize("kind", ["folder", "file"])
def test_what_steps_aside_returns_at_once_when_the_new_cannot_take_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """Not only at the next start, when `settle` would bring it back."""
    path, temporary = tmp_path / "m", tmp_path / "m.tmp-1"
    for place, text in ((path, "old"), (temporary, "new")):
        if kind == "folder":
            place.mkdir()
        (place / "text" if kind == "folder" else place).write_text(text)
    rename = os.rename

    def failing(source: Path, target: Path) -> None:
        if Path(source) == temporary:
            raise OSError(errno.EIO, "Input/output error")
        rename(source, target)

    monkeypatch.setattr(os, "rename", failing)
    with pytest.raises(OSError, match="Input/output error"):
        put_in_place(temporary, path)
    assert (path / "text" if kind == "folder" else path).read_text() == "old"
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["m", "m.tmp-1"]


def test_a_full_disk_is_met_before_anything_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = namedtuple("usage", "total used free")
    need = sum(map(len, NEW.values())) + len(
        dump_manifest({name: (len(data), "0" * 64) for name, data in NEW.items()})
    )
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage(10**6, 0, int(1.19 * need)))
    with pytest.raises(RunError) as caught:
        write_folder(tmp_path / "m", NEW)
    assert str(caught.value) == (
        f"the disk is full: cannot save m\n  {tmp_path / 'm'}\n"
        f"  {need:,} bytes are needed and {int(1.19 * need):,} are free: make room, or choose another folder"
    )
    assert caught.value.code == "disk_full"
    assert list(tmp_path.iterdir()) == []


def test_what_does_not_read_back_is_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken_write(path: Path, data: bytes) -> None:
        path.write_bytes(data.replace(b"\x07", b"\x06"))

    write_folder(tmp_path / "m", OLD)
    monkeypatch.setattr(folder_module, "write_file", broken_write)
    with pytest.raises(RunError, match="what was written does not read back .b.bin was changed") as caught:
        write_folder(tmp_path / "m", NEW)
    assert caught.value.code == "io_error"
    assert content(tmp_path / "m") == OLD
    assert len(list(tmp_path.iterdir())) == 1


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Callable[[int], Path]]:
    """A function that makes a disk of so many bytes."""
    place = tmp_path / "disk"
    place.mkdir()
    mounts = 0

    def make(size: int) -> Path:
        nonlocal mounts
        command = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(place)]
        if shutil.which("mount") is None or subprocess.run(command, capture_output=True).returncode:
            pytest.skip("only root can make a small disk")
        mounts += 1
        return place

    yield make
    for _ in range(mounts):
        subprocess.run(["umount", str(place)], check=True)


def test_a_disk_that_fills_up_in_the_middle(
    small_disk: Callable[[int], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    large = {"a.bin": bytes(50_000), "b.bin": os.urandom(70_000), "c.bin": bytes(10)}
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage(10**9, 0, 10**9))  # room, so it seems
    saved = 0
    for pages in range(6, 48, 3):
        disk = small_disk(pages * 4096)
        write_folder(disk / "step-1", OLD)
        if error := failure(disk / "step-2", large):
            assert error == "disk_full"
            assert [entry.name for entry in disk.iterdir()] == ["step-1"]
        else:
            saved += 1
            assert content(disk / "step-2") == large
        assert content(disk / "step-1") == OLD
    assert 0 < saved < 14


def test_a_pointer_is_replaced_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "best.json"
    replace_file(path, b"1")
    replace_file(path, b"2")
    assert path.read_bytes() == b"2"

    def fail(source: Path, target: Path) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(RunError, match="cannot save best.json: Input/output error"):
        replace_file(path, b"3")
    assert path.read_bytes() == b"2"
    assert [entry.name for entry in tmp_path.iterdir()] == ["best.json"]


def test_settle_finishes_what_a_crash_left(tmp_path: Path) -> None:
    write_folder(tmp_path / "kept", OLD)
    write_folder(tmp_path / "back.old-12ab", OLD)
    write_folder(tmp_path / "kept.old-12ab", NEW)
    (tmp_path / "step-3.tmp-00ff").mkdir()
    (tmp_path / "best.json.tmp-00ff").touch()
    (tmp_path / "trash-step-1-00ff").mkdir()
    (tmp_path / "notes.txt").touch()
    settle(tmp_path)
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["back", "kept", "notes.txt"]
    assert content(tmp_path / "kept") == content(tmp_path / "back") == OLD


def test_discard_leaves_nothing(tmp_path: Path) -> None:
    write_folder(tmp_path / "m", OLD)
    discard(tmp_path / "m")
    assert list(tmp_path.iterdir()) == []


def test_json_is_the_same_every_time_and_finite() -> None:
    assert dump_json({"언어": [1, 2.5]}) == '{\n  "언어": [\n    1,\n    2.5\n  ]\n}\n'.encode()
    with pytest.raises(ValueError, match="not JSON compliant"):
        dump_json({"score": float("nan")})


HOLDER = """
import sys, time
from pathlib import Path
from jumok.checkpoint.folder import run_lock
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
        with pytest.raises(RunError) as caught, run_lock(run):  # one that waits would get it after a minute
            pass
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
