"""The report of an experiment as files: report.json for programs, report.html for people."""

import json
from collections.abc import Mapping
from typing import Any

from jumok.checkpoint.folder import replace_file
from jumok.comparison.experiment import Experiment
from jumok.comparison.facts import facts_of
from jumok.comparison.page import report_page
from jumok.comparison.report import build_report

REPORT, PAGE = "report.json", "report.html"


def publish(experiment: Experiment, measured: Mapping[str, dict[str, Any]], command: str) -> dict[str, Any]:
    """Make the report (schema compare/1) of what was measured, and write it into the experiment's folder."""
    facts = facts_of(experiment, command)
    report: dict[str, Any] = build_report(experiment.out, experiment.entries, measured, facts)
    data = json.dumps(report, ensure_ascii=False, allow_nan=False, indent=1).encode() + b"\n"
    replace_file(experiment.out / REPORT, data)
    replace_file(experiment.out / PAGE, report_page(report).encode())
    return report
