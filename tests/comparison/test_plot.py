"""Line charts: marks stand where their values are, gaps stay gaps, labels stand at the ends."""

import re

import pytest

from jumok.comparison.axes import Axis, Tick
from jumok.comparison.plot import HALF, NARROW, WIDE, Chart, Line, Point, draw, make_frame, needs_legend
from tests.comparison.reading import Reader


def chart(*lines: Line, log: bool = False, **more) -> Chart:
    return Chart("fig", "Title", "Description", Axis("x", log=log), Axis("y", log=log), lines, **more)


def line(values, label="rnn", **more) -> Line:
    points = [
        None if y is None else Point(x, y, y - 1, y + 1, tip=("a tip",)) for x, y in enumerate(values, 1)
    ]
    return Line(label, 0, points, **more)


def places(svg: str) -> list[tuple[float, float]]:
    """Where the marks are."""
    found = [one["transform"] for one, _ in Reader(svg).all("path", cls="spot")]
    return [tuple(map(float, re.findall(r"[-\d.]+", one))) for one in found]


@pytest.mark.parametrize("size", [WIDE, HALF, NARROW])
@pytest.mark.parametrize("log", [False, True])
def test_every_mark_is_where_its_value_is(size, log) -> None:
    drawn = chart(line([3.0, 70.0, 41.5]), line([10.0, 20.0, 90.0], "luong"), log=log)
    frame, marks = make_frame(drawn, size), places(draw(drawn, size))
    points = [point for one in drawn.lines for point in one.points]
    for (x, y), point in zip(marks, points, strict=True):
        assert x == pytest.approx(frame.x(point.x), abs=0.06)
        assert y == pytest.approx(frame.y(point.y), abs=0.06)
        assert 0 <= x <= size.width
        assert 0 <= y <= size.height
    shown = [float(one["data-y"]) for one, _ in Reader(draw(drawn, size)).all("g") if "data-y" in one]
    assert shown == [point.y for point in points]


def test_a_gap_breaks_line_and_band() -> None:
    found = Reader(draw(chart(line([1.0, 2.0, None, 4.0])), WIDE))
    assert len(found.all("path", cls="line c1")) == 1
    assert len(found.all("path", cls="band c1")) == 1
    assert len(found.all("path", cls="whisker c1")) == 1
    assert len(found.all("path", cls="spot")) == 3


def test_an_interval_that_is_not_known_is_not_drawn() -> None:
    points = [Point(1, 5, 4, 6), Point(2, 5), Point(3, 5, 4, 6), Point(4, 5, 4, 6)]
    found = Reader(draw(chart(Line("a", 1, points)), WIDE))
    assert len(found.all("path", cls="band c2")) == 1
    assert len(found.all("path", cls="whisker c2")) == 1


def test_the_band_lies_between_the_ends_of_the_intervals() -> None:
    drawn = chart(line([10.0, 20.0]))
    frame = make_frame(drawn, WIDE)
    ((band, _),) = Reader(draw(drawn, WIDE)).all("path", cls="band c1")
    heights = [float(y) for _, y in re.findall(r"([-\d.]+) ([-\d.]+)", band["d"])]
    assert heights == pytest.approx([frame.y(v) for v in (11, 21, 19, 9)], abs=0.06)


def test_a_logarithm_leaves_out_what_it_cannot_show() -> None:
    points = [Point(0, 5), Point(1, 0), Point(2, 8, -1, 9), Point(4, 16, 15, 17)]
    found = Reader(draw(chart(Line("a", 0, points), log=True), WIDE))
    assert len(found.all("path", cls="spot")) == 2
    assert not found.all("path", cls="band c1")


def test_lines_of_one_label_are_named_once_and_labels_do_not_touch() -> None:
    drawn = chart(line([1.0, 5.0]), line([1.0, 5.1]), line([1.0, 5.05], "luong"))
    ends = [one for one, _ in Reader(draw(drawn, WIDE)).all("text") if one.get("class", "").startswith("end")]
    assert len(ends) == 2
    assert abs(float(ends[0]["y"]) - float(ends[1]["y"])) >= 14.9


def test_many_labels_or_long_ones_need_a_legend() -> None:
    many = [line([1.0], str(n)) for n in range(12)]
    assert needs_legend(many, WIDE)
    assert not needs_legend(many[:5], WIDE)
    long = [line([1.0], "a rather long name of a model")]
    assert needs_legend(long, NARROW)
    assert not needs_legend(long, WIDE)
    assert "end c1" not in draw(chart(*many), WIDE)


def test_what_lies_beyond_is_shaded_and_says_so() -> None:
    drawn = chart(line([1.0, 2.0]), beyond=1.5, beyond_note="beyond training: over 30")
    frame = make_frame(drawn, WIDE)
    found = Reader(draw(drawn, WIDE))
    ((shade, _),) = found.all("rect", cls="beyond")
    assert float(shade["x"]) == pytest.approx(frame.x(1.5), abs=0.06)
    assert found.all("text", cls="beyond-note")[0][1] == "beyond training: over 30"


def test_tips_are_for_few_marks_on_wide_pictures() -> None:
    few, many = chart(line([1.0] * 10)), chart(line([1.0] * 400))
    assert 'class="tip"' in draw(few, WIDE)
    assert 'class="tip"' not in draw(few, NARROW)
    assert 'class="tip"' not in draw(many, WIDE)


def test_a_chart_without_any_point_is_still_a_picture() -> None:
    found = Reader(draw(chart(Line("a", 0, [None]), Line("b", 0, [])), WIDE))
    assert found.all("svg")
    assert not found.all("path", cls="spot")


def test_ticks_carry_their_notes() -> None:
    axis = Axis("length", ticks=[Tick(1, "1–10", "n = 64"), Tick(2, "11+", "n = 3")])
    drawn = Chart("fig", "T", "D", axis, Axis("y"), [line([1.0, 2.0])])
    found = Reader(draw(drawn, WIDE))
    assert [text for _, text in found.all("text", cls="tick note")] == ["n = 64", "n = 3"]
