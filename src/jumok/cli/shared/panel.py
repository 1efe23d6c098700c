"""A training run, or several in an experiment, as people watch it: a live panel, or plain lines in a log."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from math import isfinite
from typing import TYPE_CHECKING, Any

from jumok.cli.shared.console import say, stamp, stderr_is_live
from jumok.cli.views.model import describe
from jumok.config import ENDLESS
from jumok.progress import duration
from jumok.run.report import SCORES, event_line, share_done, time_left

if TYPE_CHECKING:
    from rich.live import Live
    from rich.text import Text

    from jumok.comparison.budget import Budget
    from jumok.comparison.conduct import ExperimentCallbacks
    from jumok.comparison.entry import ComparisonEntry
    from jumok.progress import Progress
    from jumok.run.train import RunStart
    from jumok.training.state import LoopState

BARS = "▁▂▃▄▅▆▇█"
REFRESH = 1.0  # times a second that the panel is drawn, whether something happened or not


@dataclass
class Panel:
    """Shows a run's start, and then its events as they come."""

    _: KW_ONLY
    quiet: bool
    footer: Callable[[Any], str] | None = None  # what else to say at each event of training
    live: "Live | None" = None
    losses: list[float] = field(default_factory=list)
    steps: int = 0
    limit: float = 0.0
    train: dict[str, Any] = field(default_factory=dict)
    valid: dict[str, Any] = field(default_factory=dict)
    step: int = 0
    elapsed: float = 0.0  # of the run, when it was last heard of
    heard: float = 0.0  # when that was

    def close(self) -> None:
        """Leave the last picture on the screen."""
        if self.live is not None:
            self.live.stop()
            self.live = None

    def start(self, started: "RunStart") -> None:
        """The head: what is trained on what, where."""
        if not self.quiet:
            for line in head(started):
                say(line)
        self.follow(started.config.training.max_steps, started.config.training.time_limit)

    def follow(self, steps: int, limit: float) -> None:
        """Get ready for the events of a run of so many steps, or of so many seconds."""
        self.steps, self.limit = steps, limit
        if not self.quiet and stderr_is_live():
            from rich.console import Console
            from rich.live import Live

            self.live = Live(
                console=Console(stderr=True), get_renderable=self.picture, refresh_per_second=REFRESH
            )
            self.live.start()

    def picture(self) -> "Text":
        """What a terminal shows; a thread of its own asks for it every second."""
        from rich.text import Text

        return Text("\n".join(self.lines()))

    def on_step(self, state: "LoopState", _tokens: int) -> None:
        """Remember how far the run is; nothing is drawn here."""
        self.step, self.elapsed, self.heard = state.step, state.elapsed, time.monotonic()

    def event(self, event: Any) -> None:
        match event["type"]:
            case "train":
                self.train = dict(event)
                self.step, self.elapsed = event["step"], event["elapsed_s"]
                self.heard = time.monotonic()
                if isfinite(event["loss"]):
                    self.losses.append(event["loss"])
            case "valid":
                self.valid = dict(event)
        if self.quiet:
            return
        if self.live is None:
            if line := event_line(event, self.steps, self.limit):
                say(f"{stamp()} {line}")
        elif event["type"] == "notice":
            self.live.console.print(f"note  {event['message']}")
        if event["type"] == "end":
            self.close()

    def lines(self) -> list[str]:
        """The panel: progress, the last figures, the last look at the validation set."""
        rows = []
        now = {"step": self.step, "elapsed_s": self.elapsed}
        if self.step:
            passed = self.elapsed + time.monotonic() - self.heard
            rows.append(progress_line(now | {"elapsed_s": passed}, self.steps, self.limit))
        if self.train:
            rows.append(figures_line(self.train, self.losses))
        if self.valid:
            rows += valid_lines(self.valid)
        if self.step and self.footer:
            rows.append(self.footer(now))
        return rows


def count_of(n: int) -> str:
    """As a figure, or in millions where that is shorter."""
    return f"{n:,}" if n < 1_000_000 else f"{n / 1e6:.2f} M"


def head(started: "RunStart") -> list[str]:
    config, prepared, machine = started.config, started.prepared, started.machine
    sizes = " · ".join(describe(config.model))
    tokens = int(prepared.train.target_lengths.sum())
    tokenizers = prepared.tokenizers
    shared = f"{tokenizers.source.size:,} shared"
    if tokenizers.pictures is not None:
        shared = f"{tokenizers.target.size:,}, {tokenizers.pictures.places} patches a picture"
    single = tokenizers.shared or tokenizers.pictures is not None
    vocabulary = shared if single else f"{tokenizers.source.size:,} + {tokenizers.target.size:,}"
    if max(tokenizers.target.size, 0 if single else tokenizers.source.size) < config.text.vocabulary:
        vocabulary += f" (of at most {config.text.vocabulary:,}: the text has no more)"
    left_out = sum(prepared.train.left_out.values())
    resumed = [f"goes on after step {started.state.step:,}"] if started.state.step else []
    return [
        f"{started.folder.name}  {sizes} · {started.parameters / 1e6:.1f} M parameters · {machine.device}",
        f"data   train {len(prepared.train):,} pairs ({count_of(tokens)} target tokens"
        + (f", {left_out:,} left out" if left_out else "")
        + (f", {prepared.train.cut:,} sources cut" if prepared.train.cut else "")
        + f") · valid {len(prepared.valid):,} · vocabulary {vocabulary}",
        f"folder {started.folder}",
        *resumed,
    ]


