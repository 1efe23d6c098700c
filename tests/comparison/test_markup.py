"""Parts of the page: tables that keep their numbers, figures with their twins."""

from jumok.comparison.axes import Axis
from jumok.comparison.markup import (
    Num,
    Raw,
    Table,
    line_figure,
    section,
    shown,
    side_by_side,
    table_html,
    with_interval,
)
from jumok.comparison.numbers import short
from jumok.comparison.plot import Chart, Line, Point
from tests.comparison.reading import Reader


def test_a_number_keeps_its_exact_value() -> None:
    assert shown(421888, short) == '<data value="421888">422 k</data>'
    assert shown(58.4444) == '<data value="58.4444">58.4</data>'
    assert shown(None) == shown(float("nan")) == "–"


def test_an_interval_needs_a_value_and_both_ends() -> None:
    whole = Reader(with_interval(5.0, [4.0, 6.0]).html)
    assert [text for _, text in whole.all("data")] == ["5.0", "4.0", "6.0"]
    assert with_interval(5.0, None).html == with_interval(5.0, [4.0, None]).html == shown(5.0)
    assert with_interval(None, [4.0, 6.0]).html == "–"


def test_a_table_has_names_for_rows_and_columns() -> None:
    table = Table(["model", "score", "more"], [["<rnn>", Num(5.5), Raw("<b>x</b>")]], "What it is")
    found = Reader(table_html(table))
    assert [text for _, text in found.all("th", scope="col")] == ["model", "score", "more"]
    assert [text for _, text in found.all("th", scope="row")] == ["<rnn>"]
    assert [text for _, text in found.all("td")] == ["5.5", "x"]
    assert found.all("caption")[0][1] == "What it is"


def figure(label: str = "rnn", count: int = 1) -> Reader:
    lines = [Line(f"{label}{n}", n, [Point(1, 2.0)]) for n in range(count)]
    chart = Chart("fig-x", "Title", "Description", Axis("x"), Axis("y"), lines)
    return Reader(line_figure(chart, Table(["x"], [["1"]]), "How to read it"))


def test_a_figure_comes_in_two_sizes_with_its_table_and_its_link() -> None:
    found = figure()
    assert [one["class"] for one, _ in found.all("svg")] == ["chart wide", "chart narrow"]
    assert found.all("figure", id="fig-x")
    assert found.all("a", href="#fig-x")
    assert found.all("details")
    assert found.all("table")
    assert not found.all("ul")


def test_a_legend_stands_where_labels_do_not_fit() -> None:
    assert figure(count=12).all("ul", cls="legend")
    assert figure(label="a longer name than fits").all("ul", cls="legend narrow-only")


def test_a_section_without_parts_is_left_out() -> None:
    assert section("id", "Title", "Lead", "", "") == ""
    assert Reader(section("id", "A & B", "Lead", "<p>x</p>")).all("h2")[0][1] == "A & B"
    assert side_by_side("", "<p>x</p>") == "<p>x</p>"
    assert side_by_side("<p>x</p>", "<p>y</p>").startswith('<div class="pair">')
