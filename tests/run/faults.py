"""A disk that is full, read-only or slow and a clock that was set back, for child processes (faults.c)."""

import mmap
import shutil
import struct
import subprocess
from pathlib import Path

LAYOUT = struct.Struct("<5q")  # as in faults.c
SOURCE = Path(__file__).with_name("faults.c")


class Faults:
    """What is wrong with the machine of every process that has `environment`, from the moment it is set."""

    def __init__(self, folder: Path) -> None:
        library, control = folder / "faults.so", folder / "faults.control"
        if not library.exists():
            subprocess.run(["cc", "-O1", "-shared", "-fPIC", "-o", library, SOURCE, "-ldl"], check=True)
            control.write_bytes(bytes(LAYOUT.size))
        with control.open("r+b") as file:
            self.shared = mmap.mmap(file.fileno(), LAYOUT.size)
        self.environment = {"LD_PRELOAD": str(library), "JUMOK_FAULTS": str(control)}

    def set(
        self, *, free: int | None = None, read_only: bool = False, delay_us: int = 0, set_back_s: int = 0
    ) -> None:
        """`free` bytes left on the disk (None: plenty), each write later by `delay_us`, the clock back."""
        limited = free is not None
        self.shared[:] = LAYOUT.pack(limited, free or 0, read_only, delay_us, set_back_s)


def can_be_built() -> bool:
    """Whether there is a C compiler."""
    return shutil.which("cc") is not None
