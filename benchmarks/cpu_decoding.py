"""Decoding speed on a CPU, beside CTranslate2 and transformers: the same weights, and 32 new tokens each.

    python benchmarks/cpu_decoding.py               the contest, peak memory, start-up, and the floor
    python benchmarks/cpu_decoding.py --busy        ours with one and two threads beside a busy process
    python benchmarks/cpu_decoding.py --growth      cost against batch and source length: cpu_growth.svg
    python benchmarks/cpu_decoding.py --smoke       a tiny model, ours alone, for a quick look

Peers are installed by this script, in environments of their own outside of the repository. Every contestant
is a process that stays; they are asked in turn, round after round, and the table has medians. Sentences have
25 tokens. With two threads CTranslate2 counts in the better of its two layouts. Every answer has to have
exactly 32 tokens, and those who compute in fp32 have to find the same ones; otherwise the exit status is 1.
"""

import argparse
import gzip
import json
import os
import platform
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from contest import table
from cpu_peers import growth, startup, trained
from cpu_peers.arena import CONTESTANTS, LENGTH, NEW, Cell, Contestant, Result, Worker, arena
from cpu_peers.environments import DEFAULT
from cpu_peers.floor import Machine, floor_ms, measure
from cpu_peers.task import SIZES

from jumok.data.builtin import builtin_file

MODEL = Path(__file__).parent.parent / "src/jumok/trained/transformer"
CELLS = [(size, beam, batch) for size in ("base", "small") for beam in (1, 4) for batch in (1, 32)]
SAME = 0.9  # of the answers in fp32; sums in another order may decide a near tie differently
RATIOS = [
    ("native-int8", "ct2-int8", 2),
    ("native-int8-shortlist", "ct2-int8-vmap", 2.5),
    ("native-int8-shortlist", "ct2-int8", 0),
    ("native-int8", "ct2-fp32", 0),
    ("native-int8", "marian-int8", 0),
    ("native-int8", "marian-fbgemm", 0),
    ("native-int8", "transformers", 6),
    ("native-fp32", "ct2-fp32", 0),
]
"""Who is divided by whom, and what is to be reached."""


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    names = [Cell(*cell, threads=1).name for cell in CELLS]
    parser.add_argument(
        "--cells", nargs="+", choices=names, default=names, metavar="CELL", help=", ".join(names)
    )
    chosen = [one.name for one in CONTESTANTS]
    parser.add_argument("--contestants", nargs="+", choices=chosen, metavar="NAME", help=", ".join(chosen))
    parser.add_argument("--threads", nargs="+", type=int, default=[1, 2], help="[1 2]")
    parser.add_argument(
        "--rounds", type=int, default=5, help="of each cell; fewer for those who are slow [5]"
    )
    parser.add_argument("--only", nargs="+", choices=("contest", "memory", "startup", "floor", "trained"))
    parser.add_argument("--busy", action="store_true", help="beside another busy process")
    parser.add_argument("--growth", action="store_true", help="against source length and batch")
    parser.add_argument(
        "--processor-time", action="store_true", help="instead of the clock: for one thread on a busy machine"
    )
    parser.add_argument("--model", type=Path, default=MODEL, help="trained, for --only trained [of dates]")
    parser.add_argument(
        "--sentences", type=Path, help="for it, one a line, .gz or not [the test set of dates]"
    )
    parser.add_argument("--environments", type=Path, default=DEFAULT, help=f"of the peers [{DEFAULT}]")
    parser.add_argument("--limit", type=float, default=120, help="seconds that one order may take [120]")
    parser.add_argument("--json", type=Path, help="write the results to this file, or those of --growth")
    parser.add_argument("--smoke", action="store_true", help="a tiny model, without peers")
    return parser.parse_args()


def chosen_contestants(args: argparse.Namespace) -> list[Contestant]:
    usual = [one.name for one in CONTESTANTS]
    if args.growth or args.busy:
        usual = ["native-int8", "ct2-int8"]
    names = args.contestants or usual
    ours = [one for one in CONTESTANTS if one.name in names]
    return [one for one in ours if not args.smoke or one.environment == "jumok"]


def chosen_cells(args: argparse.Namespace) -> list[Cell]:
    if args.smoke:
        return [Cell("tiny", beam, 4, 1) for beam in (1, 4)]
    return [
        cell
        for size, beam, batch in CELLS
        for threads in args.threads
        if (cell := Cell(size, beam, batch, threads)).name in args.cells
    ]


def run_contest(args: argparse.Namespace, folder: Path, out: dict[str, Any]) -> list[Result]:
    """Every cell, one after the other; with --busy those of one and two threads together."""
    found: list[Result] = []
    cells = chosen_cells(args)
    groups = [[cell] for cell in cells]
    if args.busy:
        groups = [
            [one for one in cells if one.name == name] for name in dict.fromkeys(one.name for one in cells)
        ]
    with arena(chosen_contestants(args), folder, args.environments, args.limit, clock_of(args)) as ring:
        size = ""
        for group in groups:
            if group[0].size != size:
                size = group[0].size
                ring.prepare(size)
            with busy() if args.busy else nothing():
                results = ring.time(group, args.rounds)
            found += results
            for result in results:
                print(f"  {line(result)}", flush=True)
            out["versions"] = {name: worker.told.get("versions") for name, worker in ring.workers.items()}
            out["results"] = [one.told() for one in found]
            save(args, out)
    return found


