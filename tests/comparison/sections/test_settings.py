"""Settings, and how the report was made."""

import pytest
from tests.comparison.reading import Reader
from tests.comparison.sample import sample_report

from jumok.comparison.sections.settings import budget_text, settings_section
from jumok.comparison.view import View


@pytest.mark.parametrize(
    ("kind", "value", "text"),
    [
        ("time", 600.0, "10 min of training"),
        ("steps", 1000.0, "1,000 steps"),
        ("flops", 2e15, "2 P FLOPs"),
        ("else", 1, ""),
        ("time", None, "– of training"),
    ],
)
def test_the_budget_in_words(kind, value, text) -> None:
    assert budget_text(View({"budget": {"kind": kind, "value": value}})) == text


def test_settings_are_parted_by_whether_they_differ() -> None:
    found = Reader(settings_section(View(sample_report())))
    assert [text for _, text in found.all("summary")] == ["Where the entries differ"]  # a failed one has few
    plain = sample_report()
    plain["entries"].pop()
    found = Reader(settings_section(View(plain)))
    different, same = (text for _, text in found.all("table"))
    assert "model.arch" in different
    assert "model.width" in same
    facts = dict(zip((t for _, t in found.all("dt")), (t for _, t in found.all("dd")), strict=True))
    assert facts["command"] == "jumok compare --data dates"
    assert facts["machine"] == "a machine, 2 cores, cpu"
    assert "48,003 training pairs" in facts["data"]
    assert facts["made"] == "2026-01-01T12:00:00Z with jumok 0.1.0"


def test_a_report_without_anything_has_no_section() -> None:
    assert settings_section(View({})) == ""
