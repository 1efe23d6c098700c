"""A report is written as JSON and as a page, also when an entry failed."""

import json
from pathlib import Path

from jumok.comparison.experiment import open_experiment
from jumok.comparison.publish import publish
from tests.comparison.conftest import tiny_request


def test_both_files_of_an_experiment_in_which_all_failed(corpus: Path) -> None:
    experiment = open_experiment(tiny_request(corpus))
    error = {"message": "it <diverged>", "where": "", "hint": ""}
    measured = {entry.name: {"status": "failed", "error": error} for entry in experiment.entries}
    report = publish(experiment, measured, "jumok compare")
    assert json.loads((experiment.out / "report.json").read_bytes()) == report
    assert report["schema"] == "compare/1"
    assert [entry["status"] for entry in report["entries"]] == ["failed", "failed"]
    page = (experiment.out / "report.html").read_text()
    assert "it &lt;diverged&gt;" in page
