"""Quality against length, within training and beyond."""

import pytest
from tests.comparison.reading import Reader
from tests.comparison.sample import sample_report

from jumok.comparison.sections.lengths import (
    beyond_section,
    bin_label,
    kind_of,
    length_chart,
    length_section,
    length_table,
)
from jumok.comparison.view import View


@pytest.mark.parametrize(("bin", "label"), [((1, 10), "1–10"), ((41, None), "41+"), ((7, 7), "7")])
def test_a_bin_in_words(bin, label) -> None:
    assert bin_label(bin) == label


def chart_of(view: View):
    return length_chart(
        view, "fig", "Title", [(view.label(one), view.tone(one), one) for one in view.lineage]
    )


def test_the_chart_has_the_bins_and_values_of_the_report() -> None:
    view = View(sample_report())
    chart = chart_of(view)
    assert [tick.label for tick in chart.x.ticks] == ["1–10", "11–20", "21–30", "31+"]
    for line, entry in zip(chart.lines, view.lineage, strict=True):
        bins = entry["quality"]["by_length"]["bins"]
        assert [(p.y, [p.lo, p.hi], p.hollow) for p in line.points] == [
            (one["value"], one["ci95"], one["thin"]) for one in bins
        ]
    assert (chart.beyond, chart.beyond_note) == (2.5, "beyond training: over 30")


def test_entries_with_other_bins_share_the_axis() -> None:
    report = sample_report()
    del report["entries"][0]["quality"]["by_length"]["bins"][1]
    view = View(report)
    chart = chart_of(view)
    assert [point is None for point in chart.lines[0].points] == [False, True, False, False]
    table = length_table(view, view.lineage)
    assert [row[0] for row in table.rows] == ["1–10", "11–20", "21–30", "31+ (beyond training)"]


def test_the_verdict_is_that_of_the_slopes() -> None:
    report = sample_report()
    report["slopes"].append(report["slopes"][2] | {"ci95": None})
    found = Reader(length_section(View(report)))
    verdicts = [text for _, text in found.all("td") if text.startswith(("fall", "show", "open", "not"))]
    assert verdicts == [
        "falls: the intervals do not overlap",
        "shows no fall",
        "open: the intervals do not decide",
        "not known",
    ]


def test_kinds_of_positions_are_drawn_beside_the_plain_ones() -> None:
    view = View(sample_report(ablations=("no-scale", "positions-none", "positions-learned")))
    assert [kind_of(one) for one in (view.lineage[2], *view.ablations[1:3])] == [
        "rotary, trained on all lengths", "no positions", "learned positions",
    ]  # fmt: skip
    page = beyond_section(view)
    assert "fig-beyond" in page
    assert "learned positions" in page
    assert "fig-beyond" not in beyond_section(View(sample_report(ablations=())))


def test_without_bins_or_without_longer_sources_there_is_no_section() -> None:
    report = sample_report()
    for entry in report["entries"]:
        for one in (entry["quality"] or {"by_length": {"bins": []}})["by_length"]["bins"]:
            one["beyond"] = False
    assert beyond_section(View(report)) == ""
    assert "beyond training" not in length_section(View(report))
    for entry in report["entries"]:
        entry["quality"] = None
    assert length_section(View(report)) == ""


def test_a_plain_model_with_other_bins_is_not_drawn_among_kinds_of_positions() -> None:
    report = sample_report(ablations=("positions-none", "positions-learned"))
    assert "rotary, trained on all lengths" in beyond_section(View(report))
    for entry in report["entries"][3:5]:
        entry["quality"]["by_length"]["trained_to"] = 20
        entry["quality"]["by_length"]["bins"][2]["lo"] = 22
    page = beyond_section(View(report))
    assert "rotary, trained on all lengths" not in page
    assert "learned positions" in page
    assert "beyond training: over 20" in page
