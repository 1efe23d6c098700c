"""The report of an experiment as files: report.json for programs, report.html for people.

The page opens from disk and draws itself: report.json and its own charts are inside, and nothing to load.
Without scripts it still has the summary and the main table.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from html import escape
from pathlib import Path
from typing import Any

from jumok import __version__
from jumok.checkpoint.folder import replace_file
from jumok.comparison.budget import WITHIN, count, spread
from jumok.comparison.entry import Facts
from jumok.comparison.experiment import Experiment
from jumok.comparison.report import build_report
from jumok.comparison.summary import joined, number
from jumok.config import Arch
from jumok.explain.page import block, bundle, one_line, page_around, to_json
from jumok.formats.files import split_packing
from jumok.settings import nest, parse_config

REPORT, PAGE = "report.json", "report.html"
NO_MODELS: Mapping[str, Any] = {"models": [], "traces": [], "answers": {}}
"""Tells the page's parts that there is no server to ask."""
WORDS = ("chart", "figure", "shell")  # the messages that charts and their frames need


def publish(experiment: Experiment, measured: Mapping[str, dict[str, Any]], command: str) -> dict[str, Any]:
    """Make the report (schema compare/1) of what was measured, and write it into the experiment's folder."""
    facts = facts_of(experiment, command)
    report: dict[str, Any] = build_report(experiment.out, experiment.entries, measured, facts)
    data = json.dumps(report, ensure_ascii=False, allow_nan=False, indent=1).encode() + b"\n"
    replace_file(experiment.out / REPORT, data)
    replace_file(experiment.out / PAGE, report_page(report).encode())
    return report


def facts_of(experiment: Experiment, command: str) -> Facts:
    """What `build_report` asks for: the fields of schema compare/1 that no entry decides."""
    return {
        "title": f"{data_name(experiment)}: {joined(experiment.request.archs)}",
        "made": datetime.now(UTC).isoformat(timespec="seconds"),
        "version": __version__,
        "command": command,
        "data": data_facts(experiment),
        "machine": {
            "name": experiment.machine.name,
            "cores": experiment.machine.cores,
            "device": experiment.machine.device,
        },
        "budget": budget_facts(experiment),
        "metric": experiment.options.metrics[0],
    }


def data_name(experiment: Experiment) -> str:
    """The built-in set's name, or that of the source file."""
    given = experiment.request.given
    file = split_packing(Path(str(given.get("data.source", ""))).name)[0]
    return str(given.get("data.name") or file)


def data_facts(experiment: Experiment) -> Facts:
    prepared, settings = experiment.prepared, next(iter(experiment.bases.values()))
    tokenizers = prepared.tokenizers
    target = 0 if tokenizers.shared else tokenizers.target.size
    return {
        "name": data_name(experiment),
        "train": len(prepared.train),
        "valid": len(prepared.valid_pairs),
        "test": len(experiment.test),
        "test_name": experiment.test.name,
        "sha256": experiment.fingerprint,
        "source_language": settings["data.source_language"],
        "target_language": settings["data.target_language"],
        "vocabulary": tokenizers.source.size + target,
    }


def parameter_counts(experiment: Experiment) -> dict[Arch, int]:
    """Parameters of each architecture's plain entries, by formula."""
    tokenizers = experiment.prepared.tokenizers
    return {
        arch: count(parse_config(nest(settings)).model, tokenizers)
        for arch, settings in experiment.bases.items()
    }


def budget_facts(experiment: Experiment) -> Facts:
    """The budget of an entry, and how far the sizes of the plain entries are apart."""
    apart = spread(parameter_counts(experiment).values())
    return asdict(experiment.request.budget) | {"matched": apart <= WITHIN, "spread": round(apart, 4)}


def report_page(report: Mapping[str, Any]) -> str:
    """The page of a report of schema compare/1. Equal reports give equal pages."""
    page = bundle("report")
    words = {"en": {name: page.words["en"][name] for name in WORDS}}
    data = {"words": words, "data": NO_MODELS, "report": report}
    blocks = (block("application/json", f"jumok-{name}", to_json(value)) for name, value in data.items())
    return page_around(page, report["title"], plain_html(report), *blocks)


def plain_html(report: Mapping[str, Any]) -> str:
    """The summary's sentences and the main table, for browsers that run no scripts."""
    said = "".join(f"<li>{text(sentence)}</li>" for sentence in report["summary"])
    head = ["model", report["metric"]["label"], "95 % interval", "parameters", "steps", "seconds", "status"]
    rows = "".join(f"<tr>{cells('td', main_row(entry))}</tr>" for entry in report["entries"])
    return (
        f"<main><h1>{text(report['title'])}</h1><p>The figures of this report need scripts; "
        f"its numbers are in report.json.</p><ul>{said}</ul>"
        f'<table class="data"><thead><tr>{cells("th", head)}</tr></thead><tbody>{rows}</tbody></table></main>'
    )


def main_row(entry: Mapping[str, Any]) -> list[str]:
    quality = entry["quality"] or {}
    ends = quality.get("ci95")
    return [
        entry["name"],
        number(quality.get("value")),
        "–" if ends is None else " to ".join(map(number, ends)),
        *(f"{entry[key]:,.0f}" if entry.get(key) is not None else "–" for key in ("parameters", "steps")),
        f"{entry['train_s']:.0f}" if entry.get("train_s") is not None else "–",
        entry["status"],
    ]


def cells(tag: str, texts: Sequence[str]) -> str:
    return "".join(f"<{tag}>{text(one)}</{tag}>" for one in texts)


def text(value: str) -> str:
    return escape(one_line(value))
