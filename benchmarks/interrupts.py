"""Runs that are interrupted again and again end with the bytes of runs that never were.

    python -m benchmarks.interrupts --count 500 --json benchmarks/interrupts.json
    python -m benchmarks.interrupts --count 20          a quick look

Three architectures, sorted and packed batches, and each of these plain, with BPE dropout, R-Drop, parts
(`training.accumulate`) and as two processes: 30 kinds of run, each trained once without a break. Then, kind
by kind, a run of the real command is broken off at random moments by SIGKILL, SIGTERM or SIGINT, while the
machine is as it should be, or has a disk that fills up, that becomes read-only or is slow, or a clock that is
set back (tests/run/faults.c). The command is given again until the run ends. Losses and gradient norms of
every step, the last checkpoint's weights and optimiser and the tokenizers must be the same bytes; no run may
print a traceback, and leftovers of what was broken off must be gone. Exit status 1 if anything differs.
"""

import argparse
import json
import multiprocessing
import os
import platform
import random
import shutil
import signal
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import sha256
from itertools import product
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import psutil
import torch
from tests.run.conftest import tiny_settings, write_corpus
from tests.run.faults import Faults
from tests.run.processes import free_port
from tests.run.test_resume import losses

from jumok.checkpoint.manifest import checkpoint_folders
from jumok.config import ARCHS

VARIANTS: dict[str, dict[str, Any]] = {
    "plain": {},
    "dropout": {"text.dropout": 0.1},
    "rdrop": {"training.rdrop": 1.0},
    "accumulate": {"training.accumulate": 3, "training.ema": 0.9, "training.average": 3},
    "two processes": {},
}
MACHINES = ("sound", "full", "read-only", "slow", "set back")
SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)
PER_RUN = 8  # interrupts of one run, if it lasts so long
EARLY = 0.7  # of what a run takes: the latest moment of an interrupt
PATIENCE_S = 240
AFTER_ANOTHER_S = 5  # torchrun gives 30
PRELOADED = ["jumok.run.train", "jumok.cli.train", "torch._dynamo", "torch.utils.tensorboard", "sacrebleu"]
COMPARED = ("model.safetensors", "optimizer.safetensors")


@dataclass(frozen=True)
class Kind:
    """A kind of run; `number` makes a name for its folders."""

    number: int
    arch: str
    batches: str
    variant: str

    def words(self, corpus: Path, out: Path) -> list[str]:
        """The command that begins the run, and goes on with it."""
        settings = tiny_settings(self.arch, corpus) | {
            "data.max_length": 24,
            "training.batches": self.batches,
            "training.max_steps": 40,
            "training.validate_every": 15,
            "training.save_every": 4,
            "training.patience": 0,
            "training.precision": "fp32",
            "training.threads": 1,
            **VARIANTS[self.variant],
        }
        given = [word for key, value in settings.items() for word in ("--set", f"{key}={value}")]
        return ["train", "--quiet", "--device", "cpu", "--out", str(out), *given]

    @property
    def processes(self) -> int:
        return 2 if self.variant == "two processes" else 1

    def __str__(self) -> str:
        return f"{self.arch}, {self.batches}, {self.variant}"


KINDS = [Kind(number, *parts) for number, parts in enumerate(product(ARCHS, ("sorted", "packed"), VARIANTS))]


