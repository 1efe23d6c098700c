"""What a run's log says of its training: curves, time, tokens, speed. A run that failed has one, too."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from jumok.run.folder import RunFolder
from jumok.settings import Flat, read_toml
from jumok.training.log import read_events

CURVES = ("step", "elapsed_s", "tokens", "loss", "score")


def training_record(folder: Path) -> dict[str, Any]:
    """Settings, parameters, steps, seconds, tokens and curves of the run in a folder, as far as it came."""
    run, file = RunFolder(folder), folder / "config.toml"
    settings = run.settings() if run.exists else read_toml(file) if file.is_file() else {}
    log = LogReader(str(settings.get("training.metric", "bleu")))
    if (file := folder / "metrics.jsonl").is_file():
        for event in read_events(file):
            if "type" in event and "time" in event:
                log.read(event)
    return log.to_dict(settings)


@dataclass(frozen=True)
class LogPoint:
    """Where training stood at one line of the log."""

    step: int
    elapsed: float
    tokens: float


BEGINNING = LogPoint(0, 0.0, 0.0)


@dataclass
class LogReader:
    """Events read one after the other. A line of the log counts the tokens since the line before it.

    A run that goes on after a crash repeats the steps behind its last checkpoint: what it had said about
    them is forgotten.
    """

    metric: str
    parameters: int | None = None
    status: str = "stopped"
    at: LogPoint = BEGINNING
    moment: float = 0.0  # seconds of the clock when the last line was written
    busy_s: float = 0.0  # in training steps, validation left out
    trained: float = 0.0  # tokens in that time
    memory: int = 0
    way: list[LogPoint] = field(default_factory=list)
    curves: list[tuple[Any, ...]] = field(default_factory=list)

    def read(self, event: dict[str, Any]) -> None:
        now = datetime.fromisoformat(event["time"]).timestamp()
        match event["type"]:
            case "start":
                self.start(event)
            case "train":
                self.train(event, now - self.moment)
            case "valid":
                self.valid(event, now - self.moment)
            case "end":
                self.status = event["status"]
        if event["type"] in ("start", "train", "valid"):
            self.moment = now

    def start(self, event: dict[str, Any]) -> None:
        step = event.get("resumed_from") or 0
        self.parameters, self.status = event["params"], "stopped"
        self.way = [point for point in self.way if point.step <= step]
        self.curves = [row for row in self.curves if row[0] <= step]
        last = self.way[-1] if self.way else BEGINNING
        self.at = LogPoint(step, last.elapsed, last.tokens + self.uncounted(last, step))

    def train(self, event: dict[str, Any], passed: float) -> None:
        tokens = event["tokens_per_s"] * passed
        self.busy_s, self.trained = self.busy_s + passed, self.trained + tokens
        self.memory = max(self.memory, event.get("mem_bytes") or 0)
        self.go_to(LogPoint(event["step"], event["elapsed_s"], self.at.tokens + tokens))

    def valid(self, event: dict[str, Any], passed: float) -> None:
        tokens = self.at.tokens + self.uncounted(self.at, event["step"])
        self.go_to(LogPoint(event["step"], self.at.elapsed + passed, tokens))
        figures = (event.get("loss"), event.get(self.metric))
        self.curves.append((self.at.step, round(self.at.elapsed, 3), self.tokens, *figures))

    def uncounted(self, last: LogPoint, step: int) -> float:
        """Tokens of the steps since a point that no line has counted, as many as a step had so far."""
        return (step - last.step) * (last.tokens / last.step) if last.step else 0.0

    @property
    def tokens(self) -> int | None:
        """Tokens so far; None if the run was so short that no line has counted any."""
        return round(self.at.tokens) or None

    def go_to(self, point: LogPoint) -> None:
        self.at = point
        self.way.append(point)

    def to_dict(self, settings: Flat) -> dict[str, Any]:
        """The fields of an entry of compare/1 that training decides."""
        columns: Iterable[tuple[Any, ...]] = zip(*self.curves, strict=True) if self.curves else [()] * 5
        return {
            "status": self.status,
            "settings": settings,
            "parameters": self.parameters,
            "steps": self.at.step,
            "train_s": round(self.at.elapsed, 3),
            "tokens": self.tokens,
            "curves": {name: list(column) for name, column in zip(CURVES, columns, strict=True)},
            "train_tokens_per_s": round(self.trained / self.busy_s, 1) if self.busy_s else None,
            "process_peak_bytes": self.memory or None,
        }
