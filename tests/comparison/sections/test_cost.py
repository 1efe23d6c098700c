"""Speed, memory, and growth beside the formula."""

import pytest
from tests.comparison.reading import Reader
from tests.comparison.sample import sample_report

from jumok.comparison.numbers import significant
from jumok.comparison.sections.cost import by_formula, growth_points, growth_section, speed_section
from jumok.comparison.view import View


def test_six_bars_each_and_a_table_of_all() -> None:
    view = View(sample_report())
    found = Reader(speed_section(view))
    assert len(found.all("figure")) == 6
    assert len(found.all("th", scope="row")) == len(view.entries)
    values = {float(one["data-y"]) for one, _ in found.all("g", cls="mark")}
    assert view.lineage[1]["speed"]["ms_per_sentence"]["median"] in values


def test_what_was_not_measured_is_left_out() -> None:
    report = sample_report()
    for entry in report["entries"]:
        if entry["memory"]:
            entry["memory"]["train_peak_bytes"] = None
    page = speed_section(View(report))
    assert "fig-train-memory" not in page
    assert "fig-decode-memory" in page
    for entry in report["entries"]:
        entry["memory"] = entry["speed"] = entry["growth"] = None
    assert speed_section(View(report)) == growth_section(View(report)) == ""


def test_the_formula_meets_the_last_measurement_and_keeps_its_shape() -> None:
    entry = sample_report()["entries"][0]
    dashed, growth = by_formula(entry), entry["growth"]
    assert dashed[-1].y == pytest.approx(growth["ms"][-1])
    assert dashed[0].y / dashed[-1].y == pytest.approx(growth["flops"][0] / growth["flops"][-1])
    entry["growth"]["flops"] = None
    assert by_formula(entry) == []


def test_growth_is_that_of_the_report() -> None:
    entry = sample_report()["entries"][0]
    for of in ("ms", "bytes", "flops"):
        points = growth_points(entry, of, significant)
        assert [(point.x, point.y) for point in points] == list(
            zip(entry["growth"]["lengths"], entry["growth"][of], strict=True)
        )
    entry["growth"]["ms"] = [0, -1, None, 5]
    assert [point is None for point in growth_points(entry, "ms", significant)] == [True, True, True, False]


def test_growth_has_three_figures_the_formulas_and_their_powers() -> None:
    found = Reader(growth_section(View(sample_report(seeds=2))))
    assert len(found.all("figure")) == 3
    assert [text for _, text in found.all("dt")] == ["rnn", "luong", "transformer"]
    assert found.all("sup")[0][1] == "1.02"
    report = sample_report()
    for entry in report["entries"][:3]:
        del entry["growth"]["exponents"]
    assert "time ~ n^1.02" in growth_section(View(report))