def command(words: list[str], said: str, environment: dict[str, str], ready: Connection) -> None:
    """`jumok …` in a process of its own, in a group of its own; what it says goes to a file."""
    from jumok.cli.main import main

    torch.set_num_threads(1)
    os.setpgid(0, 0)
    os.environ.update(environment)
    file = os.open(said, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    os.dup2(file, 1)
    os.dup2(file, 2)
    ready.send(None)
    main(words)


class Sitting:
    """The processes of one start of a run."""

    def __init__(self, kind: Kind, words: list[str], said: Path) -> None:
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload(PRELOADED)
        port, size = str(free_port()), kind.processes
        here, there = context.Pipe(duplex=False)
        self.children, self.seen_s = [], 0.0
        for rank in range(size):
            group = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": size, "LOCAL_WORLD_SIZE": size}
            group |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
            told = {key: str(value) for key, value in group.items()} if size > 1 else {}
            child = context.Process(target=command, args=(words, str(said), told, there))
            child.start()
            self.children.append(child)
        for _ in self.children:
            here.recv()

    @property
    def alive(self) -> bool:
        return all(child.is_alive() for child in self.children)

    @property
    def worked_s(self) -> float:
        """Seconds of computing so far: moments that do not depend on what else the machine does."""
        with suppress(psutil.Error):
            times = psutil.Process(self.children[0].pid).cpu_times()
            self.seen_s = times.user + times.system
        return self.seen_s

    def work_until(self, seconds: float) -> None:
        until = time.monotonic() + PATIENCE_S
        while self.alive and self.worked_s < seconds and time.monotonic() < until:
            time.sleep(0.002)

    def interrupt(self, number: signal.Signals, draw: random.Random) -> None:
        """One process is killed; a softer signal goes to all, as torchrun and a terminal send it."""
        chosen = [draw.choice(self.children)] if number == signal.SIGKILL else self.children
        for child in chosen:
            if child.is_alive():
                os.kill(child.pid, number)

    def end(self) -> list[int]:
        """The exit codes; once one process has failed, the others are ended, gently first, as by torchrun."""
        until, first_failed = time.monotonic() + PATIENCE_S, 0.0
        while (running := [one for one in self.children if one.is_alive()]) and time.monotonic() < until:
            running[0].join(0.02)
            if not first_failed and any(child.exitcode for child in self.children):
                first_failed = time.monotonic()
                for child in running:
                    child.terminate()
            elif first_failed and time.monotonic() - first_failed > AFTER_ANOTHER_S:
                for child in running:
                    child.kill()
        if running:
            running[0].kill()
            raise AssertionError(f"a process did not end within {PATIENCE_S} s")
        return [child.exitcode for child in self.children]


def result(out: Path) -> dict[str, Any]:
    """What must not depend on interrupts."""
    folders = checkpoint_folders(out)
    newest = next(iter(folders.values()))
    digests = {name: sha256((newest / name).read_bytes()).hexdigest() for name in COMPARED}
    texts = {one.name: sha256(one.read_bytes()).hexdigest() for one in newest.glob("*tokenizer*.json")}
    steps = {step: list(numbers) for step, numbers in losses(out).items()}
    return {"step": newest.name, "digests": digests, "tokenizers": texts, "losses": steps}


def leftovers(out: Path) -> list[str]:
    """Files of what was broken off that a run that has ended should not have."""
    return [
        str(one.relative_to(out)) for one in out.rglob("*") if ".tmp-" in one.name or "trash-" in one.name
    ]


@dataclass
class Tally:
    """What has happened so far."""

    interrupts: Counter[str] = field(default_factory=Counter)
    by_machine: Counter[str] = field(default_factory=Counter)
    by_kind: Counter[str] = field(default_factory=Counter)
    exit_codes: Counter[str] = field(default_factory=Counter)
    runs: int = 0
    faults: list[str] = field(default_factory=list)

    @property
    def count(self) -> int:
        return self.interrupts.total()


@dataclass
class Trial:
    """One run of a kind on a machine, broken off until it is through."""

    kind: Kind
    machine: str
    folder: Path
    corpus: Path
    faults: Faults
    draw: random.Random
    tally: Tally

    def go(self, whole: dict[str, Any], usual_s: float) -> None:
        """Break the run off, let it end, and compare."""
        out = self.folder / "run"
        words = self.kind.words(self.corpus, out)
        for number in range(PER_RUN):
            codes, broken = self.sit(words, self.folder / f"said-{number}", usual_s)
            if not broken and codes == [0] * len(codes):
                break
        self.faults.set()
        codes, said = Sitting(self.kind, words, self.folder / "said-last").end(), self.said()
        self.tally.runs += 1
        name = f"{self.kind}, {self.machine}"
        if any(codes):
            self.tally.faults.append(f"{name}: the run did not end: exit {codes}: {said[-1500:]}")
            return
        if "Traceback" in said:
            self.tally.faults.append(f"{name}: a traceback: {said[-3000:]}")
        if (found := result(out)) != whole:
            parts = [key for key in whole if found[key] != whole[key]]
            self.tally.faults.append(f"{name}: not the same: {', '.join(parts)}")
        if left := leftovers(out):
            self.tally.faults.append(f"{name}: left over: {left}")

    def sit(self, words: list[str], said: Path, usual_s: float) -> tuple[list[int], bool]:
        """Start, wait for a random moment and interrupt; the exit codes, and whether it was still at work."""
        self.faults.set(**({"delay_us": self.draw.choice([200, 2_000])} if self.machine == "slow" else {}))
        sitting = Sitting(self.kind, words, said)
        moment = self.draw.uniform(0, EARLY) * usual_s
        sitting.work_until(self.draw.uniform(0, moment))
        match self.machine:
            case "full":
                self.faults.set(free=self.draw.choice([0, 100, 20_000, 200_000]))
            case "read-only":
                self.faults.set(read_only=True)
            case "set back":
                self.faults.set(set_back_s=self.draw.choice([60, 86_400, 10**9]))
        sitting.work_until(moment)
        broken, number = sitting.alive, self.draw.choice(SIGNALS)
        if broken:
            sitting.interrupt(number, self.draw)
            self.tally.interrupts[number.name] += 1
            self.tally.by_machine[self.machine] += 1
            self.tally.by_kind[str(self.kind)] += 1
        codes = sitting.end()
        self.tally.exit_codes.update(map(str, codes))
        return codes, broken

    def said(self) -> str:
        return "\n".join(one.read_text(errors="replace") for one in sorted(self.folder.glob("said-*")))


def trials(draw: random.Random) -> Iterator[tuple[Kind, str]]:
    """Every kind on every machine, in random order, again and again."""
    while True:
        cells = list(product(KINDS, MACHINES))
        draw.shuffle(cells)
        yield from cells


def unbroken(kind: Kind, folder: Path, corpus: Path) -> tuple[dict[str, Any], float]:
    """What a kind of run gives when nothing happens, and its seconds of computing."""
    out = folder / "run"
    sitting = Sitting(kind, kind.words(corpus, out), folder / "said")
    while sitting.alive:
        seconds = sitting.worked_s
        time.sleep(0.02)
    if any(sitting.end()):
        raise SystemExit(f"{kind} does not run at all: {(folder / 'said').read_text()}")
    return result(out), seconds


def conduct(count: int, seed: int, limit_s: float, folder: Path) -> Tally:
    draw, tally, began = random.Random(seed), Tally(), time.monotonic()
    corpus, faults = write_corpus(folder), Faults(folder)
    os.environ |= faults.environment  # before the server that all runs are forked from
    wholes: dict[Kind, tuple[dict[str, Any], float]] = {}
    for number, (kind, machine) in enumerate(trials(draw)):
        if tally.count >= count or time.monotonic() - began > limit_s:
            break
        if kind not in wholes:
            faults.set()
            (place := folder / f"whole-{kind.number}").mkdir()
            wholes[kind] = unbroken(kind, place, corpus)
        (place := folder / f"trial-{number}").mkdir()
        before = len(tally.faults)
        Trial(kind, machine, place, corpus, faults, draw, tally).go(*wholes[kind])
        if len(tally.faults) == before:
            shutil.rmtree(place)
        else:
            print(f"  {place}: {tally.faults[-1]}", flush=True)
        print(f"{tally.count:4} interrupts, {tally.runs:4} runs, {len(tally.faults)} faults", flush=True)
    return tally


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--count", type=int, default=500, help="how many interrupts")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--limit", type=float, default=3600, help="seconds after which no new run begins")
    parser.add_argument("--json", type=Path, help="where the reading goes")
    parser.add_argument("--keep", type=Path, help="an empty folder for the runs; those with faults stay")
    options = parser.parse_args()
    folder = options.keep or Path(tempfile.mkdtemp(prefix="interrupts-"))
    folder.mkdir(parents=True, exist_ok=True)
    began = time.monotonic()
    tally = conduct(options.count, options.seed, options.limit, folder)
    reading = {
        "interrupts": tally.count,
        "runs": tally.runs,
        "differences": len(tally.faults),
        "by_signal": dict(sorted(tally.interrupts.items())),
        "by_machine": dict(sorted(tally.by_machine.items())),
        "by_kind": dict(sorted(tally.by_kind.items())),
        "exit_codes": dict(sorted(tally.exit_codes.items())),
        "faults": tally.faults,
        "seed": options.seed,
        "seconds": round(time.monotonic() - began),
        "versions": {"torch": str(torch.__version__), "python": platform.python_version()},
        "machine": f"{platform.machine()}, {os.cpu_count()} cores",
    }
    print(json.dumps(reading, indent=1))
    if options.json:
        options.json.write_text(json.dumps(reading, indent=1) + "\n")
    if not options.keep and not tally.faults:
        shutil.rmtree(folder)
    return bool(tally.faults)


if __name__ == "__main__":
    raise SystemExit(main())
