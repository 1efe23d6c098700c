"""The report as the page reads it: a field that is missing or no number is None, never an error."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from jumok.comparison.entry import PLAIN
from jumok.comparison.numbers import real
from jumok.evaluation.metrics import LABELS as METRICS

Json = Mapping[str, Any]

LABELS = METRICS | {"exact": "exact match"}
UP_TO_100 = {"exact", "bleu", "bleu-lc", "chrf", "chrf-char", "rouge1", "rouge2", "rougeL"}


def at(value: Any, *keys: str | int) -> Any:
    """What stands under these keys, or None."""
    for key in keys:
        if isinstance(key, int) and isinstance(value, list | tuple):
            value = value[key] if -len(value) <= key < len(value) else None
        elif isinstance(value, Mapping):
            value = value.get(key)
        else:
            return None
    return value


def items(value: Any, *keys: str | int) -> list[Any]:
    """A list under these keys; an empty one when there is none."""
    found = at(value, *keys)
    return list(found) if isinstance(found, list | tuple) else []


def fields(value: Any, *keys: str | int) -> Json:
    """An object under these keys; an empty one when there is none."""
    found = at(value, *keys)
    return found if isinstance(found, Mapping) else {}


def word(value: Any, *keys: str | int, other: str = "") -> str:
    """A text under these keys."""
    found = at(value, *keys)
    return other if found is None else str(found)


def ends(interval: Any) -> tuple[float | None, float | None]:
    """Both ends of an interval, or neither."""
    low, high = real(at(interval, 0)), real(at(interval, 1))
    return (low, high) if low is not None and high is not None and low <= high else (None, None)


@dataclass(frozen=True)
class View:
    """A report of schema compare/1, and what every section asks of it."""

    report: Json

    @cached_property
    def entries(self) -> list[Json]:
        return [one for one in items(self.report, "entries") if isinstance(one, Mapping)]

    @cached_property
    def lineage(self) -> list[Json]:
        """The plain entries: what the story is about."""
        return [one for one in self.entries if word(one, "group", other=PLAIN) == PLAIN]

    @cached_property
    def ablations(self) -> list[Json]:
        return [one for one in self.entries if word(one, "group", other=PLAIN) != PLAIN]

    @cached_property
    def archs(self) -> list[str]:
        """Architectures in the order of the report; the place is the colour."""
        return list(dict.fromkeys(word(one, "arch") for one in self.entries))

    @cached_property
    def seeded(self) -> bool:
        """Some architecture has more than one plain entry."""
        return len({word(one, "arch") for one in self.lineage}) < len(self.lineage)

    def tone(self, entry: Json) -> int:
        return self.archs.index(word(entry, "arch"))

    def label(self, entry: Json) -> str:
        """The name of an entry's line; seeds of one architecture share one."""
        same = [one for one in self.lineage if word(one, "arch") == word(entry, "arch")]
        return word(entry, "arch") if entry not in self.ablations and len(same) > 1 else word(entry, "name")

    def firsts(self) -> list[Json]:
        """One plain entry of each architecture: for what does not depend on the seed."""
        found: dict[str, Json] = {}
        for one in self.lineage:
            if word(one, "status") == "completed":
                found.setdefault(word(one, "arch"), one)
        return list(found.values())

    def base(self, entry: Json) -> Json | None:
        """The plain entry that an ablation changes: same architecture, and same seed if there is one."""
        same = [one for one in self.lineage if word(one, "arch") == word(entry, "arch")]
        seeds = [one for one in same if at(one, "seed") == at(entry, "seed")]
        return next(iter(seeds or same), None)

    def pair(self, before: str, after: str) -> Json | None:
        """The paired test between two entries."""
        wanted = (before, after)
        found = (
            one for one in items(self.report, "pairs") if (word(one, "before"), word(one, "after")) == wanted
        )
        return next((one for one in found if word(one, "metric") in ("", self.metric)), None)

    @property
    def metric(self) -> str:
        return word(self.report, "metric", "name")

    @property
    def metric_label(self) -> str:
        return LABELS.get(self.metric) or word(self.report, "metric", "label", other=self.metric) or "quality"

    @property
    def metric_title(self) -> str:
        """The metric at the head of a figure."""
        return self.metric_label[:1].upper() + self.metric_label[1:]

    @property
    def metric_axis(self) -> str:
        """The metric along an axis: with its unit, and which way is better."""
        unit = " in %" if self.metric == "exact" else ""
        return f"{self.metric_label}{unit}, {self.direction}"

    @property
    def direction(self) -> str:
        return (
            "lower is better" if at(self.report, "metric", "lower_is_better") is True else "higher is better"
        )

    @property
    def most(self) -> float | None:
        """The best value that the metric can have, where there is one."""
        return 100.0 if self.metric in UP_TO_100 else None


def names(view: View, entries: Sequence[Json]) -> str:
    """Entries in a sentence: rnn, luong and transformer."""
    found = [view.label(one) for one in entries]
    found = list(dict.fromkeys(found))
    return " and ".join(filter(None, (", ".join(found[:-1]), found[-1]))) if found else ""