def progress_line(event: Any, steps: int, limit: float) -> str:
    """Steps and time, each with its end where it has one: a run that the time ends has no last step."""
    share = share_done(event, steps, limit)
    filled = round(share * 28)
    last = "" if limit and steps == ENDLESS else f" / {steps:,}"
    time_limit = f" / {duration(limit)}" if limit else ""
    return (
        f"step {event['step']:>7,}{last} {'━' * filled}{'─' * (28 - filled)} {share:4.0%}   "
        f"{duration(event['elapsed_s'])}{time_limit} left {time_left(event, share)}"
    )


def figures_line(event: Any, losses: list[float]) -> str:
    return (
        f"loss {event['loss']:.3f} {spark(losses)}   lr {event['lr']:.1e}   "
        f"{event['tokens_per_s']:,.0f} tok/s   grad {event['grad_norm']:.2f}"
    )


def valid_lines(event: Any) -> list[str]:
    scores = "   ".join(
        f"{label} {event[key]:.1f}" for key, label in SCORES.items() if event.get(key) is not None
    )
    best = "   best ✓" if event.get("best") else ""
    rows = [f"valid @{event['step']:,}   loss {event['loss']:.3f}   {scores}{best}"]
    for sample in (event.get("samples") or [])[:2]:
        rows += [
            f"  src  {sample['src'][:100]}",
            f"  hyp  {sample['hyp'][:100]}",
            f"  ref  {sample['ref'][:100]}",
        ]
    return rows


def spark(values: list[float], width: int = 16) -> str:
    """The last values as small bars."""
    if len(values) > width:  # spread over the whole run
        values = [values[round(i * (len(values) - 1) / (width - 1))] for i in range(width)]
    low, high = min(values, default=0.0), max(values, default=0.0)
    return "".join(BARS[round((value - low) / (high - low or 1) * 7)] for value in values)


@dataclass
class Follow:
    """A headline for each entry, the panel of its run below it, and its result."""

    entries: "Sequence[ComparisonEntry]"
    budget: "Budget"
    progress: "Progress"
    flag: list[int]
    _: KW_ONLY
    quiet: bool
    panel: Panel | None = None
    number: int = 0
    began: float = 0.0
    taken: list[float] = field(default_factory=list)  # seconds of each entry that ended in this sitting

    def close(self) -> None:
        if self.panel is not None:
            self.panel.close()
            self.panel = None

    @property
    def callbacks(self) -> "ExperimentCallbacks":
        from jumok.comparison.conduct import ExperimentCallbacks

        return ExperimentCallbacks(
            on_entry=self.begin,
            on_event=self.event,
            on_end=self.end,
            progress=self.progress,
            interrupted=lambda: bool(self.flag),
        )

    def begin(self, number: int, entry: "ComparisonEntry") -> None:
        self.close()
        self.number, self.began = number, time.monotonic()
        if not self.quiet:
            left = self.left(0.0)
            say(f"\n{number} of {len(self.entries)}: {entry.name}{f' · {left}' if left else ''}")
        steps, limit = entry.settings["training.max_steps"], entry.settings["training.time_limit"]
        self.panel = Panel(quiet=self.quiet, footer=lambda event: self.left(share_done(event, steps, limit)))
        self.panel.follow(steps, limit)

    def event(self, event: Mapping[str, Any]) -> None:
        if self.panel is not None:
            self.panel.event(event)

    def end(self, number: int, entry: "ComparisonEntry", measured: Mapping[str, Any]) -> None:
        self.close()
        if number == self.number:
            self.taken.append(time.monotonic() - self.began)
        if self.quiet:
            return
        if measured.get("error"):
            say(f"{entry.name}: {measured['status']}: {measured['error']['message']}")
        elif number != self.number:
            say(f"{number} of {len(self.entries)}: {entry.name} is done already")

    def left(self, share: float) -> str:
        """When all entries will be done, told from those that are or from the time they have; "" unknown."""
        rest = len(self.entries) - self.number
        if self.taken:
            each = sum(self.taken) / len(self.taken)
        elif self.budget.kind == "time":
            each = self.budget.value
        elif share > 0:
            each = (time.monotonic() - self.began) / share
        else:
            return ""
        return f"about {duration(each * (rest + 1 - share))} left for all"
