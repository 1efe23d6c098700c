"""How torch's threads wait for each other: awake where the cores are free, asleep where they are not."""

import os
import time
from pathlib import Path

SAMPLE = 0.06  # seconds
TAKEN = 0.5  # cores in use by others from which waiting threads had better sleep


def settle_threads(stat: Path = Path("/proc/stat")) -> None:
    """Choose before torch is loaded, which reads the choice then; what the user has set stays.

    Spinning threads are up to half as fast again on an idle machine and two to three times slower beside a
    busy program. Measured in benchmarks/README.md.
    """
    if "OMP_WAIT_POLICY" not in os.environ and cores_taken(stat) > TAKEN:
        os.environ["OMP_WAIT_POLICY"] = "passive"


def cores_taken(stat: Path = Path("/proc/stat")) -> float:
    """Cores that other programs use right now; 0 where the system does not tell."""
    try:
        before = cpu_times(stat)
        time.sleep(SAMPLE)
        spent = [now - then for then, now in zip(before, cpu_times(stat), strict=True)]
        idle = spent[3] + spent[4]  # idle and waiting for disks
    except (OSError, ValueError, IndexError):
        return 0.0
    return (os.cpu_count() or 1) * (1 - idle / max(1, sum(spent)))


def cpu_times(stat: Path) -> list[int]:
    """Clock ticks of all cores together, by kind: user, nice, system, idle, iowait, …"""
    first = stat.read_text(encoding="ascii").split("\n", 1)[0]
    return [int(field) for field in first.split()[1:]]
