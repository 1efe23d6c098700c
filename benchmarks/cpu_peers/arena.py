"""Contestants in processes of their own, asked in turn: what each reached in a cell of the table."""

import json
import os
import select
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import median
from tempfile import TemporaryFile
from typing import Any, Self

from cpu_peers.environments import NoEnvironmentError, python_of
from cpu_peers.task import SIZES, make_sources, write_task

HERE = Path(__file__).parent
LENGTH, NEW = 25, 32  # source and new tokens


@dataclass(frozen=True)
class Cell:
    """What is asked of everyone."""

    size: str
    beam: int
    batch: int
    threads: int
    length: int = LENGTH
    new: int = NEW

    @property
    def name(self) -> str:
        return f"{self.size}-{'g' if self.beam == 1 else f'b{self.beam}'}-{self.batch}"

    @property
    def count(self) -> int:
        """Sentences: enough that every thread has batches of its own, and that a clock can see them."""
        return (
            self.batch
            * self.threads
            * (max(1, 8 // self.batch) if self.size != "base" else 2 // self.batch or 1)
        )


@dataclass(frozen=True)
class Contestant:
    """Who takes part. `share` of the rounds is enough for those that are slow and that nobody divides by."""

    name: str
    script: str
    environment: str
    setting: dict[str, Any]
    share: float = 1.0
    exact: bool = False  # fp32: has to find the same answers as the others
    other: bool = False  # another function of the same weights: its answers are nobody's
    layouts: tuple[str, ...] = ("",)  # ways to use two threads, of which the best counts


CT2 = ("ctranslate2", "ctranslate2")
BOTH = ("inter", "intra")
CONTESTANTS = [
    Contestant("ct2-fp32", *CT2, {"type": "float32"}, 0.4, exact=True, layouts=BOTH),
    Contestant("ct2-int8", *CT2, {"type": "int8"}, layouts=BOTH),
    Contestant("ct2-int8-vmap", *CT2, {"type": "int8", "shortlist": True}, layouts=BOTH),
    Contestant("marian-int8", "marian", "marian", {"type": "intgemm8avx512"}, 0.4, other=True),
    Contestant("marian-fbgemm", "marian", "marian", {"type": "packed8avx512"}, 0.4, other=True),
    Contestant("transformers", "transformers", "transformers", {}, 0.4, exact=True),
    Contestant("torch", "torch", "jumok", {}, 0.4, exact=True),
    Contestant("native-fp32", "native", "jumok", {"type": "float32"}, 0.4, exact=True),
    Contestant("native-int8", "native", "jumok", {"type": "int8"}),
    Contestant("native-int8-shortlist", "native", "jumok", {"type": "int8", "shortlist": True}),
]


@dataclass
class Result:
    """What one contestant reached in one cell."""

    contestant: str
    cell: Cell
    layout: str = ""
    rates: list[float] = field(default_factory=list)  # target tokens per second
    answers: list[list[int]] = field(default_factory=list)
    same: float | None = None  # share of answers that are those of the first exact contestant
    agreement: dict[str, dict[str, float]] = field(default_factory=dict)  # with others: answers, tokens
    problem: str = ""

    @property
    def rate(self) -> float:
        return median(self.rates) if self.rates else 0.0

    def told(self) -> dict[str, Any]:
        """For a file of results."""
        cell = asdict(self.cell) | {"name": self.cell.name}
        found = {"contestant": self.contestant, "cell": cell, "layout": self.layout, "problem": self.problem}
        if self.rates:
            found |= {
                "median": self.rate,
                "min": min(self.rates),
                "max": max(self.rates),
                "rates": self.rates,
            }
        found |= {} if self.same is None else {"same_answers": self.same}
        return found | ({"agreement": self.agreement} if self.agreement else {})


class Worker:
    """The process of a contestant."""

    def __init__(self, contestant: Contestant, environments: Path, limit: float) -> None:
        self.contestant, self.limit, self.problem = contestant, limit, ""
        self.process: subprocess.Popen[str] | None = None
        self.told: dict[str, Any] = {}
        self.noise = TemporaryFile("w+", encoding="utf-8", errors="replace")  # noqa: SIM115  its standard error
        try:
            python = python_of(contestant.environment, environments)
        except NoEnvironmentError as error:
            self.problem = str(error)
            return
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("OMP_")}
        self.process = subprocess.Popen(
            [str(python), "-m", f"cpu_peers.run_{contestant.script}"],
            cwd=HERE.parent,
            env=inherited,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.noise,
            text=True,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *args: object) -> None:
        self.stop()

    def ask(self, **order: Any) -> dict[str, Any]:
        """The answer to an order. A contestant that has failed once is not asked again."""
        if self.process is None or self.problem:
            return {"problem": self.problem or "not started"}
        assert self.process.stdin
        assert self.process.stdout
        with suppress(BrokenPipeError):
            print(json.dumps(order), file=self.process.stdin, flush=True)
        if not select.select([self.process.stdout], [], [], self.limit)[0]:
            self.problem = f"no answer in {self.limit:.0f} s"
            self.stop()
        elif line := self.process.stdout.readline():
            self.told = json.loads(line)
            return self.told
        else:
            last = (self.stop() or ["the process ended"])[-1]
            self.problem = last[:200]
        return {"problem": self.problem}

    def stop(self) -> list[str]:
        """End it; the lines of its standard error."""
        process, self.process = self.process, None
        if process is None:
            self.noise.close()
            return []
        assert process.stdin
        assert process.stdout
        with suppress(BrokenPipeError):
            process.stdin.close()
        if self.problem:
            process.kill()
        process.wait()
        process.stdout.close()
        with self.noise:
            self.noise.seek(0)
            return [line.strip() for line in self.noise if line.strip()]


@dataclass
class Arena:
    """Who is there, and where the work lies."""

    workers: dict[str, Worker]
    folder: Path
    clock: str = "seconds"  # or cpu_s, the time of the processor

    def prepare(self, size: str) -> None:
        """Weights of this size, in the form of everyone."""
        folder = write_task(self.folder, size)
        for worker in self.workers.values():
            worker.ask(do="forget")
            told = worker.ask(do="prepare", folder=str(folder), setting=worker.contestant.setting)
            worker.problem = told.get("problem", "")  # who cannot begin is not asked again

    def ask(
        self, worker: Worker, cell: Cell, layout: str, *, new: int = 0, answers: bool = False
    ) -> dict[str, Any]:
        setting = worker.contestant.setting | {"threads": cell.threads, "layout": layout}
        return worker.ask(
            do="run",
            folder=str(self.folder / cell.size),
            setting=setting,
            sources=make_sources(SIZES[cell.size], cell.count, cell.length),
            beam=cell.beam,
            batch=cell.batch,
            new=new or cell.new,
            answers=answers,
        )

    def time(self, cells: Sequence[Cell], rounds: int, patience: float = 1e9) -> list[Result]:
        """All contestants in these cells, in turn, `rounds` times; each begins with a small warm-up.

        A result that has taken `patience` seconds is not measured again.
        """
        entrants = [
            (worker, Result(name, cell, layout))
            for cell in cells
            for name, worker in self.workers.items()
            for layout in (worker.contestant.layouts if cell.threads > 1 else worker.contestant.layouts[:1])
        ]
        for worker, result in entrants:
            result.problem = self.ask(worker, result.cell, result.layout, new=2).get("problem", "")
        spent = [0.0] * len(entrants)
        for n in range(rounds):
            turn = n % len(entrants)
            for place in (*range(turn, len(entrants)), *range(turn)):
                worker, result = entrants[place]
                enough = n >= max(1, round(rounds * worker.contestant.share)) or spent[place] > patience
                if not result.problem and not enough:
                    spent[place] += self.measure(worker, result)
        found = best_layouts([result for _, result in entrants])
        compare(found, {name: worker.contestant for name, worker in self.workers.items()})
        return found

    def measure(self, worker: Worker, result: Result) -> float:
        """One more rate; the seconds it took."""
        cell = result.cell
        told = self.ask(worker, cell, result.layout, answers=not result.rates)
        if "problem" not in told and (told["lengths"] != [cell.new] or told["sentences"] != cell.count):
            told["problem"] = f"answers of {told['lengths']} tokens, not {cell.new}"
        result.problem = told.get("problem", "")
        if result.problem:
            return 0.0
        result.rates.append(cell.count * cell.new / told[self.clock])
        result.answers = result.answers or told["answers"]
        return float(told["seconds"])


def best_layouts(results: Sequence[Result]) -> list[Result]:
    """Of the ways to use threads, the best of each contestant in each cell."""
    best: dict[tuple[str, Cell], Result] = {}
    for result in results:
        key = (result.contestant, result.cell)
        if key not in best or result.rate > best[key].rate:
            best[key] = result
    return list(best.values())


def compare(results: Sequence[Result], contestants: dict[str, Contestant]) -> None:
    """Write down how many answers are the same; all have the same weights.

    Those in fp32 are compared with the first of them, and everybody with everybody else of the same cell who
    may use the same pieces: the share of equal answers, and of equal tokens by their places.
    """
    for result in results:
        mine = contestants[result.contestant]
        same_cell = [one for one in results if one.cell == result.cell and one.answers]
        exact = [one for one in same_cell if contestants[one.contestant].exact]
        if result.answers and exact and mine.exact:
            result.same = agreement(result.answers, exact[0].answers)["answers"]
        for other in same_cell:
            its = contestants[other.contestant]
            fair = mine.setting.get("shortlist") == its.setting.get("shortlist") and not (
                mine.other or its.other
            )
            if result.answers and fair and other is not result:
                result.agreement[other.contestant] = agreement(result.answers, other.answers)


def agreement(mine: Sequence[list[int]], its: Sequence[list[int]]) -> dict[str, float]:
    """The shares of equal answers, and of equal tokens by their places."""
    pairs = list(zip(mine, its, strict=True))
    equal = sum(a == b for one, other in pairs for a, b in zip(one, other, strict=False))
    places = sum(max(len(one), len(other)) for one, other in pairs)
    return {
        "answers": sum(one == other for one, other in pairs) / len(pairs),
        "tokens": equal / max(places, 1),
    }


@contextmanager
def arena(
    chosen: Sequence[Contestant], folder: Path, environments: Path, limit: float, clock: str = "seconds"
) -> Iterator[Arena]:
    """The processes of the chosen contestants; all are ended at the end."""
    workers = {one.name: Worker(one, environments, limit) for one in chosen}
    try:
        yield Arena(workers, folder, clock)
    finally:
        for worker in workers.values():
            worker.stop()
