"""The demo with several seeds, for the tables that say how far its scores move.

    python benchmarks/demo_seeds.py --out runs/demo-seeds > benchmarks/readings/demo.json

Each seed is one `jumok demo`, as anyone would run it; about three minutes each on two idle cores. Run again,
it goes on where it stopped.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path

SEEDS = (42, 1, 2)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--out", type=Path, default=Path("runs/demo-seeds"))
    parser.add_argument("--seeds", type=int, nargs="+", default=SEEDS)
    parser.add_argument("--machine", default="", help="What it ran on, in words.")
    options = parser.parse_args()
    runs = [{"seed": seed, "rows": rows_of(seed, options.out)} for seed in options.seeds]
    about = {
        "command": "jumok demo --seed SEED --json",
        "machine": options.machine,
        "kept": "what the command printed, for each seed",
    }
    print(json.dumps({**about, "runs": runs}, indent=1))


def rows_of(seed: int, out: Path) -> list[dict[str, object]]:
    """The table of the demo with one seed."""
    folder = out / f"seed-{seed}"
    words = [sys.executable, "-m", "jumok", "demo", "--seed", str(seed), "--out", str(folder), "--json"]
    rows: list[dict[str, object]] = json.loads(
        subprocess.run(words, check=True, stdout=subprocess.PIPE).stdout
    )
    return rows


if __name__ == "__main__":
    main()