def read_lines(path: Path | None) -> list[str]:
    """Sentences of a file, or the sources of the test set that the bundled model was made for."""
    if path is None:
        return [line.split("\t")[0] for line in read_lines(builtin_file("dates", "test"))]
    data = path.read_bytes()
    return (gzip.decompress(data) if path.suffix == ".gz" else data).decode().splitlines()


def clock_of(args: argparse.Namespace) -> str:
    """Which of the times that a worker tells counts."""
    return "cpu_s" if args.processor_time else "seconds"


def line(result: Result) -> str:
    """A result as it comes."""
    head = f"{result.cell.name} {result.cell.threads} thread(s) {result.contestant}"
    if result.problem:
        return f"{head}: {result.problem}"
    spread = f"[{min(result.rates):,.0f} – {max(result.rates):,.0f}]"
    same = "" if result.same is None else f", {result.same:.0%} of the answers as the first in fp32"
    layout = f" ({result.layout})" if result.layout and result.cell.threads > 1 else ""
    return f"{head}{layout}: {result.rate:,.0f} tok/s {spread}{same}"


@contextmanager
def busy() -> Iterator[None]:
    """Another process that never waits."""
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as spinning:
        try:
            yield
        finally:
            spinning.kill()


@contextmanager
def nothing() -> Iterator[None]:
    yield


def rates_table(results: Sequence[Result], threads: int) -> str:
    """Median and spread of each contestant in each cell."""
    mine = [one for one in results if one.cell.threads == threads]
    names, cells = dict.fromkeys(one.contestant for one in mine), dict.fromkeys(one.cell.name for one in mine)
    found = {(one.contestant, one.cell.name): one for one in mine}
    rows = []
    for name in names:
        row = [name]
        for cell in cells:
            one = found.get((name, cell))
            fine = one is not None and not one.problem
            row.append(
                f"{one.rate:,.0f} [{min(one.rates):,.0f}–{max(one.rates):,.0f}]" if one and fine else "–"
            )
        rows.append(row)
    return table([f"tok/s, {threads} thread(s)", *cells], rows)


def ratios_table(results: Sequence[Result], threads: int, machine: Machine | None) -> str:
    """How many times as fast, and how far above the floor."""
    mine = [one for one in results if one.cell.threads == threads]
    cells = {one.cell.name: one.cell for one in mine}
    rate = {(one.contestant, one.cell.name): one.rate for one in mine if one.rate}
    rows = []
    for ours, its, wanted in RATIOS:
        known = [(ours, cell) in rate and (its, cell) in rate for cell in cells]
        if any(known):
            goal = f" (≥ {wanted:g})" if wanted else ""
            rows.append([f"{ours} / {its}{goal}"])
            for cell, both in zip(cells, known, strict=True):
                rows[-1].append(f"{rate[ours, cell] / rate[its, cell]:.2f}" if both else "–")
    for name in ("native-int8", "ct2-int8") if machine else ():
        if any((name, cell) in rate for cell in cells):
            rows.append([f"{name}, ms a step / floor"])
            for cell, of in cells.items():
                floor = floor_ms(machine, SIZES[of.size], of.length, of.batch, of.beam, of.new)  # type: ignore[arg-type]
                known_rate = rate.get((name, cell))
                rows[-1].append(f"{1e3 * of.batch / known_rate / floor:.2f}" if known_rate else "–")
    return table([f"ratio, {threads} thread(s)", *cells], rows) if rows else ""


def busy_table(results: Sequence[Result]) -> str:
    """One and two threads beside a busy process."""
    rows = []
    for name, cell in dict.fromkeys((one.contestant, one.cell.name) for one in results):
        pair = {one.cell.threads: one for one in results if (one.contestant, one.cell.name) == (name, cell)}
        if {1, 2} <= pair.keys() and pair[1].rate and pair[2].rate:
            one, two = pair[1].rate, pair[2].rate
            rows.append([name, cell, f"{one:,.0f}", f"{two:,.0f}", f"{two / one:.2f}"])
    return table(["beside a busy process", "cell", "1 thread", "2 threads", "2 / 1"], rows)


