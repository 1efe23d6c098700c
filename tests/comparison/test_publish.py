"""A report is written as JSON and as a page, also when an entry failed.

The page has the JSON inside and no code of others, and says something without scripts.
"""

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from jumok.comparison import publish as publishing
from jumok.comparison.budget import Budget
from jumok.comparison.experiment import open_experiment
from jumok.comparison.publish import (
    budget_facts,
    data_name,
    facts_of,
    main_row,
    parameter_counts,
    plain_html,
    publish,
    report_page,
)
from tests.comparison.conftest import tiny_request
from tests.comparison.sample import failed_entry, sample_report

HOSTILE = "</script><script>alert(1)</script></noscript>\"'><img src=x onerror=alert(2)>&\u2028\x00\ud800"


class Reader(HTMLParser):
    """The tags of a page with their attributes, and the text inside scripts by their id."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: dict[str, str] = {}
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        if self.tags and self.tags[-1][0] == "script":
            name = self.tags[-1][1].get("id") or "page"
            self.scripts[name] = self.scripts.get(name, "") + data


@pytest.fixture(scope="module")
def page() -> str:
    return report_page(sample_report(seeds=2))


def test_the_report_is_inside(page: str) -> None:
    assert json.loads(Reader(page).scripts["jumok-report"]) == sample_report(seeds=2)


def test_nothing_is_loaded_and_only_our_own_script_runs(page: str) -> None:
    found = Reader(page)
    kinds = [attributes.get("type") for tag, attributes in found.tags if tag == "script"]
    assert kinds == ["application/json"] * 3 + [None]
    assert not [one for _, one in found.tags if "src" in one or any(name.startswith("on") for name in one)]
    [policy] = [one["content"] or "" for tag, one in found.tags if tag == "meta" and "http-equiv" in one]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert len(re.findall("'sha256-", policy)) == 2
    addresses = re.findall(r"https?://[\w.-]+", page)
    assert set(addresses) <= {"http://www.w3.org"}  # names of XML, not places


def replaced(value: Any, text: str) -> Any:
    """A report with a hostile text in front of every text."""
    if isinstance(value, dict):
        return {key: replaced(inner, text) for key, inner in value.items()}
    if isinstance(value, list):
        return [replaced(inner, text) for inner in value]
    return f"{text}{value}" if isinstance(value, str) else value


def test_hostile_texts_stay_texts() -> None:
    report = replaced(sample_report(), HOSTILE)
    page = report_page(report)
    found = Reader(page)
    assert [tag for tag, _ in found.tags].count("script") == 4
    assert not [one for tag, one in found.tags if tag == "img" or "onerror" in one]
    assert page.count("</noscript>") == 1
    page.encode()  # no half of a character


def test_without_scripts_it_has_the_summary_and_the_main_table() -> None:
    report = sample_report()
    plain = plain_html(report)
    for sentence in report["summary"]:
        assert f"<li>{sentence}</li>" in plain
    row = ("rnn", "60.2", "59.0 to 61.5", "420,002", "1,001", "72", "completed")
    assert f"<tr>{''.join(f'<td>{one}</td>' for one in row)}</tr>" in plain
    assert plain.count("<tr>") == 1 + len(report["entries"])
    assert f"<noscript>{plain}</noscript>" in report_page(report)


def test_an_entry_that_failed_has_a_row() -> None:
    assert main_row(failed_entry("rnn no-scale")) == ["rnn no-scale", "–", "–", "–", "–", "–", "failed"]
    early = {key: value for key, value in failed_entry("a").items() if key not in ("steps", "train_s")}
    assert main_row(early)[-1] == "failed"  # nothing was logged yet


def test_nothing_is_a_number_too() -> None:
    entry = {"name": "rnn", "quality": {"value": 0.0, "ci95": [0.0, 0.04]}, "status": "stopped"}
    entry |= {"parameters": 0, "steps": 0, "train_s": 0.4}
    assert main_row(entry) == ["rnn", "0.0", "0.0 to 0.0", "0", "0", "0", "stopped"]
    large = {"parameters": 1_234_567, "steps": 12_345, "train_s": 1234.6}
    assert main_row(entry | large)[3:6] == ["1,234,567", "12,345", "1235"]


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ({"data.source": "/a/b/train.en.gz"}, "train.en"),
        ({"data.source": "train.tsv"}, "train.tsv"),
        ({"data.name": "dates", "data.source": "x"}, "dates"),
        ({}, ""),
    ],
)
def test_data_are_called_by_their_name_or_their_file(given: dict[str, str], name: str) -> None:
    experiment: Any = SimpleNamespace(request=SimpleNamespace(given=given))
    assert data_name(experiment) == name


@pytest.mark.parametrize(
    ("counts", "matched", "spread"),
    [((1000, 1049), True, 0.049), ((1000, 1051), False, 0.051), ((30_000, 30_007), True, 0.0002)],
)
def test_sizes_within_a_twentieth_are_matched(
    counts: tuple[int, int],
    matched: bool,  # noqa: FBT001
    spread: float,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(publishing, "parameter_counts", lambda _: dict(zip("ab", counts, strict=True)))
    experiment: Any = SimpleNamespace(request=SimpleNamespace(budget=Budget("steps", 7)))
    assert budget_facts(experiment) == {"kind": "steps", "value": 7, "matched": matched, "spread": spread}


def test_two_vocabularies_count_together(corpus: Path) -> None:
    experiment = open_experiment(tiny_request(corpus, text__shared=False))
    both = experiment.prepared.tokenizers
    assert not both.shared
    assert facts_of(experiment, "")["data"]["vocabulary"] == both.source.size + both.target.size


def test_twenty_entries_fit_into_a_megabyte() -> None:
    report = sample_report(seeds=3, ablations=tuple(f"cut-{n}" for n in range(10)), points=200)
    assert len(report["entries"]) == 20
    assert len(report_page(report).encode()) < 1_000_000


def test_equal_reports_give_equal_pages(page: str) -> None:
    assert report_page(sample_report(seeds=2)) == page


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


def test_facts(corpus: Path) -> None:
    experiment = open_experiment(tiny_request(corpus, metrics=("exact", "cer")))
    facts = facts_of(experiment, "jumok compare --source train.src")
    assert facts["title"] == "train.src: rnn and transformer"
    assert facts["command"] == "jumok compare --source train.src"
    assert facts["metric"] == "exact"
    data = facts["data"]
    assert (data["train"], data["valid"], data["test"], data["test_name"]) == (280, 20, 20, "validation")
    assert data["vocabulary"] == experiment.prepared.tokenizers.target.size
    counts = parameter_counts(experiment)
    apart = max(counts.values()) / min(counts.values()) - 1
    assert facts["budget"] == {
        "kind": "steps",
        "value": 6,
        "matched": apart <= 0.05,
        "spread": round(apart, 4),
    }
    assert facts["machine"]["device"] == "cpu"
