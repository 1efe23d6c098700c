"""An experiment as people watch it: which entry is trained, how far it is, and when all will be done."""

import time
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from jumok.cli.shared.console import duration, say
from jumok.cli.shared.panel import Panel, share_done

if TYPE_CHECKING:
    from jumok.comparison.budget import Budget
    from jumok.comparison.conduct import ExperimentCallbacks
    from jumok.comparison.entry import ComparisonEntry
    from jumok.progress import Progress


class Follow:
    """A headline for each entry, the panel of its run below it, and its result."""

    def __init__(
        self,
        entries: "Sequence[ComparisonEntry]",
        budget: "Budget",
        progress: "Progress",
        flag: list[int],
        *,
        quiet: bool,
    ) -> None:
        self.entries, self.budget, self.quiet = entries, budget, quiet
        self.progress, self.flag = progress, flag
        self.panel: Panel | None = None
        self.number, self.began = 0, 0.0
        self.taken: list[float] = []  # seconds of each entry that ended in this sitting

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

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
