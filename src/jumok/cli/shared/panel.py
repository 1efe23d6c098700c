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
from jumok.run.report import SCORES, SpacedLines, event_line, share_done, time_left

if TYPE_CHECKING:
    from rich.live import Live

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
    name: str = ""  # of the run, where several are watched at once
    hosted: bool = False  # someone else draws it, and opens and closes the live display
    live: "Live | None" = None
    losses: list[float] = field(default_factory=list)
    steps: int = 0
    limit: float = 0.0
    train: dict[str, Any] = field(default_factory=dict)
    valid: dict[str, Any] = field(default_factory=dict)
    step: int = 0
    elapsed: float = 0.0  # of the run, when it was last heard of
    heard: float = 0.0  # when that was
    spaced: SpacedLines = field(default_factory=SpacedLines)

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
        if not self.quiet and not self.hosted and stderr_is_live():
            self.live = live_display(self.lines)

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
            line = event_line(event, self.steps, self.limit)
            if line and self.spaced.due(event):
                say(" ".join(filter(None, (stamp(), self.name, line))))
        elif event["type"] == "notice":
            self.live.console.print(" ".join(filter(None, ("note ", self.name, event["message"]))))
        if event["type"] == "end" and not self.hosted:
            self.close()

    def lines(self) -> list[str]:
        """The panel: progress, the last figures, the last look at the validation set."""
        rows = [self.name] if self.name else []
        if self.step:
            passed = self.elapsed + time.monotonic() - self.heard
            rows.append(progress_line({"step": self.step, "elapsed_s": passed}, self.steps, self.limit))
        if self.train:
            rows.append(figures_line(self.train, self.losses))
        if self.valid:
            rows += valid_lines(self.valid)[: 1 if self.name else None]  # beside others there is little room
        return rows

    @property
    def share(self) -> float:
        """How much of the run is done."""
        now = {"step": self.step, "elapsed_s": self.elapsed}
        return share_done(now, self.steps, self.limit) if self.step else 0.0


def live_display(lines: Callable[[], list[str]]) -> "Live":
    """A part of the terminal that shows these lines; a thread of its own asks for them every second."""
    from rich.console import Console
    from rich.live import Live
    from rich.text import Text

    live = Live(
        console=Console(stderr=True),
        get_renderable=lambda: Text("\n".join(lines())),
        refresh_per_second=REFRESH,
    )
    live.start()
    return live


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
    scores += "".join(
        f"   {key.replace('_', ' ')} {event[key]:.1f}" for key in event if key.startswith("kept_")
    )
    best = "   best ✓" if event.get("best") else ""
    rows = [f"valid @{event['step']:,}   loss {event['loss']:.3f}   {scores}{best}"]
    rows += [f"  {line}" for line in direction_lines(event)]
    for sample in (event.get("samples") or [])[:2]:
        rows += [
            f"  src  {sample['src'][:100]}",
            f"  hyp  {sample['hyp'][:100]}",
            f"  ref  {sample['ref'][:100]}",
        ]
    return rows


def direction_lines(event: Any) -> list[str]:
    """What each of several directions scored, a line for each."""
    found = event.get("directions") or {}
    return [
        f"{way}   loss {one.get('loss', float('nan')):.3f}   "
        + "   ".join(f"{label} {one[key]:.1f}" for key, label in SCORES.items() if one.get(key) is not None)
        for way, one in found.items()
    ]


def spark(values: list[float], width: int = 16) -> str:
    """The last values as small bars."""
    if len(values) > width:  # spread over the whole run
        values = [values[round(i * (len(values) - 1) / (width - 1))] for i in range(width)]
    low, high = min(values, default=0.0), max(values, default=0.0)
    return "".join(BARS[round((value - low) / (high - low or 1) * 7)] for value in values)


@dataclass
class Follow:
    """A headline for each entry, the panels of the runs that go on below it, and their results."""

    entries: "Sequence[ComparisonEntry]"
    budget: "Budget"
    progress: "Progress"
    flag: list[int]
    _: KW_ONLY
    quiet: bool
    at_once: int = 1
    names: Mapping[str, str] = field(default_factory=dict)  # what to call entries, if not by their names
    panels: dict[int, Panel] = field(default_factory=dict)  # of the runs that go on
    began: dict[int, float] = field(default_factory=dict)  # when each entry of this sitting began
    taken: list[float] = field(default_factory=list)  # seconds of each that ended in this sitting
    live: "Live | None" = None

    def close(self) -> None:
        """Leave the last picture on the screen."""
        self.draw(live=False)
        self.panels.clear()

    def draw(self, *, live: bool = True) -> None:
        """Begin a new picture below what has been said, or no more."""
        if self.live is not None:
            self.live.stop()
        shown = live and bool(self.panels) and not self.quiet and stderr_is_live()
        self.live = live_display(self.lines) if shown else None
        for panel in self.panels.values():
            panel.live = self.live

    def lines(self) -> list[str]:
        """All panels, and when all entries will be done."""
        return [*(line for panel in list(self.panels.values()) for line in panel.lines()), self.left()]

    def title(self, entry: "ComparisonEntry") -> str:
        return self.names.get(entry.name, entry.name)

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
        self.draw(live=False)
        self.began[number] = time.monotonic()
        panel = Panel(quiet=self.quiet, name=entry.name if self.at_once > 1 else "", hosted=True)
        self.panels[number] = panel
        panel.follow(entry.settings["training.max_steps"], entry.settings["training.time_limit"])
        if not self.quiet:
            left = self.left()
            head = f"{number} of {len(self.entries)}: {self.title(entry)}{f' · {left}' if left else ''}"
            say(head if len(self.panels) > 1 else f"\n{head}")
        self.draw()

    def event(self, number: int, event: Mapping[str, Any]) -> None:
        if number in self.panels:
            self.panels[number].event(event)

    def end(self, number: int, entry: "ComparisonEntry", measured: Mapping[str, Any]) -> None:
        self.draw(live=False)
        self.panels.pop(number, None)
        if number in self.began:
            self.taken.append(time.monotonic() - self.began[number])
        if measured.get("error") and not self.quiet:
            say(f"{self.title(entry)}: {measured['status']}: {measured['error']['message']}")
        elif number not in self.began and not self.quiet:
            say(f"{number} of {len(self.entries)}: {self.title(entry)} is done already")
        self.draw()

    def left(self) -> str:
        """When all entries will be done, told from those that are or from the time they have; "" unknown."""
        shares = {number: panel.share for number, panel in self.panels.items()}
        spent = sum(time.monotonic() - self.began[number] for number in shares)
        if self.taken:
            each = sum(self.taken) / len(self.taken)
        elif self.budget.kind == "time":
            each = self.budget.value
        elif sum(shares.values()) > 0:
            each = spent / sum(shares.values())
        else:
            return ""
        rest = len(self.entries) - max(self.panels, default=len(self.entries))
        work = rest + len(shares) - sum(shares.values())
        return f"about {duration(each * work / min(self.at_once, max(1, rest + len(shares))))} left for all"
