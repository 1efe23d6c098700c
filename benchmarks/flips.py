"""Thousands of damaged files: each is refused, told of, or gives what the whole one gives.

    python -m benchmarks.flips --count 5000 --json benchmarks/flips.json
    python -m benchmarks.flips --count 200 --only trace --only log

A random bit is flipped, the end cut off or a stretch zeroed, in a random file of every kind that jumok reads
back (tests/flips.py). `refused`: an error of ours, or the reader leaves it out; `warned`: the same result,
and it is told of; `same`: nothing that is used was hit. All else is a fault: another result without a word, a
traceback, or a process that dies. Kinds that take long to read get fewer. Exit status 1 if there is a fault.
"""

import argparse
import json
import os
import platform
import random
import tempfile
import time
import traceback
from collections import Counter
from pathlib import Path
from typing import Any

import torch
from tests.flips import FileKind, all_kinds, damage, outcome, outcome_of_whole

GOOD = ("refused", "warned", "same")
SLOW = {"run": 0.15, "prepared text": 0.5, "prepared pictures": 0.5, "model in torch": 0.5}


def tried(kind: FileKind, count: int, seed: int, work: Path) -> dict[str, Any]:
    """What became of each damage, in a process of its own; should it die, where it was."""
    here = work / "now"
    here.write_text("whole")
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        try:
            with os.fdopen(writing, "w") as out:
                json.dump(attempts(kind, count, seed, work, here), out)
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as told:
        text = told.read()
    _, status = os.waitpid(child, 0)
    if status or not text:
        return {"outcomes": {"died": 1}, "faults": [f"{kind.name}: {here.read_text()}: status {status}"]}
    found: dict[str, Any] = json.loads(text)
    return found


def attempts(kind: FileKind, count: int, seed: int, work: Path, here: Path) -> dict[str, Any]:
    draw, outcomes, faults = random.Random(f"{seed} {kind.name}"), Counter[str](), []
    whole = outcome_of_whole(kind, work)
    for _ in range(count):
        change = damage(kind, draw)
        here.write_text(f"{change.file}: {change.what}")
        became = outcome(kind, whole, change, work)
        outcomes[became.split()[0]] += 1
        if became not in GOOD:
            faults.append(f"{kind.name}: {change.file}: {change.what}: {became[:300]}")
    return {"outcomes": outcomes, "faults": faults}


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--count", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", action="append", help="a kind of file; may be given several times")
    parser.add_argument("--json", type=Path, help="where the reading goes")
    options = parser.parse_args()
    torch.set_num_threads(1)
    began, result, faults = time.monotonic(), {}, list[str]()
    with tempfile.TemporaryDirectory(prefix="flips-") as root:
        kinds = [one for one in all_kinds(Path(root)) if not options.only or one.name in options.only]
        shares = {kind.name: SLOW.get(kind.name, 1.0) for kind in kinds}
        for kind in kinds:
            (work := Path(root, f"work of {kind.name}")).mkdir()
            count = round(options.count * shares[kind.name] / sum(shares.values()))
            found = tried(kind, count, options.seed, work)
            result[kind.name] = dict(sorted(found["outcomes"].items()))
            faults += found["faults"]
            print(f"{kind.name:24} {result[kind.name]}", flush=True)
            for fault in found["faults"][:5]:
                print(f"  {fault}", flush=True)
    reading = {
        "damaged": sum(sum(one.values()) for one in result.values()),
        "faults": faults,
        "kinds": result,
        "seed": options.seed,
        "seconds": round(time.monotonic() - began),
        "versions": {"torch": str(torch.__version__), "python": platform.python_version()},
    }
    if options.json:
        options.json.write_text(json.dumps(reading, indent=1) + "\n")
    print(f"{reading['damaged']} damaged, {len(faults)} faults")
    return bool(faults)


if __name__ == "__main__":
    raise SystemExit(main())
