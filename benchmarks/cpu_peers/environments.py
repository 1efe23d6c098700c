"""Where the peers live: each in a virtual environment of its own, made when it is first needed."""

import json
import subprocess
import sys
from pathlib import Path

DEFAULT = Path.home() / ".cache" / "jumok-benchmarks"
PEERS = {
    "ctranslate2": ["ctranslate2>=4.6,<5", "numpy>=2,<3"],
    "marian": ["pymarian>=1.12.42,<1.13", "numpy>=2,<3"],
    "transformers": ["transformers>=4.50,<6", "torch>=2.11,<2.14", "numpy>=2,<3"],
}


class NoEnvironmentError(Exception):
    """A peer that could not be installed; the text is one line."""


def python_of(name: str, folder: Path) -> Path:
    """The interpreter that has this peer. Our own is the one that runs this."""
    if name not in PEERS:
        return Path(sys.executable)
    there, wanted = folder / name, PEERS[name]
    python = there / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
    known = there / "installed.json"
    if known.exists() and json.loads(known.read_text(encoding="utf-8")) == wanted:
        return python
    print(f"installing {name} in {there}", file=sys.stderr, flush=True)
    there.mkdir(parents=True, exist_ok=True)
    install = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *wanted]
    for command in ([sys.executable, "-m", "venv", "--clear", str(there)], install):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            lines = [line for line in done.stderr.splitlines() if line.startswith("ERROR")]
            raise NoEnvironmentError(f"not installed: {(lines or ['pip failed'])[-1][:160]}")
    known.write_text(json.dumps(wanted), encoding="utf-8")
    return python
