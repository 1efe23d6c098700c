"""One atomic folder: written beside its place, flushed, read back, and only then renamed into it.

A crash at any moment leaves the old folder or the new one. A run folder has one trainer at a time: a lock
that the system releases when its holder ends, however it ends. No torch: files are bytes here.
"""

import errno
import hashlib
import json
import os
import re
import secrets
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from jumok.checkpoint.manifest import FORMAT_VERSION, MANIFEST, read_manifest, verify_folder
from jumok.errors import ConfigError, ModelError, RunError
from jumok.systems import lock_file, open_flags, read_at, sync_folder, write_at

_LEFTOVER = re.compile(r"trash-.+|.+\.tmp-[0-9a-f]+")
_REPLACED = re.compile(r"(.+)\.old-[0-9a-f]+")
_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


def write_folder(path: Path, files: Mapping[str, bytes]) -> None:
    """Make `path` a whole folder with exactly these files and a manifest, or leave it as it was.

    The same content already there is accepted; another folder of ours in its place is replaced. A disk that
    is full or fails ends in a RunError (`disk_full`, `io_error`) and leaves nothing behind.
    """
    digests = {name: (len(data), hashlib.sha256(data).hexdigest()) for name, data in files.items()}
    if _holds(path, digests):
        return
    _refuse_strange(path)
    contents = {**files, MANIFEST: dump_manifest(digests)}
    need = sum(map(len, contents.values()))
    temporary = path.with_name(f"{path.name}.tmp-{secrets.token_hex(4)}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if (free := shutil.disk_usage(path.parent).free) < 1.2 * need:
            raise _disk_full(path, need, free)
        temporary.mkdir()
        for name, data in contents.items():  # the manifest is the last
            write_file(temporary / name, data)
        sync_folder(temporary)
        if faults := verify_folder(temporary):
            raise OSError(errno.EIO, f"what was written does not read back ({faults[0]})")
        put_in_place(temporary, path)
    except OSError as error:
        raise _save_error(path, error, need) from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def write_file(path: Path, data: bytes) -> None:
    """Write a new file and wait until the disk has it."""
    with path.open("xb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def replace_file(path: Path, data: bytes) -> None:
    """Put a small file in the place of another: readers see the old or the new one, never a part."""
    temporary = path.with_name(f"{path.name}.tmp-{secrets.token_hex(4)}")
    try:
        write_file(temporary, data)
        os.replace(temporary, path)
        sync_folder(path.parent)
    except OSError as error:
        raise _save_error(path, error, len(data)) from error
    finally:
        with suppress(OSError):  # a disk that has just become read-only: whoever comes next clears it away
            temporary.unlink(missing_ok=True)


def discard(path: Path) -> None:
    """Delete a folder, renamed first so that no half of it is ever taken for a whole one; or a file."""
    if not path.is_dir() or path.is_symlink():
        path.unlink()
        return
    trash = path.with_name(f"trash-{path.name}-{secrets.token_hex(4)}")
    os.rename(path, trash)
    shutil.rmtree(trash, ignore_errors=True)


def settle(parent: Path) -> None:
    """Finish what a crash broke off in `parent`: folders that were being replaced return, the rest goes."""
    for entry in sorted(parent.iterdir()):
        if match := _REPLACED.fullmatch(entry.name):
            place = entry.with_name(match[1])
            if place.exists():
                discard(entry)
            else:
                os.rename(entry, place)
        elif _LEFTOVER.fullmatch(entry.name):
            if entry.is_dir():
                shutil.rmtree(entry, ignore_errors=True)
            else:
                entry.unlink()


def dump_json(value: Mapping[str, Any]) -> bytes:
    """Readable JSON; the same value always gives the same bytes."""
    return (json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n").encode()


def dump_manifest(files: Mapping[str, tuple[int, str]]) -> bytes:
    """The bytes of a manifest: size and SHA-256 of each file."""
    entries = {name: {"size": size, "sha256": digest} for name, (size, digest) in files.items()}
    return dump_json({"format_version": FORMAT_VERSION, "files": entries})


def _holds(path: Path, files: Mapping[str, tuple[int, str]]) -> bool:
    """Whether the folder is whole and has this content already."""
    try:
        saved = {name: (entry.size, entry.sha256) for name, entry in read_manifest(path).items()}
    except ModelError:
        return False
    return saved == files and not verify_folder(path)


def _refuse_strange(path: Path) -> None:
    """Never replace what this module did not write."""
    ours = not path.exists() or (path.is_dir() and ((path / MANIFEST).exists() or not any(path.iterdir())))
    if not ours:
        raise ConfigError(
            f"{path} exists and is not a model folder",
            hint="choose another place: nothing of yours is overwritten",
            code="exists",
        )


def put_in_place(temporary: Path, path: Path) -> None:
    """Rename a folder or a file; what is in the way steps aside first, and returns if that fails."""
    old = path.with_name(f"{path.name}.old-{secrets.token_hex(4)}")
    replaces = os.path.lexists(path)
    if replaces:
        os.rename(path, old)
    try:
        os.rename(temporary, path)
    except OSError:
        if replaces:
            os.rename(old, path)
        raise
    sync_folder(path.parent)
    if replaces:
        with suppress(OSError):  # the new one stands; `settle` deletes what is left
            discard(old)


def _disk_full(path: Path, need: int, free: int) -> RunError:
    return RunError(
        f"the disk is full: cannot save {path.name}",
        where=str(path),
        hint=f"{need:,} bytes are needed and {free:,} are free: make room, or choose another folder",
        code="disk_full",
    )


def _save_error(path: Path, error: OSError, need: int) -> RunError:
    if error.errno in _FULL:
        free = 0
        with suppress(OSError):
            free = shutil.disk_usage(path.parent).free
        return _disk_full(path, need, free)
    return RunError(
        f"cannot save {path.name}: {error.strerror}",
        where=str(path),
        hint=f"{need:,} bytes were to be written: check that the disk works and may be written to",
        code="io_error",
    )


@contextmanager
def run_lock(run: Path) -> Iterator[None]:
    """Hold the run folder, made if need be; a second holder is refused at once."""
    try:
        run.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(run / ".lock", open_flags("O_RDWR", "O_CREAT"), 0o644)
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
        lock_file(descriptor)
    except BlockingIOError:
        holder = read_at(descriptor, 20, 0).decode("ascii", "replace").strip() or "unknown"
        raise RunError(
            f"another process is training in this folder (process {holder})",
            where=str(run),
            hint="wait until it ends, stop it, or choose another folder with --out",
            code="locked",
        ) from None
    with suppress(OSError):  # the number only serves the message; a full disk must not matter here
        os.ftruncate(descriptor, 0)
        write_at(descriptor, f"{os.getpid()}\n".encode(), 0)
