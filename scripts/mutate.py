"""Changes the package in one small place at a time and asks whether a test notices.

    mutate.py run [FILE …] --least 3   tries a sample of the mutants; what has a result is not tried again
    mutate.py run [FILE …] --draw 100  tries a hundred, each as likely as any other: an estimate of the score
    mutate.py show                     how many were killed, room by room, and the diffs of those that lived
    mutate.py map [ROOM …]             which test runs which line, a room at a time (pip install coverage)

A room is a folder of tests/. The sample depends on the seed and on the file alone, and a larger one contains
the smaller. With a map a mutant meets the tests that run its line: those of its module's own test file, then
those of its room, then others, the fastest first. Without one it meets its module's own test file, then
others that import the module. Tests that name the changed function come first, slow ones are left out; a test
counts only if it passes without the mutant. Every job works in a copy of the tree; yours is never touched.
Mutants that cannot change behaviour stand in equivalent_mutants.toml, each with the reason.
"""

import argparse
import json
import re
import subprocess
import sys
import time
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from itertools import islice, zip_longest
from pathlib import Path
from queue import Empty, Queue
from random import Random
from typing import Any, Protocol

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "scripts"))

from mutants.job import PACKAGE, Job, environment  # noqa: E402
from mutants.places import Mutant, mutants_of, names_at, parses  # noqa: E402

OWN, OTHER = 40, 4  # tests that the map keeps for a line: of its own room, of each other
ALIVE = ("survived", "untested", "broken")  # "broken": its killer fails without it, too
MOST_TESTS, MOST_SECONDS = 60, 30.0  # that one mutant meets
LIBRARIES = {
    *(
        "torch",
        "torch._dynamo",
        "torch.distributed.fsdp",
        "torch.utils.tensorboard",
        "numpy",
        "hypothesis.extra.numpy",
    ),
    *(
        "pydantic",
        "tokenizers",
        "safetensors.torch",
        "sacrebleu",
        "PIL.Image",
        "click",
        "psutil",
        "jsonschema_rs",
    ),
    *("fastapi", "uvicorn", "httpx2", "prometheus_client", "onnxruntime", "ctranslate2", "sentencepiece"),
}  # what most tests load, for runs without a map


class Arguments(Protocol):
    """The words of the command line."""

    rooms: list[str]
    files: list[str]
    folder: Path
    seed: int
    draw: int
    share: float
    least: int
    jobs: int
    minutes: float
    again: bool
    survivors: bool
    only: str | None
    others: int
    slow: bool


class Map:
    """Which tests run which line, and how long each takes; one JSON file for each room of tests."""

    def __init__(self, folder: Path) -> None:
        self.rooms = {path.stem: json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))}
        for room in self.rooms.values():
            room["times"] = dict(room["tests"])
        self.modules = sorted({name for room in self.rooms.values() for name in room["modules"]} | LIBRARIES)

    def tests(self, file: str, lines: Iterable[int]) -> dict[str, float]:
        """The tests that run one of these lines of a file of the package, with their seconds."""
        found = {}
        for room in self.rooms.values():
            by_line = room["lines"].get(file, {})
            for index in {index for line in lines for index in by_line.get(str(line), ())}:
                name, seconds = room["tests"][index]
                found[name] = seconds
        return found

    def seconds(self, name: str) -> float:
        """How long a test takes, as measured for the map; a whole file counts as ten seconds."""
        return next(
            (float(room["times"][name]) for room in self.rooms.values() if name in room["times"]), 10.0
        )


def own_tests(file: str) -> str:
    """The module's own test file: src/jumok/nn/loss.py → tests/nn/test_loss.py."""
    inside = Path(file).relative_to(PACKAGE)
    return (Path("tests") / inside.with_name(f"test_{inside.name}")).as_posix()


def order(file: str, tests: dict[str, float]) -> list[str]:
    """The tests that a mutant meets, in this order: nearest first, each function once, then the fastest."""
    own, room = own_tests(file), Path(own_tests(file)).parent.as_posix() + "/"
    times: Counter[str] = Counter()

    def nearness(name: str) -> int:
        return 0 if name.startswith(own + "::") else 1 if name.startswith(room) else 2

    ranked = []
    for name in sorted(tests, key=lambda name: (nearness(name), tests[name])):
        function = name.split("[")[0]
        ranked.append((nearness(name), times[function], tests[name], name))
        times[function] += 1
    chosen: list[str] = []
    seconds = 0.0
    for _, _, cost, name in sorted(ranked):
        if len(chosen) < MOST_TESTS and (not chosen or seconds + cost < MOST_SECONDS):
            chosen.append(name)
            seconds += cost
    return chosen


