"""A copy of the tree in which mutants live, one at a time, and a process that runs tests there."""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mutants.places import Mutant

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = "src/jumok"


class Job:
    """A process in a copy of the tree that has the libraries loaded and forks for each mutant."""

    def __init__(self, folder: Path, number: int, modules: Sequence[str]) -> None:
        self.copy = folder / f"copy-{number}"
        copy_tree(self.copy)
        self.trusted: set[str] = set()
        (folder / "modules.json").write_text(json.dumps(list(modules)))
        words = [sys.executable, str(ROOT / "scripts/mutants/fork.py"), str(folder / "modules.json")]
        self.process = subprocess.Popen(
            words,
            cwd=self.copy,
            env=environment(self.copy),
            text=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )

    def try_out(self, mutant: Mutant, source: str, order: dict[str, Any]) -> dict[str, Any]:
        """What the tests say to a mutant: a "result" ("killed", "survived" …) and the test that said so.

        A test counts only if it passes without the mutant.
        """
        path = self.copy / mutant.file
        try:
            write(path, mutant.apply(source))
            answer = self.ask(order)
        finally:
            write(path, source)
        killer = answer["by"]
        if killer and killer not in self.trusted:
            if self.ask(order | {"tests": [killer]})["result"] != "survived":
                return answer | {"result": "broken"}
            self.trusted.add(killer)
        return answer

    def ask(self, order: dict[str, Any]) -> dict[str, Any]:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps(order) + "\n")
        self.process.stdin.flush()
        return dict(json.loads(self.process.stdout.readline()))

    def close(self) -> None:
        self.process.communicate()


def write(path: Path, text: str) -> None:
    """A new file in place of the old, without bytecode: times of files are too coarse to tell them apart."""
    path.unlink()
    path.write_text(text, encoding="utf-8")
    for old in (path.parent / "__pycache__").glob(f"{path.stem}.*.pyc"):
        old.unlink()


def copy_tree(copy: Path) -> None:
    """What git knows, untracked files too, and the compiled C library."""
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard", "-z"], cwd=ROOT, capture_output=True, check=False
    ).stdout
    names = [name for name in listed.decode().split("\0") if name]
    if not names:  # no git here: all but what is ignored anyway
        folders = ("src", "tests", "scripts", "docs", "benchmarks", "recipes", "web")
        names = [
            str(path.relative_to(ROOT))
            for one in folders
            for path in (ROOT / one).rglob("*")
            if path.is_file()
        ]
        names += [path.name for path in ROOT.iterdir() if path.is_file()]
    names += [str(path.relative_to(ROOT)) for path in (ROOT / PACKAGE / "native").glob("libjumok*")]
    for name in names:
        source, to = ROOT / name, copy / name
        if "__pycache__" in name or "node_modules" in name or not source.is_file():
            continue
        if not to.exists() or to.read_bytes() != source.read_bytes():
            to.parent.mkdir(parents=True, exist_ok=True)
            to.unlink(missing_ok=True)
            to.write_bytes(source.read_bytes())
            to.chmod(source.stat().st_mode)


def environment(tree: Path) -> dict[str, str]:
    """One thread, Hypothesis's examples always the same, Triton's interpreter, the package of this tree."""
    path = os.pathsep.join(filter(None, [str(tree / "src"), os.environ.get("PYTHONPATH", "")]))
    return os.environ | {"OMP_NUM_THREADS": "1", "CI": "1", "TRITON_INTERPRET": "1", "PYTHONPATH": path}
