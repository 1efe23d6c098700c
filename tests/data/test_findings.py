"""Findings are plain data, and keep the first lines."""

import json

from jumok.data.findings import KINDS, SEVERITIES, Finding, FindingNotes


def test_notes_count_all_lines_and_keep_the_first() -> None:
    notes = FindingNotes("valid")
    for line in range(1, 41):
        notes.add("copied", line, f"line {line}")
    notes.add("nul", 7, "a")
    assert notes.findings() == [
        Finding("copied", "valid", 40, tuple(range(1, 11)), "line 1"),
        Finding("nul", "valid", 1, (7,), "a"),
    ]


def test_a_finding_is_plain_data_with_its_advice() -> None:
    found = Finding("nul", "train", 2, (3, 9), "a\\x00")
    data = found.to_dict()
    assert (data["severity"], data["title"], data["advice"]) == (found.severity, found.title, found.advice)
    assert json.loads(json.dumps(data)) == data
    assert (data["severity"], data["title"], data["lines"]) == ("error", "NUL characters", [3, 9])
    assert "--fix removes" in data["advice"]


def test_every_kind_says_how_bad_it_is_and_what_to_do() -> None:
    assert all(kind.severity in SEVERITIES and kind.title and kind.advice for kind in KINDS.values())
