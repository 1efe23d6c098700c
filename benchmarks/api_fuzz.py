"""The OpenAPI document against a real server at full size: schemathesis with all phases and checks.

    python benchmarks/api_fuzz.py                        100 examples for each operation, ten minutes at most
    python benchmarks/api_fuzz.py --examples 1000 --minutes 60

The checks are schemathesis' own; three of them go through `tests/server/fuzzing.py`, which lists what the
document cannot say. Streams of runs are left out: they never end.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]

REPLACED = "positive_data_acceptance,negative_data_rejection,unsupported_method"


def main() -> int:
    parser = argparse.ArgumentParser(description="Fuzzes a real server by its OpenAPI document.")
    parser.add_argument("--examples", type=int, default=100)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--seed", type=int, default=5)
    arguments = parser.parse_args()
    command = [sys.executable, "-m", "jumok", "serve", "--port", "0", "--json"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        address = json.loads(server.stdout.readline())["address"]
        words = f"--checks all --exclude-checks {REPLACED} --exclude-path-regex events --no-color"
        words += f" --max-examples {arguments.examples} --max-time {60 * arguments.minutes:.0f}"
        words += f" --seed {arguments.seed} --continue-on-failure --suppress-health-check all"
        words += " --request-timeout 60 --generation-database none --warnings off"
        hooks = {"SCHEMATHESIS_HOOKS": "benchmarks.api_fuzz", "PYTHONPATH": str(ROOT)}
        run = [sys.executable, "-m", "schemathesis.cli", "run", f"{address}openapi.json", *words.split()]
        with tempfile.TemporaryDirectory() as folder:  # schemathesis leaves notes where it runs
            return subprocess.run(run, cwd=folder, env={**os.environ, **hooks}, check=False).returncode
    finally:
        server.terminate()
        server.wait()


if __name__ == "__main__":
    sys.exit(main())
else:  # schemathesis reads this file for its checks
    import schemathesis
    from tests.server.fuzzing import accepted_or_explained, other_methods_are_refused, wrong_ones_are_refused

    schemathesis.check(accepted_or_explained)
    schemathesis.check(wrong_ones_are_refused)
    schemathesis.check(other_methods_are_refused)
