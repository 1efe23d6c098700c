"""Charts of rows: dots with intervals, bars from zero."""

import re

import pytest

from jumok.comparison.axes import Axis
from jumok.comparison.rows import Mark, Row, RowChart, draw_rows
from tests.comparison.reading import Reader


def chart(*rows: Row, **more) -> RowChart:
    return RowChart("fig", "Title", "Description", Axis("bits"), rows, **more)


ROWS = (
    Row("rnn", 0, (Mark(58.5, 56.0, 61.0, ("rnn", "58.5")),), "58.5"),
    Row("luong", 1, (Mark(95.0),), "95.0"),
)


@pytest.mark.parametrize("narrow", [False, True])
def test_each_row_has_its_label_its_mark_and_its_text(narrow) -> None:
    found = Reader(draw_rows(chart(*ROWS), 340 if narrow else 920, narrow=narrow))
    assert [text for one, text in found.all("text") if one.get("class", "").startswith("row-name")] == [
        "rnn",
        "luong",
    ]
    assert [text for _, text in found.all("text", cls="value")] == ["58.5", "95.0"]
    assert [float(one["data-y"]) for one, _ in found.all("g", cls="mark")] == [58.5, 95.0]
    assert len(found.all("path", cls="whisker")) == 1
    assert ("tip" in {one.get("class") for one, _ in found.all("g")}) is not narrow


def test_the_interval_is_around_the_mark() -> None:
    found = Reader(draw_rows(chart(*ROWS), 920))
    ((whisker, _),) = found.all("path", cls="whisker")
    left, right = map(float, re.findall(r"[\d.]+", whisker["d"])[::2])
    middle = float(re.findall(r"[\d.]+", found.all("path", cls="spot")[0][0]["transform"])[0])
    assert middle - left == pytest.approx(right - middle, abs=0.2)


def test_bars_start_at_zero_and_keep_their_proportion() -> None:
    rows = (Row("a", 0, (Mark(10.0),), "10"), Row("b", 1, (Mark(40.0),), "40", track=80.0))
    found = Reader(draw_rows(chart(*rows, kind="bars"), 920))
    first, second = (float(one["width"]) for one, _ in found.all("rect", cls="bar"))
    ((track, _),) = found.all("rect", cls="track")
    assert second == pytest.approx(4 * first, abs=0.3)
    assert float(track["width"]) == pytest.approx(8 * first, abs=0.5)
    assert not found.all("text", cls="tick")


def test_a_row_without_marks_says_why() -> None:
    found = Reader(draw_rows(chart(ROWS[0], Row("transformer", 2, (), "failed")), 920))
    assert [text for _, text in found.all("text", cls="value")] == ["58.5", "failed"]


def test_the_reference_is_a_line_through_all_rows() -> None:
    found = Reader(draw_rows(chart(*ROWS, reference=58.5), 920))
    ((line, _),) = found.all("path", cls="reference")
    spot = found.all("path", cls="spot")[0][0]["transform"]
    assert re.findall(r"[\d.]+", line["d"])[0] == re.findall(r"[\d.]+", spot)[0]


def test_long_names_and_many_rows_stay_inside() -> None:
    rows = [Row("a very long name " * 9, n, (Mark(float(n)),), str(n)) for n in range(20)]
    svg = draw_rows(chart(*rows), 500)
    ((picture, _),) = Reader(svg).all("svg")
    assert int(picture["height"]) > 20 * 25
    assert "…" in svg
    assert Reader(draw_rows(chart(), 500)).all("svg")
