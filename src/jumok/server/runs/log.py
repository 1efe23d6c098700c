"""What the events of one run say: its curves, its notices, its samples, and how it ended."""

import math
from array import array
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from jumok.server.runs.tail import Event, Tail

MOST_COLUMNS = 64  # curves of one kind of event
MOST_NOTICES = 500
MOST_SAMPLES = 200  # validations whose samples are kept; of more, every second one
MOST_SENTENCES = 16  # of one validation
MOST_NAME = 100  # characters of a curve's name
LONGEST_TEXT = 2000  # characters of a text that is kept
FEWEST = 4  # points of a curve that is cut down
NO_CURVES = {"step", "epoch", "elapsed_s", "time"}
LARGEST = 2**53  # whole numbers that every reader of JSON keeps exactly


class CurveTable:
    """Numbers by step: one row per event, one column per name. A number that is missing is NaN."""

    def __init__(self) -> None:
        self.step, self.elapsed = array("q"), array("d")
        self.columns: dict[str, array[float]] = {}

    def add(self, step: int, elapsed: float, numbers: dict[str, float]) -> None:
        for name in numbers:  # in their order: a set's is another in each process
            if name not in self.columns and len(self.columns) < MOST_COLUMNS:
                self.columns[name] = array("d", [math.nan] * len(self.step))
        self.step.append(step)
        self.elapsed.append(elapsed)
        for name, column in self.columns.items():
            column.append(numbers.get(name, math.nan))

    def curve(self, name: str, points: int) -> dict[str, list[Any]]:
        """At most `points` of one column by rising step; of two values for a step the newer one counts."""
        values = np.array(self.columns.get(name, ()), dtype=np.float64)
        known = np.flatnonzero(np.isfinite(values))
        rows = known[newest(np.array(self.step, dtype=np.int64)[known])]
        rows = rows[decimate(values[rows], points)]
        elapsed = [None if math.isnan(self.elapsed[row]) else self.elapsed[row] for row in rows]
        return {
            "step": [self.step[row] for row in rows],
            "elapsed_s": elapsed,
            "value": values[rows].tolist(),
        }


def newest(steps: NDArray[np.int64]) -> NDArray[np.intp]:
    """The last place of each step, by rising step."""
    _, from_end = np.unique(steps[::-1], return_index=True)
    return len(steps) - 1 - from_end


def decimate(values: ArrayLike, points: int) -> NDArray[np.intp]:
    """Places of at most `points` values (at least 4), in order: the first, the last, and between them the
    smallest and the largest of equally many values each. So the extremes of all are among them.
    """
    curve = np.asarray(values, dtype=np.float64)
    count = len(curve)
    if count <= max(points, FEWEST):
        return np.arange(count)
    edges = np.linspace(1, count - 1, (max(points, FEWEST) - 2) // 2 + 1).astype(np.intp)
    kept = {0, count - 1}
    for start, end in zip(edges, edges[1:], strict=False):
        stretch = curve[start:end]
        kept |= {int(start + stretch.argmin()), int(start + stretch.argmax())}
    return np.array(sorted(kept), dtype=np.intp)


@dataclass
class RunHistory:
    """All that the events told so far. Mutable: it grows with the file."""

    tables: dict[str, CurveTable] = field(
        default_factory=lambda: {"train": CurveTable(), "valid": CurveTable()}
    )
    notices: dict[tuple[Any, ...], Event] = field(default_factory=dict)
    samples: dict[int, list[Any]] = field(default_factory=dict)
    step: int | None = None
    elapsed: float = math.nan
    best: tuple[int, float] | None = None  # step and score
    ended: str | None = None  # status of the end event; None after a start
    reason: str | None = None

    def take(self, event: Event) -> None:
        """Learn from one event; what it does not understand it leaves alone."""
        kind, step = event.get("type"), whole(event.get("step"))
        if step is not None:
            self.step = step
        match kind:
            case "start":
                self.ended = self.reason = None
            case "end":
                self.ended, self.reason = text(event.get("status")), text(event.get("reason"))
            case "train" | "valid" if step is not None:
                self.take_numbers(str(kind), step, event)
            case "checkpoint" if step is not None and event.get("best") is True:
                score = number(event.get("metric"))
                self.best = self.best if score is None else (step, score)
            case "notice":
                self.take_notice(step, event)

    def take_numbers(self, kind: str, step: int, event: Event) -> None:
        elapsed = number(event.get("elapsed_s"))
        self.elapsed = self.elapsed if elapsed is None else elapsed
        if "averaged" in event:  # of another model than the one whose curve this is
            return
        told = {**event, **by_direction(event.get("directions"))}
        found = {name: one for name, value in told.items() if (one := number(value)) is not None}
        self.tables[kind].add(step, self.elapsed, {n: v for n, v in found.items() if n not in NO_CURVES})
        if isinstance(samples := event.get("samples"), list) and samples:
            self.samples[step] = [one for one in map(sample, samples[:MOST_SENTENCES]) if one]
            if len(self.samples) > MOST_SAMPLES:
                for old in sorted(self.samples)[1:-1:2]:
                    del self.samples[old]

    def take_notice(self, step: int | None, event: Event) -> None:
        said = {name: text(event.get(name)) for name in ("level", "code", "message")}
        self.notices.pop(key := (step, said["code"], said["message"]), None)  # said again after a resume
        self.notices[key] = {"step": step, **said}
        if len(self.notices) > MOST_NOTICES:
            del self.notices[next(iter(self.notices))]

    @property
    def names(self) -> list[str]:
        """Of all curves: `train.loss`, `valid.bleu`."""
        return [f"{kind}.{name}" for kind, table in self.tables.items() for name in table.columns]


class RunLog:
    """The story of one `metrics.jsonl`, which is read further whenever someone asks."""

    def __init__(self, path: Path) -> None:
        self._tail, self._story, self._restarts = Tail(path), RunHistory(), 0
        self._lock = Lock()

    @contextmanager
    def story(self) -> Iterator[tuple[RunHistory, int]]:
        """What the file tells up to now, and the byte offset up to where; both stay so inside the block."""
        with self._lock:
            before = None
            while before != (self._tail.restarts, self._tail.offset):
                before = (self._tail.restarts, self._tail.offset)
                self._read_on()
            yield self._story, self._tail.offset

    def _read_on(self) -> None:
        lines = self._tail.read()
        if self._tail.restarts != self._restarts:
            self._story, self._restarts = RunHistory(), self._tail.restarts
        for line in lines:
            self._story.take(line.event)


def by_direction(value: object) -> dict[str, Any]:
    """The figures of each direction of a validation by names such as `bleu de→en`."""
    if not isinstance(value, dict):
        return {}
    return {
        f"{name} {way}"[:MOST_NAME]: one
        for way, figures in value.items()
        if isinstance(figures, dict)
        for name, one in figures.items()
    }


def whole(value: object) -> int | None:
    """A step, if this is one."""
    return value if type(value) is int and 0 <= value <= LARGEST else None


def number(value: object) -> float | None:
    """A finite number, if this is one."""
    return float(value) if type(value) in (int, float) else None  # type: ignore[arg-type]


def text(value: object) -> str | None:
    """The beginning of a text, if this is one."""
    return value[:LONGEST_TEXT] if isinstance(value, str) else None


def sample(value: object) -> dict[str, Any] | None:
    """A validation sentence with the model's answer."""
    match value:
        case {"src": str() as source, "ref": str() as reference, "hyp": str() as hypothesis, **rest}:
            texts = {"src": text(source), "ref": text(reference), "hyp": text(hypothesis)}
            return {**texts, "score": number(rest.get("score"))}
    return None
