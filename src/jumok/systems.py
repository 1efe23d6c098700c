"""Where operating systems differ: locks, places in files, folders on a disk, the memory of the machine."""

import ctypes
import os
from pathlib import Path

FAR = 1 << 30
"""Where Windows locks a byte: nobody may read one that is locked, and nothing stands here."""


def open_flags(*names: str) -> int:
    """The flags of `os.open` with these names, as far as the system has them; bytes stay as they are."""
    flags = 0
    for name in (*names, "O_BINARY"):
        flags |= getattr(os, name, 0)
    return flags


def lock_file(file: int) -> None:
    """Hold an open file for this process until it is closed; a BlockingIOError if another one holds it."""
    try:
        import fcntl
    except ModuleNotFoundError:
        _lock_byte(file)
        return
    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _lock_byte(file: int) -> None:
    import msvcrt

    os.lseek(file, FAR, os.SEEK_SET)
    try:
        msvcrt.locking(file, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined,unused-ignore]
    except OSError as error:
        raise BlockingIOError(*error.args) from None
    finally:
        os.lseek(file, 0, os.SEEK_SET)


def read_at(file: int, count: int, place: int) -> bytes:
    """So many bytes of an open file from a place on."""
    if hasattr(os, "pread"):
        return os.pread(file, count, place)
    os.lseek(file, place, os.SEEK_SET)
    return os.read(file, count)


def write_at(file: int, data: bytes | memoryview, place: int) -> int:
    """Write at a place of an open file; how many bytes were written."""
    if hasattr(os, "pwrite"):
        return os.pwrite(file, data, place)
    os.lseek(file, place, os.SEEK_SET)
    return os.write(file, data)


def sync_folder(path: Path) -> None:
    """Wait until the disk has the folder's list of names; Windows has no such thing to wait for."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


class MemoryStatus(ctypes.Structure):
    """What Windows says of its memory: MEMORYSTATUSEX."""

    _fields_ = (
        ("length", ctypes.c_uint32),
        ("load", ctypes.c_uint32),
        *((name, ctypes.c_uint64) for name in ("total", "free", "total_page", "free_page")),
        *((name, ctypes.c_uint64) for name in ("total_virtual", "free_virtual", "free_extended")),
    )


def memory_size() -> int:
    """Bytes of memory that this machine has."""
    if hasattr(os, "sysconf"):
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    status = MemoryStatus(length=ctypes.sizeof(MemoryStatus))
    ctypes.windll.kernel32.GlobalMemoryStatusEx(ctypes.byref(status))  # type: ignore[attr-defined,unused-ignore]
    return int(status.total)
