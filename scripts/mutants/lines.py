"""Runs a room of tests under `coverage` and notes which test runs which line of the package.

lines.py tests/nn map/nn.json 40 4      # tests kept for a line: of this room's modules, of others
"""

import json
import sys
from collections import defaultdict
from pathlib import Path

import pytest

try:
    from coverage import Coverage
except ImportError:
    sys.exit("a map of tests and lines needs coverage: pip install coverage")

STANDARD = set(sys.stdlib_module_names) | {
    "jumok",
    "tests",
    "hypothesis",  # its plugin must be first to open its storage
    "coverage",
    "triton",
    "conftest",
    "_pytest",
    "pytest",
}


class Watch:
    """Tells `coverage` which test is running, and how long each took."""

    def __init__(self, coverage: Coverage) -> None:
        self.coverage = coverage
        self.seconds: dict[str, float] = defaultdict(float)
        self.failed: set[str] = set()

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item):  # type: ignore[no-untyped-def]  # noqa: ANN201
        self.coverage.switch_context(item.nodeid)
        result = yield
        self.coverage.switch_context("")
        return result

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.seconds[report.nodeid] += report.duration
        if report.failed:
            self.failed.add(report.nodeid)


def few(names: list[str], most: int, seconds: dict[str, float]) -> list[str]:
    """At most so many of them: each function once before any twice, the fastest first."""
    times: dict[str, int] = defaultdict(int)
    ranked = []
    for name in sorted(names, key=lambda name: seconds[name]):
        function = name.split("[")[0]
        ranked.append((times[function], seconds[name], name))
        times[function] += 1
    return [name for _, _, name in sorted(ranked)[:most]]


def main(room: str, to: str, own: str, other: str) -> None:
    coverage = Coverage(data_file=None, source=["src/jumok"], messages=False)
    coverage.start()
    watch = Watch(coverage)
    off = ["-p", "no:randomly", "-p", "no:cacheprovider", "-p", "no:xdist"]
    pytest.main(["-q", "-m", "not slow and not gpu", *off, room], plugins=[watch])
    coverage.stop()
    data = coverage.get_data()
    names = [name for name in watch.seconds if name not in watch.failed]
    index = {name: place for place, name in enumerate(names)}
    lines: dict[str, dict[int, list[int]]] = {}
    root = Path.cwd()
    for path in data.measured_files():
        file = Path(path).relative_to(root).as_posix()
        most = int(own) if file.startswith(room.replace("tests/", "src/jumok/", 1)) else int(other)
        found = lines[file] = {}
        for line, tests in data.contexts_by_lineno(path).items():
            chosen = few([name for name in tests if name in index], most, watch.seconds)
            if chosen:
                found[line] = [index[name] for name in chosen]
    libraries = sorted(
        name for name in sys.modules if name.split(".")[0] not in STANDARD and "_pytest" not in name
    )
    document = {
        "tests": [(name, watch.seconds[name]) for name in names],
        "lines": lines,
        "modules": libraries,
    }
    Path(to).write_text(json.dumps(document))


if __name__ == "__main__":
    main(*sys.argv[1:])
