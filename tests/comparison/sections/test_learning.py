"""Learning curves."""

import pytest
from tests.comparison.reading import Reader
from tests.comparison.sample import sample_report

from jumok.comparison.sections.learning import (
    MOST_POINTS,
    ROWS,
    curve_table,
    curves_of,
    learning_section,
    thinned,
)
from jumok.comparison.view import View


@pytest.mark.parametrize("of", ["score", "loss"])
@pytest.mark.parametrize(("over", "per"), [("elapsed_s", 60), ("tokens", 1)])
def test_curves_are_those_of_the_report(over, per, of) -> None:
    view = View(sample_report())
    for line, entry in zip(curves_of(view, view.lineage, over, of, per), view.lineage, strict=True):
        assert [point.x * per for point in line.points] == pytest.approx(entry["curves"][over])
        assert [point.y for point in line.points] == entry["curves"][of]


def test_four_figures_and_one_table() -> None:
    found = Reader(learning_section(View(sample_report())))
    assert len(found.all("figure")) == 4
    assert len(found.all("table")) == 1
    assert "minutes" not in learning_section(View(sample_report()))
    assert "training time, minutes" in learning_section(View(sample_report(points=40)))


def test_a_number_that_is_missing_is_a_gap() -> None:
    report = sample_report()
    report["entries"][0]["curves"]["loss"][2] = None
    (line,) = curves_of(View(report), report["entries"][:1], "tokens", "loss", 1)
    assert [point is None for point in line.points] == [False, False, True, False, False, False]


def test_many_points_are_thinned_and_the_last_stays() -> None:
    many = [(n, n) for n in range(1000)]
    assert thinned(many)[-1] == many[-1]
    assert len(thinned(many)) <= MOST_POINTS + 1
    assert thinned(many[:5]) == many[:5]
    view = View(sample_report(points=1000))
    table = curve_table(view, view.lineage)
    assert len(table.rows) <= ROWS + len(view.lineage)
    assert "left out" in table.caption


def test_without_curves_there_is_no_section() -> None:
    report = sample_report()
    for entry in report["entries"]:
        entry["curves"] = None
    assert learning_section(View(report)) == ""


def test_curves_name_the_metric_that_training_looked_at() -> None:
    report = sample_report()
    report["metric"] |= {"name": "cer", "label": "CER", "lower_is_better": True}
    for entry in report["entries"]:
        entry["settings"]["training.metric"] = "bleu"
    page = learning_section(View(report))
    assert "BLEU, validation" in page
    assert "CER" not in page
