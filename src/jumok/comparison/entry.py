"""What an experiment is made of: its entries, the pairs they are tested on, and how they are measured.

An experiment's folder, which one command fills:

<entry>/          the run folder of each entry; `ComparisonEntry.folder` is its name
data/             tokenizer and token stores, the same for all
entries/<entry>/  entry.json what the child process is told, measured.json what it found, log.txt what it said
experiment.json   what was asked, and the settings that were chosen for each architecture
test.json         the pairs that all are tested on
report.json, report.html
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Self

from jumok.config import Arch
from jumok.settings import Flat

PLAIN = "plain"

Json = Mapping[str, Any]
Facts = dict[str, Any]
"""What the experiment itself knows, in the shape that the report has (schema compare/1): title, made,
version, command, data, machine, budget; and metric, which is only its name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonEntry:
    """One model of an experiment. `to_dict` and `from_dict` are each other's inverse."""

    name: str
    """Such as "rnn", "rnn-s2" or "transformer no-scale"."""
    arch: Arch
    group: str = PLAIN
    """"plain", or the ablation that the entry belongs to."""
    seed: int = 42
    changes: Mapping[str, Any] = field(default_factory=dict)
    """The settings in which an ablation differs from its plain entry, and nothing else."""
    settings: Flat = field(default_factory=dict)
    """Everything that is given to the run, by full name."""

    @property
    def folder(self) -> str:
        """The name of the entry's run folder, inside the experiment's."""
        return self.name.replace(" ", "-")

    def to_dict(self) -> dict[str, Any]:
        return {one.name: getattr(self, one.name) for one in fields(self)}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        return cls(**data)


def base_of(entry: Json, entries: Sequence[Json]) -> Json | None:
    """Which entry of a report an ablation is compared with: the one that shares most of its changes.

    Same architecture and seed, all of its changes also the ablation's, and fewer of them. For most that is
    the plain entry; kinds of positions are tried on short pairs, and compared with what learned from those.
    """
    changes = entry["changes"]
    fewer = [
        one
        for one in entries
        if (one["arch"], one["seed"]) == (entry["arch"], entry["seed"])
        and one["changes"].items() < changes.items()
        and one["group"] in (PLAIN, entry["group"])
    ]
    return max(fewer, key=lambda one: len(one["changes"]), default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class TestPairs:
    """What every entry of an experiment is tested on."""

    __test__ = False  # no class of tests, whatever pytest thinks of its name

    name: str
    sources: tuple[str, ...]
    answers: tuple[tuple[str, ...], ...]
    """The references of each source, one or several."""

    def __len__(self) -> int:
        return len(self.sources)

    @property
    def references(self) -> tuple[str, ...]:
        """The first reference of each source."""
        return tuple(one[0] for one in self.answers)

    def to_dict(self) -> dict[str, Any]:
        answers = [list(one) for one in self.answers]
        return {"name": self.name, "sources": list(self.sources), "answers": answers}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        answers = tuple(tuple(one) for one in data["answers"])
        return cls(name=data["name"], sources=tuple(data["sources"]), answers=answers)


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasureOptions:
    """How an entry is measured once it is trained."""

    metrics: tuple[str, ...] = ("bleu", "chrf")
    """The first is what the report speaks of."""
    device: str | None = None
    """Where to decode; none lets jumok choose."""
    bootstrap: int = 1000
    """Resamples behind each interval."""
    growth: bool = True
    """Measure how time and memory grow with length."""
    focus: bool = True
    """Measure attention's entropy and sharpness, and influence by distance."""

    def to_dict(self) -> dict[str, Any]:
        plain = {one.name: getattr(self, one.name) for one in fields(self)}
        return plain | {"metrics": list(self.metrics)}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        return cls(**(dict(data) | {"metrics": tuple(data["metrics"])}))