def tests_of(mutant: Mutant, known: Map, sources: dict[str, str], others: int) -> list[str]:
    """What a mutant meets: tests that run its line; without a map of it, test files that import its module.

    Only importing runs a constant's line: those are then the tests of the lines that name it.
    """
    found = known.tests(mutant.file, range(mutant.line, mutant.last + 1))
    if not found and known.rooms:
        for name in names_at(sources[mutant.file], mutant.line)[:1]:
            for file, text in sources.items():
                if name in text:
                    found |= known.tests(
                        file, [n for n, line in enumerate(text.splitlines(), 1) if name in line]
                    )
    own = own_tests(mutant.file)
    chosen = order(mutant.file, found)
    if any(name.startswith(f"{own}::") for name in chosen):
        return chosen
    return [*([own] if (ROOT / own).exists() else ()), *(chosen or importers(mutant.file)[:others])]


def importers(file: str) -> list[str]:
    """Other test files that import a module, those of its room first, the shortest first."""
    module = file.removeprefix("src/").removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    package, _, name = module.rpartition(".")
    pattern = re.compile(
        rf"^\s*(from {module} import|import {module}\b|from {package} import .*\b{name}\b)", re.M
    )
    own, room = own_tests(file), Path(own_tests(file)).parent
    found = []
    for path in (ROOT / "tests").rglob("test_*.py"):
        if "browser" not in path.parts and pattern.search(text := path.read_text(encoding="utf-8")):
            where = path.relative_to(ROOT)
            found.append((where.parent != room, len(text), where.as_posix()))
    return [where for _, _, where in sorted(found) if where != own]


def sample(file: str, source: str, seed: int, share: float, least: int) -> list[Mutant]:
    """The first mutants of a file in an order that the seed decides."""
    found = mutants_of(file, source)
    Random(f"{seed}:{file}").shuffle(found)
    most = max(least, round(share * len(found)))
    return list(islice((mutant for mutant in found if parses(mutant, source)), most))


def draw(chosen: Iterable[str], sources: dict[str, str], seed: int, number: int) -> list[Mutant]:
    """The first of all mutants of these files in an order that the seed decides; a long file has more."""
    found = [mutant for file in sorted(chosen) for mutant in mutants_of(file, sources[file])]
    Random(seed).shuffle(found)
    return list(islice((mutant for mutant in found if parses(mutant, sources[mutant.file])), number))


def equivalents() -> dict[str, str]:
    """What cannot change behaviour, and why."""
    listed = tomllib.loads((ROOT / "scripts" / "equivalent_mutants.toml").read_text(encoding="utf-8"))
    return {f"{one['file']}: {one['old']} → {one['new']}": one["reason"] for one in listed.get("mutant", ())}


def make_map(args: Arguments) -> None:
    """Runs rooms of tests under `coverage`, each in its own process; a room that has a map is left out."""
    folder = args.folder / "map"
    folder.mkdir(parents=True, exist_ok=True)
    rooms = args.rooms or [
        *sorted(path.name for path in (ROOT / "tests").iterdir() if any(path.rglob("test_*.py"))),
        *sorted(path.name for path in (ROOT / "tests").glob("test_*.py")),
    ]
    for room in rooms:
        to = folder / f"{room.removesuffix('.py')}.json"
        if (to.exists() and not args.again) or room in ("browser", "fixtures"):
            continue
        began = time.monotonic()
        words = [
            sys.executable,
            str(ROOT / "scripts/mutants/lines.py"),
            f"tests/{room}",
            str(to),
            str(OWN),
            str(OTHER),
        ]
        subprocess.run(words, cwd=ROOT, env=environment(ROOT), check=False)
        print(f"{room}: {time.monotonic() - began:.0f} s", flush=True)


def planned(args: Arguments, sources: dict[str, str]) -> list[Mutant]:
    """What was asked for, without what has a result already and what cannot be told apart.

    Of a sample, the first of every file comes before any file's second: a run that is stopped tried one, too.
    """
    last = {one["key"]: one for one in results(args.folder)}
    asked = [file if file.startswith("src/") else f"{PACKAGE}/{file}" for file in args.files]
    chosen = [file for file in sources if not asked or any(file.startswith(one) for one in asked)]
    if args.survivors:
        alive = {key: one["file"] for key, one in last.items() if one["result"] in ALIVE}
        found = [
            mutant
            for file in chosen
            if file in alive.values()
            for mutant in mutants_of(file, sources[file])
            if mutant.key(sources[file]) in alive
        ]
    elif args.draw:
        found = draw(chosen, sources, args.seed, args.draw)
    else:
        Random(args.seed).shuffle(chosen)
        samples = [sample(file, sources[file], args.seed, args.share, args.least) for file in chosen]
        found = [one for rank in zip_longest(*samples) for one in rank if one is not None]
    left_out = equivalents().keys() | (set() if args.again or args.survivors else last.keys())
    keyed = {mutant.key(sources[mutant.file]): mutant for mutant in found}
    return [one for key, one in keyed.items() if key not in left_out and (args.only or "") in key]


def results(folder: Path) -> list[dict[str, Any]]:
    """What was found, the last word on each mutant; those whose line is no longer there are left out."""
    path = folder / "results.jsonl"
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    last = {one["key"]: one for one in map(json.loads, lines)}
    bare = {file: " ".join(text.split()) for file, text in package().items()}
    return [one for key, one in last.items() if before(key) in bare.get(one["file"], "")]


