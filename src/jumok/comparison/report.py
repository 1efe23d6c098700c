"""Entries to one report, schema compare/1: who is better, by how much, and does it hold for long sources.

Neighbours are compared on the same resamples: each generation with the one before it, each ablation with the
entry it is an ablation of.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import hypot
from pathlib import Path
from typing import Any

from jumok.comparison.bins import hopeless
from jumok.comparison.budget import spread
from jumok.comparison.entry import PLAIN, ComparisonEntry, Json, base_of
from jumok.comparison.measure import TESTED
from jumok.comparison.record import training_record
from jumok.comparison.summary import summarise
from jumok.errors import DataError
from jumok.evaluation.evaluate import score_texts
from jumok.evaluation.metrics import LABELS, LOWER_IS_BETTER
from jumok.evaluation.report import RESAMPLES, paired_test
from jumok.seals import unsealed
from jumok.training.log import finite

SCHEMA = "compare/1"
EXAMPLES = 12
MEASURED = ("speed", "memory", "quality", "attention", "influence", "growth")


def build_report(
    folder: Path,
    entries: Sequence[ComparisonEntry],
    measured: Mapping[str, dict[str, Any]],
    facts: Json,
) -> dict[str, Any]:
    """The report of an experiment whose runs lie in `folder`.

    `measured` has what `measure_entry` gave for each entry by name; for one that failed `status` and `error`,
    and for one that was not reached nothing. `facts` has title, made, version, command, data, machine, budget
    and `metric`, a metric's name. Nothing in the report is NaN or infinite.
    """
    rows = [row_of(folder, entry, measured.get(entry.name, {})) for entry in entries]
    metric = str(facts["metric"])
    tested = {
        entry.name: TestAnswers(**unsealed(json.loads(path.read_bytes())))
        for entry, row in zip(entries, rows, strict=True)
        if row["quality"] is not None and (path := folder / entry.folder / TESTED).is_file()
    }
    check_same_test(tested)
    lower = metric in LOWER_IS_BETTER
    counts = [row["parameters"] for row in rows if row["group"] == PLAIN and row.get("parameters")]
    found = [row["quality"]["metrics"] for row in rows if row["quality"]]
    signatures = [str(metrics[metric]["signature"]) for metrics in found if metric in metrics]
    add_examples(rows, tested)
    report = {
        "schema": SCHEMA,
        **{name: facts[name] for name in ("title", "made", "version", "command", "data", "machine")},
        "budget": {**facts["budget"], "spread": spread(counts) if counts else 0.0},
        "metric": {
            "name": metric,
            "label": LABELS[metric],
            "lower_is_better": lower,
            "signature": signatures[0] if signatures else "",  # how it was computed
        },
        "entries": rows,
        "groups": groups_of(rows),
        "pairs": [] if metric == "ppl" else pairs_of(rows, tested, metric),
        "slopes": [slope for row in rows if (slope := slope_of(row, lower=lower))],
    }
    plain: dict[str, Any] = finite(report)
    return plain | {"summary": summarise(plain)}


def row_of(folder: Path, entry: ComparisonEntry, measured: Json) -> dict[str, Any]:
    """One entry of the report; of a run that has not been measured what its log says."""
    record = {} if "quality" in measured else training_record(folder / entry.folder)
    for name in ("train_tokens_per_s", "process_peak_bytes"):
        record.pop(name, None)
    planned = {name: getattr(entry, name) for name in ("name", "arch", "group", "seed")}
    begun = {"status": "stopped", "error": None, "changes": dict(entry.changes)}
    row = {**planned, **begun, **record, **dict.fromkeys(MEASURED), **measured}
    row["settings"] = row.get("settings") or dict(entry.settings)
    if row["status"] == "completed" and row["quality"] is None:
        row["status"] = "stopped"  # trained, and stopped before it was measured
    return row


@dataclass(frozen=True)
class TestAnswers:
    """What an entry made of the test set."""

    data: str
    sha256: str
    sources: list[str]
    references: list[list[str]]
    hypotheses: list[str]
    chrf: list[float]


def check_same_test(tested: Mapping[str, TestAnswers]) -> None:
    """Refuse to compare what was measured on different test sets."""
    for (first, one), (name, other) in pairwise(tested.items()):
        if one.sha256 != other.sha256:
            raise DataError(
                f"{name} and {first} were tested on different sentences",
                where=f"sha256 {other.sha256[:12]}… and {one.sha256[:12]}…",
                hint="compare into another folder with --out",
                code="different_data",
            )


def groups_of(rows: Sequence[Json]) -> list[dict[str, Any]]:
    """Entries that differ only in their seed, together: mean, least and most of the metric."""
    names: dict[str, list[Json]] = {}
    for row in rows:
        without_seed = row["name"].replace(f"{row['arch']}-s{row['seed']}", row["arch"])
        names.setdefault(without_seed, []).append(row)
    groups = []
    for name, members in names.items():
        done = [row for row in members if row["quality"] and row["quality"]["value"] is not None]
        values = [row["quality"]["value"] for row in done]
        groups.append(
            {
                "name": name,
                "label": name,
                "arch": members[0]["arch"],
                "group": members[0]["group"],
                "entries": [row["name"] for row in members],
                "seeds": [row["seed"] for row in done],
                "mean": sum(values) / len(values) if values else None,
                "min": min(values, default=None),
                "max": max(values, default=None),
            }
        )
    return groups


def pairs_of(rows: Sequence[Json], tested: Mapping[str, TestAnswers], metric: str) -> list[dict[str, Any]]:
    """Each pair of neighbours: how far the second is above the first, and how likely chance goes that far."""
    rows = [row for row in rows if row["name"] in tested]
    options: dict[str, Any] = {"metrics": (metric,), "by_length": False, "bootstrap": 0}
    statistics = {}
    for row in rows:
        one, language = tested[row["name"]], str(row["settings"].get("data.target_language") or "")
        found = score_texts(one.hypotheses, one.references, language=language, **options)
        statistics[row["name"]] = found.statistics[metric]
    pairs = []
    for before, after in neighbours(rows):
        delta, p = paired_test(statistics[before], statistics[after])
        figures = {"delta": delta, "p": p, "resamples": RESAMPLES}
        pairs.append({"before": before, "after": after, "metric": metric, **figures})
    return pairs


def neighbours(rows: Sequence[Json]) -> Iterator[tuple[str, str]]:
    """Names of entries that stand side by side and share their seed."""
    seeds = dict.fromkeys(row["seed"] for row in rows)
    for seed in seeds:
        own = [row for row in rows if row["seed"] == seed]
        plain = [row for row in own if row["group"] == PLAIN]
        yield from ((one["name"], other["name"]) for one, other in pairwise(plain))
        for row in own:
            if row["group"] != PLAIN and (base := base_of(row, own)):
                yield base["name"], row["name"]


def slope_of(row: Json, *, lower: bool) -> dict[str, Any] | None:
    """The shortest bin against the longest that training has seen; None without two bins to trust.

    `falls` is true where long sources are worse and the intervals do not touch, false where the interval of
    the change has room for none, and null where the figures leave it open: between the two, or where short
    sources leave nothing to lose.
    """
    every = row["quality"]["by_length"]["bins"] if row["quality"] else []
    bins = [one for one in every if not one["thin"] and not one["beyond"]]
    if len(bins) < 2:
        return None
    short, long = (
        {key: one[key] for key in ("lo", "hi", "n", "value", "ci95")} for one in bins[:: len(bins) - 1]
    )
    if short["value"] is None or long["value"] is None:
        return None
    ci95: list[float] | None = None
    falls: bool | None = None
    if None not in (short["ci95"], long["ci95"]):
        ci95 = change_interval(short, long)
        falls = worse(long["ci95"], short["ci95"], lower=lower) or None
        if not worse(ci95, (0.0, 0.0), lower=lower) and not hopeless(short, lower=lower):
            falls = False
    return {
        "entry": row["name"],
        "short": short,
        "long": long,
        "change": long["value"] - short["value"],
        "ci95": ci95,
        "falls": falls,
    }


def change_interval(before: Json, after: Json) -> list[float]:
    """The 95 % interval of the difference of two values from those of both (Zou and Donner 2008):

    after - before ∓ √(distance to the lower end of one² + distance to the upper end of the other²)
    """
    (low, high), (low2, high2) = before["ci95"], after["ci95"]
    change = after["value"] - before["value"]
    down = hypot(after["value"] - low2, high - before["value"])
    up = hypot(high2 - after["value"], before["value"] - low)
    return [change - down, change + up]


def worse(one: Sequence[float], other: Sequence[float], *, lower: bool) -> bool:
    """Whether one interval lies on the worse side of another and does not touch it."""
    return one[0] > other[1] if lower else one[1] < other[0]


def add_examples(rows: Sequence[Json], tested: Mapping[str, TestAnswers]) -> None:
    """The same sentences for every entry: those whose answers differ most between generations, by chrF++."""
    plain = [row["name"] for row in rows if row["group"] == PLAIN and row["name"] in tested]
    lines = telling_lines([tested[name].chrf for name in plain or tested])
    for row in rows:
        if one := tested.get(row["name"]):
            sides = zip(one.sources, (right[0] for right in one.references), one.hypotheses, strict=True)
            every = [{"source": s, "reference": r, "hypothesis": h} for s, r, h in sides]
            row["quality"]["examples"] = [every[line] for line in lines]


def telling_lines(scores: Sequence[Sequence[float]]) -> list[int]:
    """Lines in falling order of how far their scores lie apart; with one list of scores the worst first."""
    columns = list(zip(*scores, strict=True))
    apart = [max(column) - min(column) if len(column) > 1 else -column[0] for column in columns]
    return sorted(range(len(columns)), key=lambda line: (-apart[line], line))[:EXAMPLES]
