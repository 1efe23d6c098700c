"""Loads the libraries once, then forks for each mutant and runs the tests that are asked for in the child.

It speaks JSON lines: {"tests": […], "first": [names], "slow": …, "cpu": seconds} in, {"result": …} out.
"""

import importlib
import inspect
import json
import os
import resource
import signal
import sys
import time
import traceback
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import Phase, settings

WALL = 240  # seconds: tests that wait for each other
BROKEN = 3  # the exit code of our own mistakes, and of pytest's
MEMORY = 16 * 2**30  # bytes of addresses, of which torch alone takes several GB


class Chosen:
    """Runs these tests in this order and notes the first that fails.

    A whole file runs all of its tests, the slow ones only if asked to; those first that name what the mutant
    belongs to.
    """

    def __init__(self, order: Mapping[str, Any], note: Path) -> None:
        self.place = {name: place for place, name in enumerate(order["tests"])}
        self.first, self.slow, self.note = order["first"], order["slow"], note

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection(self) -> None:
        """No shrinking: that a law breaks is all that is asked."""
        settings.register_profile(
            "mutants", settings.get_profile("jumok"), phases=[Phase.explicit, Phase.generate]
        )
        settings.load_profile("mutants")

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        kept = []
        for item in items:
            file = item.nodeid.split("::")[0]
            if item.nodeid in self.place:
                kept.append((self.place[item.nodeid], 0, item))
            elif file in self.place and (self.slow or not item.get_closest_marker("slow")):
                kept.append((self.place[file], self.far(item), item))
        items[:] = [item for _, _, item in sorted(kept, key=lambda one: one[:2])]

    def far(self, item: pytest.Item) -> int:
        """0 for a test that names the function of the mutant, 1 for one that names its class, and so on."""
        code = inspect.getsource(item.obj) if isinstance(item, pytest.Function) else ""
        found = [place for place, name in enumerate(self.first) if name in code]
        return found[0] if found else len(self.first)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.note.write_text(report.nodeid)


def child(order: Mapping[str, Any], note: Path) -> int:
    """Runs the tests; 0 when all pass."""
    log = os.open("mutant.log", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    for stream in (1, 2):
        os.dup2(log, stream)
    files = list(dict.fromkeys(name.split("::")[0] for name in order["tests"]))
    off = ["-p", "no:randomly", "-p", "no:cacheprovider", "-p", "no:xdist"]
    off += ["-W", "ignore::pytest.PytestAssertRewriteWarning"]  # of plugins that are loaded already
    return int(pytest.main(["-q", "-x", *off, *files], plugins=[Chosen(order, note)]))


def answer(order: Mapping[str, Any]) -> dict[str, object]:
    began, note = time.monotonic(), Path("mutant.killer").absolute()
    note.unlink(missing_ok=True)
    process = os.fork()
    if process == 0:
        os.setsid()
        cpu = int(order["cpu"])
        resource.setrlimit(resource.RLIMIT_CPU, (cpu, cpu + 5))
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        code = BROKEN
        try:
            code = child(order, note)
        except BaseException:
            traceback.print_exc()
        os._exit(code)
    status = None
    while status is None and time.monotonic() - began < WALL:
        ended, found = os.waitpid(process, os.WNOHANG)
        status = found if ended else None
        time.sleep(0.02)
    with suppress(ProcessLookupError):
        os.killpg(process, signal.SIGKILL)
    if status is None:
        os.waitpid(process, 0)
    by = note.read_text() if note.exists() else None
    return {
        "result": result(status, by),
        "by": by,
        "status": status,
        "seconds": round(time.monotonic() - began, 2),
    }


def result(status: int | None, by: str | None) -> str:
    """In one word. A module that cannot be imported is killed, too: pytest says 2, or 4 for a conftest.py."""
    if by is None and (status is None or (os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGXCPU)):
        return "timeout"
    if by is not None or status is None or os.WIFSIGNALED(status):
        return "killed"
    return {0: "survived", 1: "killed", 2: "killed", 4: "killed", 5: "untested"}.get(
        os.WEXITSTATUS(status), "broken"
    )


def main() -> None:
    for name in json.loads(Path(sys.argv[1]).read_text()):
        with suppress(Exception):
            importlib.import_module(name)
    assert not any(name == "jumok" or name.startswith("jumok.") for name in sys.modules)
    for line in sys.stdin:
        print(json.dumps(answer(json.loads(line))), flush=True)


if __name__ == "__main__":
    main()
