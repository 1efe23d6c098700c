"""The models side by side."""

from tests.comparison.reading import Reader
from tests.comparison.sample import sample_report

from jumok.comparison.sections.quality import main_table, quality_row, quality_section
from jumok.comparison.view import View


def test_a_row_is_the_value_and_its_interval() -> None:
    view = View(sample_report())
    row = quality_row(view, view.lineage[0])
    quality = view.lineage[0]["quality"]
    (mark,) = row.marks
    assert (mark.value, [mark.lo, mark.hi]) == (quality["value"], quality["ci95"])
    assert row.text == "60.2 (59.0 to 61.5)"
    assert mark.tip == ("rnn", "exact match: 60.2", "95 %: 59.0 to 61.5", "2,022 sentences")


def test_an_entry_without_a_value_says_what_became_of_it() -> None:
    report = sample_report()
    view = View(report)
    assert quality_row(view, view.entries[-1]).text == "failed"
    report["entries"][0]["quality"]["value"] = None
    assert quality_row(View(report), report["entries"][0]).text == "not measured"


def test_the_table_has_every_entry_and_marks_the_failed() -> None:
    view = View(sample_report())
    assert len(main_table(view).rows) == len(view.entries)
    found = Reader(quality_section(view))
    assert [text for _, text in found.all("span", cls="badge failed")] == ["failed"]


def test_pairs_and_seeds_are_shown_where_there_are_some() -> None:
    one, three = (quality_section(View(sample_report(seeds=seeds))) for seeds in (1, 3))
    assert "Over seeds" not in one
    assert "Over seeds" in three
    assert "rnn → luong" in one
    alone = {**sample_report(), "pairs": [], "groups": None}
    assert "Paired tests" not in quality_section(View(alone))


def test_no_entries_no_section() -> None:
    assert quality_section(View({})) == quality_section(View({"entries": []})) == ""