def before(key: str) -> str:
    """The lines of a mutant as they stand in the tree."""
    return key.partition(": ")[2].partition(" → ")[0]


def package() -> dict[str, str]:
    """Every module by its path in the tree; what is made by a program is left out."""
    paths = sorted((ROOT / PACKAGE).rglob("*.py"))
    return {path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for path in paths}


def run(args: Arguments) -> None:
    """Tries what is planned, a line of results.jsonl for each."""
    sources, known = package(), Map(args.folder / "map")
    todo: Queue[Mutant] = Queue()
    for mutant in planned(args, sources):
        todo.put(mutant)
    print(f"{todo.qsize()} mutants to try, {args.jobs} at a time", flush=True)
    until = time.monotonic() + args.minutes * 60

    def work(number: int) -> None:
        job = Job(args.folder, number, known.modules)
        while time.monotonic() < until:
            try:
                mutant = todo.get_nowait()
            except Empty:
                break
            source, tests = sources[mutant.file], tests_of(mutant, known, sources, args.others)
            key, first = mutant.key(source), names_at(source, mutant.line)
            costs = 30 + 5 * sum(known.seconds(name) for name in tests)
            answer = job.try_out(
                mutant, source, {"tests": tests, "first": first, "slow": args.slow, "cpu": costs}
            )
            row = {"key": key, "file": mutant.file, "line": mutant.line, "kind": mutant.kind, **answer}
            row |= {"tests": len(tests), "diff": mutant.diff(source)}
            with (args.folder / "results.jsonl").open("a", encoding="utf-8") as out:
                out.write(json.dumps(row, ensure_ascii=False) + "\n")
            if answer["result"] != "killed":
                print(f"{answer['result']}: {mutant.line}: {key}", flush=True)
        job.close()

    with ThreadPoolExecutor(args.jobs) as pool:
        for done in [pool.submit(work, number) for number in range(args.jobs)]:
            done.result()
    summary(args.folder)


def summary(folder: Path) -> None:
    """Killed and survived, room by room."""
    known, rooms = equivalents(), defaultdict[str, Counter[str]](Counter)
    for one in results(folder):
        inside = Path(one["file"]).relative_to(PACKAGE)
        kind = "equivalent" if one["key"] in known else one["result"]
        rooms[inside.parts[0].removesuffix(".py")][kind] += 1
    total: Counter[str] = sum(rooms.values(), Counter())
    for name, counts in [*sorted(rooms.items()), ("all", total)]:
        killed, live = counts["killed"] + counts["timeout"], counts.total() - counts["equivalent"]
        share = f"{killed / live:6.1%}" if live else "     –"
        print(f"{name:14} {share}  {killed} of {live} live, {counts['equivalent']} equivalent")


def show(args: Arguments) -> None:
    """The diffs of what survived, then the summary."""
    known = equivalents()
    for one in results(args.folder):
        if one["result"] in ALIVE and one["key"] not in known:
            about = f"{one['kind']}; {one['result']}, {one['tests']} tests"
            print(f"--- {one['file']}:{one['line']} ({about})\n{one['diff']}")
    summary(args.folder)


def _whole(name: str) -> Path:
    return Path(name).resolve()  # jobs work elsewhere


def parse() -> Arguments:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--folder", type=_whole, default=ROOT / "build" / "mutants", help="maps, copies and results"
    )
    commands = parser.add_subparsers(dest="command", required=True)
    mapping = commands.add_parser("map", help="which test runs which line")
    mapping.add_argument("rooms", nargs="*", metavar="ROOM")
    mapping.add_argument("--again", action="store_true", help="also rooms that have a map")
    trying = commands.add_parser("run", help="try mutants")
    trying.add_argument("files", nargs="*", metavar="FILE", help="nn/loss.py or nn/; all without any")
    trying.add_argument("--seed", type=int, default=1)
    trying.add_argument("--draw", type=int, default=0, help="so many of all mutants, in place of a sample")
    trying.add_argument("--share", type=float, default=0.02, help="of each file's mutants")
    trying.add_argument("--least", type=int, default=2, help="mutants of each file")
    trying.add_argument(
        "--others", type=int, default=2, help="test files besides the module's own, where there is no map"
    )
    trying.add_argument("--slow", action="store_true", help="also tests that are marked slow")
    trying.add_argument("--jobs", type=int, default=1)
    trying.add_argument("--minutes", type=float, default=1e9, help="begin none after this time")
    trying.add_argument("--again", action="store_true", help="also those that have a result")
    trying.add_argument("--survivors", action="store_true", help="those that survived, and no others")
    trying.add_argument("--only", help="those with these characters in their key")
    commands.add_parser("show", help="survivors and counts")
    return parser.parse_args()  # type: ignore[return-value]


def main() -> None:
    args = parse()
    args.folder.mkdir(parents=True, exist_ok=True)
    {"map": make_map, "run": run, "show": show}[args.command](args)  # type: ignore[attr-defined]


if __name__ == "__main__":
    main()
