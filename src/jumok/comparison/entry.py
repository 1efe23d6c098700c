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
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from jumok.config import Arch, RunConfig
from jumok.data.builtin import builtin_corpus
from jumok.errors import ConfigError
from jumok.formats.files import split_packing
from jumok.run.corpora import open_side
from jumok.run.prepare import Prepared
from jumok.settings import Flat

PLAIN = "plain"
VALIDATION = "validation"

# By what training looks at: the metric that the report speaks of, and those beside it.
METRICS = {
    "bleu": ("bleu", "chrf"),
    "chrf": ("chrf", "bleu"),
    "exact": ("exact", "cer"),
    "per": ("per", "exact"),
    "rouge1": ("rouge1", "rouge2", "rougeL"),
    "rougeL": ("rougeL", "rouge1", "rouge2"),
    "loss": ("bleu", "chrf"),
}

Json = Mapping[str, Any]
Facts = dict[str, Any]
"""What the experiment itself knows, in the shape that the report has (schema compare/1): title, made,
version, command, data, machine, budget; and metric, which is only its name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonEntry:
    """One model of an experiment."""

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


def read_test(source: str, target: str, config: RunConfig) -> TestPairs | None:
    """The pairs of the test files, or of the test split of a built-in set; None if there are neither."""
    data = config.data
    if target and not source:
        raise ConfigError("--test-target is given without --test-source", hint="give both, or none")
    if source:
        corpus = open_side(data, source, target)
        name = split_packing(Path(source).name)[0].split(".")[0] or "test"
    elif data.name:
        corpus, name = builtin_corpus(data.name, "test"), f"{data.name} test"
    else:
        return None
    lines = list(corpus.texts())
    return TestPairs(
        name=name,
        sources=tuple(source for source, *_ in lines),
        answers=tuple(tuple(answers) for _, *answers in lines),
    )


def validation_pairs(prepared: Prepared) -> TestPairs:
    """What validation looks at, when there is nothing else to test on."""
    return TestPairs(
        name=VALIDATION,
        sources=tuple(source for source, _ in prepared.valid_pairs),
        answers=tuple((target,) for _, target in prepared.valid_pairs),
    )
