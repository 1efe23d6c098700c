"""Runs the parts of `make test` one after the other, whatever fails, and says at the end what did.

    python3 scripts/run_parts.py setup+web lint+types unit

Each part is a target of the Makefile. Those with a + between them leave a core idle and run side by side.
What a part prints is shown as it comes, of parts side by side when each has ended. The first part is what
those after it need: when it fails, they are not run. At the end stand the time of every part and every
failure; the exit status is 1 if there was one. Needs nothing but Python.
"""

import os
import re
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
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


def show(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()


def run_part(name: str, show: Callable[[str], None] = show) -> PartResult:
    """One target; its output is shown, and the tests that it says have failed are remembered."""
    command = [os.environ.get("MAKE", "make"), "--no-print-directory", name]
    show(f"== {name}\n")
    result, began = PartResult(name), time.monotonic()
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
        assert process.stdout is not None
        for raw in process.stdout:
            line = raw.decode(errors="replace")
            show(line)
            if found := FAILURE.match(line.rstrip()):
                result.failures.append(found[1])
    result.code, result.seconds = process.returncode, time.monotonic() - began
    return result


def run_quietly(name: str) -> PartResult:
    """One of several targets that run side by side: what it said comes when it has ended."""
    said: list[str] = []
    result = run_part(name, said.append)
    show("".join(said))
    return result


def run_parts(groups: list[str]) -> tuple[list[PartResult], float]:
    """What became of every part, and how long all of it took."""
    results: list[PartResult] = []
    began = time.monotonic()
    for group in groups:
        names = group.split("+")
        if results and results[0].code != 0:
            results += map(PartResult, names)
        elif len(names) == 1:
            results.append(run_part(group))
        else:
            with ThreadPoolExecutor(len(names)) as pool:
                results += pool.map(run_quietly, names)
    return results, time.monotonic() - began


def summary(results: list[PartResult], seconds: float) -> str:
    """A line for each part, and under it each of its failures."""
    lines = ["", "== summary"]
    for one in results:
        lines.append(f"{one.verdict:8} {one.seconds:7.1f} s  {one.name}")
        lines += [f"         {failure}" for failure in one.failures[:SHOWN]]
        if (more := len(one.failures) - SHOWN) > 0:
            lines.append(f"         and {more:,} more")
    bad = [one.name for one in results if one.code != 0]
    lines.append(f"{'FAILED' if bad else 'passed':8} {seconds:7.1f} s  {', '.join(bad) or 'all'}")
    return "\n".join(lines)


def main() -> int:
    results, seconds = run_parts(sys.argv[1:])
    print(summary(results, seconds), flush=True)
    return int(any(one.code != 0 for one in results))


if __name__ == "__main__":
    sys.exit(main())
