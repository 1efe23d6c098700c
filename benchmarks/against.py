"""This tree against another checkout of jumok: the same benchmark in both, turn by turn, as a ratio.

    git worktree add ../before v0.1.0
    python benchmarks/against.py ../before gpu_training -- --model both --only packed
    python benchmarks/against.py ../before gpu_decoding -- --only ours
    python benchmarks/against.py ../before cpu_training -- --only ours --data DATA --rounds 1

Each turn is a process of its own that runs the tree's own script with `--json`. The ratio is between the
medians of the turns, this tree's over the other's, for every row that has the figure in both.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median
from typing import Any

HERE = Path(__file__).resolve().parent.parent
FIGURES = ("tokens_per_second", "sentences_per_second")
Figures = dict[str, float]


def turn(tree: Path, script: str, options: list[str]) -> Figures:
    """What the tree's own script says of each of its rows."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "rows.json"
        command = [sys.executable, f"benchmarks/{script}.py", *options, "--json", str(out)]
        environment = os.environ | {"PYTHONPATH": str(tree / "src")}
        done = subprocess.run(command, cwd=tree, env=environment, capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"{tree}: {' '.join(command)} failed\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}")
        rows = json.loads(out.read_text())
    rows = rows if isinstance(rows, list) else rows["rows"]
    return {label(row): figure for row in rows if (figure := figure_of(row))}


def label(row: dict[str, Any]) -> str:
    return " ".join(str(row[key]) for key in ("model", "name") if row.get(key))


def figure_of(row: dict[str, Any]) -> float:
    if readings := row.get("readings"):
        return float(sum(one["tokens"] for one in readings) / sum(one["seconds"] for one in readings))
    for name in FIGURES:
        if isinstance(value := row.get(name), int | float) and value:
            return float(value)
    return 0.0


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("other", type=Path, help="another checkout, with its own benchmarks/")
    parser.add_argument("script", help="a file of benchmarks/, without .py")
    parser.add_argument("--turns", type=int, default=3, help="of each tree")
    cut = sys.argv.index("--") if "--" in sys.argv else len(sys.argv)
    given, options = parser.parse_args(sys.argv[1:cut]), sys.argv[cut + 1 :]  # these are the script's
    trees = {"this": HERE, "other": given.other.resolve()}
    found: dict[str, list[Figures]] = {name: [] for name in trees}
    for number in range(given.turns):
        for name in trees if number % 2 else reversed(trees):
            found[name].append(turn(trees[name], given.script, options))
            print(f"turn {number + 1}, {name}: {found[name][-1]}", flush=True)
    for row in found["this"][0]:
        this, other = (median(one[row] for one in found[name] if row in one) for name in ("this", "other"))
        print(f"{row}: {this:,.0f} against {other:,.0f} = {this / other:.3f} x")


if __name__ == "__main__":
    main()
