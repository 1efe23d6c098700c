"""Runs the parts of `make test` one after the other, whatever fails, and says at the end what did.

    python3 scripts/run_parts.py setup lint unit

Each part is a target of the Makefile. What it prints is shown as it comes. The first part is what the others
need: when it fails, they are not run. At the end stand the time of every part and every failure; the exit
status is 1 if there was one. Needs nothing but Python.
"""

import os
import re
import subprocess
import sys
import time
from dataclasses import dataclass, field

FAILURE = re.compile(r"(?:FAILED|ERROR) (\S.*?)(?: - .*)?$")
"""How pytest's short summary names a test that failed."""
SHOWN = 200  # failures of one part


@dataclass
class PartResult:
    """How one part went."""

    name: str
    code: int | None = None
    """None: it was not run."""
    seconds: float = 0.0
    failures: list[str] = field(default_factory=list)

    @property
    def verdict(self) -> str:
        match self.code:
            case None:
                return "not run"
            case 0:
                return "passed"
            case _:
                return "FAILED"


def run_part(name: str) -> PartResult:
    """One target; its output goes to ours, and the tests that it says have failed are remembered."""
    command = [os.environ.get("MAKE", "make"), "--no-print-directory", name]
    print(f"== {name}", flush=True)
    result, began = PartResult(name), time.monotonic()
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
        assert process.stdout is not None
        for raw in process.stdout:
            line = raw.decode(errors="replace")
            sys.stdout.write(line)
            sys.stdout.flush()
            if found := FAILURE.match(line.rstrip()):
                result.failures.append(found[1])
    result.code, result.seconds = process.returncode, time.monotonic() - began
    return result


def run_parts(names: list[str]) -> list[PartResult]:
    results: list[PartResult] = []
    for name in names:
        ready = not results or results[0].code == 0
        results.append(run_part(name) if ready else PartResult(name))
    return results


def summary(results: list[PartResult]) -> str:
    """A line for each part, and under it each of its failures."""
    lines = ["", "== summary"]
    for one in results:
        lines.append(f"{one.verdict:8} {one.seconds:7.1f} s  {one.name}")
        lines += [f"         {failure}" for failure in one.failures[:SHOWN]]
        if (more := len(one.failures) - SHOWN) > 0:
            lines.append(f"         and {more:,} more")
    bad = [one.name for one in results if one.code != 0]
    total = sum(one.seconds for one in results)
    lines.append(f"{'FAILED' if bad else 'passed':8} {total:7.1f} s  {', '.join(bad) or 'all'}")
    return "\n".join(lines)


def main() -> int:
    results = run_parts(sys.argv[1:])
    print(summary(results), flush=True)
    return int(any(one.code != 0 for one in results))


if __name__ == "__main__":
    sys.exit(main())
