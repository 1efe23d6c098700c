"""A comparison as a table for the terminal: a row for each model, then the tests and the summary."""

from collections.abc import Mapping
from textwrap import wrap
from typing import Any

from jumok.cli.views.view import columns, harmless, short, size_of
from jumok.comparison.summary import number, range_of
from jumok.progress import duration

WIDTH = 100
NOTHING = number(None)


def comparison_text(report: Mapping[str, Any], width: int = WIDTH) -> str:
    """Table, quality by length, pairs of neighbours, and the summary's sentences."""
    data, label = report["data"], report["metric"]["label"]
    heading = f"{report['title']}\n{label} on {data['test']:,} pairs of {data['test_name']}"
    parts = [heading, scores(report), costs(report), by_length(report), pairs(report), seeds(report)]
    sentences = ["\n".join(wrap(sentence, width)) for sentence in report["summary"]]
    return harmless("\n\n".join(part for part in (*parts, "\n".join(sentences)) if part))


def scores(report: Mapping[str, Any]) -> str:
    """Quality in every metric; the interval is of the first."""
    measured = [one for one in report["entries"] if one["quality"]]
    known = measured[0]["quality"]["metrics"] if measured else ()
    others = [name for name in known if name != report["metric"]["name"]]
    rows = [["model", report["metric"]["label"], "95 %", *others, "parameters", "steps", "training"]]
    for one in report["entries"]:
        found = one["quality"]
        metrics = found["metrics"] if found else {}
        rows.append(
            [
                one["name"],
                number(found["value"]) if found else one["status"],
                "[{}, {}]".format(*map(number, found["ci95"])) if found and found["ci95"] else "",
                *(number(metrics.get(name, {}).get("value")) for name in others),
                f"{one['parameters']:,}" if one.get("parameters") else NOTHING,
                f"{one['steps']:,}" if one.get("steps") is not None else NOTHING,
                duration(one["train_s"]) if one.get("train_s") is not None else NOTHING,
            ]
        )
    return columns(rows, right=range(1, len(rows[0])))


def costs(report: Mapping[str, Any]) -> str:
    """Speed and memory."""
    rows = [["model", "train tok/s", "sent/s", "ms/sent", "p95", "train mem", "decode mem"]]
    for one in report["entries"]:
        if (speed := one["speed"]) and (memory := one["memory"]):
            alone = speed["ms_per_sentence"]
            rate = speed["train_tokens_per_s"]
            bytes_ = (memory[key] for key in ("train_peak_bytes", "decode_peak_bytes"))
            rows.append(
                [
                    one["name"],
                    NOTHING if rate is None else short(rate),
                    f"{speed['sentences_per_s']:,.0f}",
                    f"{alone['median']:.1f}",
                    f"{alone['p95']:.1f}",
                    *(NOTHING if size is None else size_of(size) for size in bytes_),
                ]
            )
    return columns(rows, right=range(1, len(rows[0]))) if len(rows) > 1 else ""


def by_length(report: Mapping[str, Any]) -> str:
    """The metric by source length; a star marks few sentences, a plus what is past the training lengths."""
    measured = [one for one in report["entries"] if one["quality"] and one["quality"]["by_length"]["bins"]]
    if not measured:
        return ""
    tables: dict[tuple[str, ...], list[list[str]]] = {}
    for one in measured:  # one that learned from other lengths has other bins
        bins = one["quality"]["by_length"]["bins"]
        ranges = tuple(map(range_of, bins))
        tables.setdefault(ranges, [["model", *ranges]]).append([one["name"], *map(cell, bins)])
    unit = measured[0]["quality"]["by_length"]["unit"].replace("_", " ")
    marks = {"thin": "* few sentences", "beyond": "+ past the lengths of training"}
    every = [part for one in measured for part in one["quality"]["by_length"]["bins"]]
    notes = [text for mark, text in marks.items() if any(part[mark] for part in every)]
    title = "   ".join([f"{report['metric']['label']} by {unit}", *notes])
    return "\n".join((title, *(columns(rows, right=range(1, len(rows[0]))) for rows in tables.values())))


def cell(part: Mapping[str, Any]) -> str:
    return number(part["value"]) + ("+" if part["beyond"] else "*" if part["thin"] else " ")


def pairs(report: Mapping[str, Any]) -> str:
    """The paired tests."""
    label = report["metric"]["label"]
    rows = [
        (f"{one['after']} vs {one['before']}", f"{one['delta']:+.1f} {label}", f"p = {one['p']:.3f}")
        for one in report["pairs"]
    ]
    return columns(rows, right=(1,)) if rows else ""


def seeds(report: Mapping[str, Any]) -> str:
    """Mean, least and most over seeds, where there are several."""
    groups = [group for group in report["groups"] if len(group["seeds"]) > 1]
    if not groups:
        return ""
    rows = [["over seeds", "mean", "least", "most", "seeds"]]
    for group in groups:
        values = (number(group[key]) for key in ("mean", "min", "max"))
        rows.append([group["label"], *values, ", ".join(map(str, group["seeds"]))])
    return columns(rows, right=range(1, 4))