def run_memory(args: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """Peak memory of a fresh process: greedy, one sentence at a time, then a batch."""
    size = "tiny" if args.smoke else "base"
    found: dict[str, Any] = {}
    for one in chosen_contestants(args):
        with arena([one], folder, args.environments, args.limit) as ring:
            ring.prepare(size)  # in a process of its own: converting takes memory
        with arena([one], folder, args.environments, args.limit) as ring:
            worker: Worker = ring.workers[one.name]
            for batch in (1, 32):
                told = ring.ask(worker, Cell(size, 1, batch, 1), one.layouts[0])
                if "problem" in told:
                    found[one.name] = {"problem": told["problem"]}
                    break
                found.setdefault(one.name, {"imported_mb": round(told["imported_mb"], 1)})
                found[one.name][f"batch_{batch}_mb"] = round(told["peak_mb"], 1)
        print(f"  memory of {one.name}: {json.dumps(found[one.name])}", flush=True)
    return found


def memory_table(found: dict[str, Any]) -> str:
    rows = []
    for name, told in found.items():
        if "problem" in told:
            rows.append([name, told["problem"]])
            continue
        imported = told["imported_mb"]
        rows.append([name, f"{imported:.0f}"])
        for batch in (1, 32):
            peak = told[f"batch_{batch}_mb"]
            rows[-1] += [f"{peak:.0f}", f"{peak - imported:.0f}"]
    head = ["peak MB, base greedy", "after imports", "batch 1", "above imports", "batch 32", "above imports"]
    return table(head, rows)


def faults(results: Sequence[Result]) -> list[str]:
    """What makes the numbers worth nothing: other work than was asked for."""
    found = [f"{line(one)}" for one in results if "tokens, not" in one.problem]
    return found + [line(one) for one in results if one.same is not None and one.same < SAME]


def save(args: argparse.Namespace, out: dict[str, Any]) -> None:
    if args.json and not args.growth:
        args.json.write_text(json.dumps(out, indent=1) + "\n", encoding="utf-8")


def run(args: argparse.Namespace, folder: Path) -> int:
    """All that was asked for; the exit status."""
    parts = args.only or (
        ["contest", "floor"] if args.busy or args.smoke else ["contest", "memory", "startup", "floor"]
    )
    out: dict[str, Any] = {
        "about": f"{LENGTH} source and {NEW} new tokens a sentence; target tokens per second",
        "clock": "processor time" if args.processor_time else "wall",
        "machine": {"processor": processor(), "cores": os.cpu_count(), "python": platform.python_version()},
    }
    machines = measure(args.threads, *((1, 1 << 24) if args.smoke else ())) if "floor" in parts else []
    out["floor"] = [asdict(one) for one in machines]
    for one in machines:
        speeds = f"{one.bytes_per_second / 1e9:.1f} GB/s, {one.operations_per_second / 1e9:,.0f} GOP/s int8"
        print(f"{one.threads} thread(s): {speeds}", flush=True)
    if args.growth:
        with arena(chosen_contestants(args), folder, args.environments, args.limit, clock_of(args)) as ring:
            one_thread = next((one for one in machines if one.threads == 1), None)
            size, new = ("tiny", 4) if args.smoke else ("base", NEW)
            rows = growth.measure(ring, one_thread, min(args.rounds, 3), size, new)
        growth.write(rows, out, args.json or Path(__file__).with_name("cpu_growth.json"))
        return 0
    results = run_contest(args, folder, out) if "contest" in parts else []
    if "memory" in parts:
        out["memory"] = run_memory(args, folder)
    if "startup" in parts:
        names = [one.name for one in chosen_contestants(args) if not one.setting.get("shortlist")]
        out["startup_s"] = startup.measure(folder, args.environments, "small", names, args.rounds)
    if "trained" in parts:
        lines = read_lines(args.sentences)[:1000]
        clock = clock_of(args)
        out["trained"] = trained.measure(folder, args.environments, args.model, lines, args.rounds, clock)
    save(args, out)
    show(args, results, machines, out)
    wrong = faults(results)
    for one in wrong:
        print(f"WRONG: {one}", file=sys.stderr)
    return 1 if wrong else 0


def show(
    args: argparse.Namespace, results: Sequence[Result], machines: Sequence[Machine], out: dict[str, Any]
) -> None:
    """The tables."""
    for threads in dict.fromkeys(one.cell.threads for one in results):
        machine = next((one for one in machines if one.threads == threads), None)
        print("\n" + rates_table(results, threads))
        print("\n" + ratios_table(results, threads, machine))
    if args.busy:
        print("\n" + busy_table(results))
    if "memory" in out:
        print("\n" + memory_table(out["memory"]))
    if "trained" in out:
        of = out["trained"]
        rows = [[name, f"{one['median']:,.0f}"] for name, one in of["rates"].items()]
        print("\n" + table([f"tok/s, trained ({of['model']})", "32 sentences, greedy"], rows))
        kinds = ("answers", "tokens", "bleu")
        pairs = [[what, *(f"{one[kind]:.3f}" for kind in kinds)] for what, one in of["pairs"].items()]
        print("\n" + table(["the same", *kinds], pairs))
    if "startup_s" in out:
        rows = [
            [what, *([told] if isinstance(told, str) else [f"{told[of]:.2f}" for of in ("seconds", "cpu_s")])]
            for what, told in out["startup_s"].items()
        ]
        print("\n" + table(["start to first translation", "seconds", "of processor time"], rows))


def processor() -> str:
    """What the machine says it is."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    return next((one.split(":", 1)[1].strip() for one in lines if one.startswith("model name")), "unknown")


def main() -> None:
    args = read_options()
    with TemporaryDirectory() as scratch:  # the tiny model of --smoke is not worth keeping
        sys.exit(run(args, Path(scratch) if args.smoke else args.environments / "weights"))


if __name__ == "__main__":
    main()
