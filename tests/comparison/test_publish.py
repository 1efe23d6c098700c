"""A report is written as JSON and as a page, also when an entry failed."""

import json
from pathlib import Path

from jumok.lineage.experiment import open_experiment
from jumok.lineage.publish import publish
from tests.lineage.conftest import tiny_asked


def test_both_files_of_an_experiment_in_which_all_failed(corpus: Path) -> None:
    experiment = open_experiment(tiny_asked(corpus))
    error = {"message": "it <diverged>", "where": "", "hint": ""}
    measured = {entry.name: {"status": "failed", "error": error} for entry in experiment.entries}
    report = publish(experiment, measured, "jumok compare")
    assert json.loads((experiment.out / "report.json").read_bytes()) == report
    assert report["schema"] == "compare/1"
    assert [entry["status"] for entry in report["entries"]] == ["failed", "failed"]
    page = (experiment.out / "report.html").read_text()
    assert "it &lt;diverged&gt;" in page
