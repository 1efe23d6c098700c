"""Builds the wheel and the source archive twice, in other folders and at other times, and compares the bytes.

    python scripts/check_archives.py [--out dist]

Anyone who has the commit, the compiler and the versions of constraints.txt can so make sure that an archive
holds what the source says. With --out the archives are kept there. Builds from what git has, with the
hatchling of this environment.
"""

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
BUILD = "import sys; from hatchling.build import build_sdist, build_wheel; {}(sys.argv[1])"


def checked_out(folder: Path, moment: float) -> Path:
    """The files of the commit in a folder, all with this time."""
    names = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout
    for name in filter(None, names.decode().split("\0")):
        to = folder / name
        to.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, to)
        os.utime(to, (moment, moment))
    return folder


def built(source: Path, out: Path) -> dict[str, str]:
    """The archives of a source tree by name, each with its SHA-256."""
    out.mkdir()
    for function in ("build_sdist", "build_wheel"):
        subprocess.run([sys.executable, "-c", BUILD.format(function), str(out)], cwd=source, check=True)
    return {one.name: hashlib.sha256(one.read_bytes()).hexdigest() for one in sorted(out.iterdir())}


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--out", type=Path, help="a folder for the archives")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory(suffix="-elsewhere") as other:
        first = built(checked_out(Path(one, "a"), time.time() - 10**7), Path(one, "dist"))
        second = built(checked_out(Path(other, "a", "deeper"), time.time()), Path(other, "dist"))
        for name, digest in first.items():
            print(f"{digest}  {name}")
        if first != second:
            different = sorted(name for name in {*first, *second} if first.get(name) != second.get(name))
            print(f"built again, these are not the same bytes: {', '.join(different)}", file=sys.stderr)
            return 1
        if options.out:
            options.out.mkdir(parents=True, exist_ok=True)
            for name in first:
                shutil.copy(Path(one, "dist", name), options.out)
    print("built twice, in different folders and at different times: the same bytes")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
