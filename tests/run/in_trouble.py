"""A program that preloads faults.c: a tiny training in each kind of trouble, then resumed.

Prints a JSON object: of each kind the error and its code, what was seen of the clock, losses and weights.
"""

import json
import sys
import time
from pathlib import Path
from typing import Any

from jumok.errors import Error
from jumok.run.train import RunCallbacks, RunRequest, run
from tests.run.conftest import quick_settings, write_corpus
from tests.run.faults import Faults
from tests.run.test_resume import last_weights, losses

TROUBLES: dict[str, dict[str, Any]] = {
    "none": {},
    "full": {"free": 3_000},
    "read-only": {"read_only": True},
    "slow": {"delay_us": 500},
    "set back": {"set_back_s": 10**9},
}


def train(faults: Faults, out: Path, corpus: Path, trouble: dict[str, Any]) -> str | None:
    """Train with trouble from the second step on; the error that it ends with, if any."""

    def arm(event: Any) -> None:
        if event["type"] == "train" and event["step"] == 2:
            faults.set(**trouble)

    settings = quick_settings(corpus) | {"training.max_steps": 9, "training.time_limit": 3600.0}
    try:
        run(RunRequest(given=settings, out=out, device="cpu"), RunCallbacks(on_event=arm))
    except Error as error:
        return f"{error.code}: {error}"
    return None


def main() -> None:
    folder, given = Path(sys.argv[1]), Path(sys.argv[2])
    faults, corpus, told = Faults(given), write_corpus(folder), {}
    for name, trouble in TROUBLES.items():
        out = folder / name
        faults.set()
        began = time.time()
        error = train(faults, out, corpus, trouble)
        passed = time.time() - began
        faults.set()
        again = train(faults, out, corpus, {})
        told[name] = {"error": error, "again": again, "passed_s": passed}
        told[name] |= {"losses": losses(out), "weights": last_weights(out)}
        told[name]["left"] = [
            one.name for one in out.rglob("*") if ".tmp-" in one.name or "trash" in one.name
        ]
    print(json.dumps(told))


if __name__ == "__main__":
    main()
