"""What a plain install takes: room on disk, time to install, to the first translation and to a ready server.

    python benchmarks/everywhere.py --wheel WHEEL --json benchmarks/readings/everywhere.json

Makes an empty environment, installs the wheel into it as pip is set up here, and asks it. Times are the best
of several, on the clock and of the processor: others may use the machine.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path
from typing import Any

TEXT = "5. März 2024"


def size_of(folder: Path) -> int:
    return sum(file.lstat().st_size for file in folder.rglob("*") if file.is_file())


def installed(wheel: Path, folder: Path) -> dict[str, Any]:
    """An environment with the wheel: seconds, and bytes of each package above a megabyte."""
    venv.create(folder, with_pip=True)
    [packages] = folder.glob("lib/python*/site-packages")
    before = {one.name for one in packages.iterdir()}
    began = time.monotonic()
    pip = [folder / "bin" / "python", "-m", "pip", "install", "--quiet", "--no-compile", str(wheel)]
    subprocess.run(pip, check=True)
    seconds = time.monotonic() - began
    sizes = {one.name: size_of(one) for one in packages.iterdir() if one.name not in before}
    large = {name: size for name, size in sizes.items() if size > 10**6}
    largest = dict(sorted(large.items(), key=lambda item: -item[1]))
    torch = (packages / "torch").exists()
    return {"seconds": seconds, "bytes": sum(sizes.values()), "largest": largest, "torch": torch}


def first_translation(python: Path) -> float:
    """Seconds of a whole process that translates one sentence."""
    began = time.monotonic()
    command = [python, "-m", "jumok", "translate", "-m", "demo/transformer", TEXT]
    said = subprocess.run(command, check=True, capture_output=True, text=True, env=environment()).stdout
    assert said.strip() == "2024-03-05", said
    return time.monotonic() - began


def ready_server(python: Path) -> float:
    """Seconds from the start of the process until the server answers, as it says itself."""
    command = [python, "-m", "jumok", "serve", "--port", "0", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment()) as server:
        assert server.stdout is not None
        seconds: float = json.loads(server.stdout.readline())["ready_s"]
        server.terminate()  # what it computes until it has gone counts as processor time, too
    return seconds


def processor_time() -> float:
    """Seconds that the processes started here have computed, up to now."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def environment() -> dict[str, str]:
    """As a user has it: the installed package, which Python compiles once and keeps."""
    ours = ("PYTHONPATH", "PYTHONDONTWRITEBYTECODE")
    return {name: value for name, value in os.environ.items() if name not in ours}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--wheel", type=Path, help="install this; without it only the times, of this Python")
    parser.add_argument("--repeat", type=int, default=5, help="times that each time is taken")
    parser.add_argument("--json", type=Path, help="write the readings here")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found: dict[str, Any] = {}
        python = Path(sys.executable)
        if options.wheel:
            found["install"] = installed(options.wheel.resolve(), Path(folder) / "light")
            python = Path(folder) / "light" / "bin" / "python"
        first_translation(python)  # compiles the bytecode
        ready_server(python)
        for name, work in {"first_translation": first_translation, "ready": ready_server}.items():
            begun, times = processor_time(), [work(python) for _ in range(options.repeat)]
            used = (processor_time() - begun) / options.repeat
            found[name] = {"seconds": min(times), "processor_s": used}
    if options.wheel:
        install = found["install"]
        print(f"install            {install['seconds']:.0f} s, {install['bytes'] / 1e6:.0f} MB")
        for name, size in install["largest"].items():
            print(f"  {name:<16} {size / 1e6:.1f} MB")
    for name in ("first_translation", "ready"):
        one = found[name]
        print(f"{name:<18} {one['seconds']:.2f} s, {one['processor_s']:.2f} s of the processor")
    if options.json:
        options.json.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
