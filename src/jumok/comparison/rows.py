"""Charts of one row per thing as SVG: dots with intervals, or bars from zero, with the value written out."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from jumok.comparison.axes import Axis, Scale, domain, thin_out, ticks
from jumok.comparison.svg import Size, clip, picture, px, spot, text_at, tip, tone_of, width_of

ROW, NARROW_ROW, TOP, BOTTOM = 30, 46, 8, 40


@dataclass(frozen=True)
class Mark:
    """One value of a row with its interval; in a chart of bars the first mark is the bar."""

    value: float
    lo: float | None = None
    hi: float | None = None
    tip: tuple[str, ...] = ()


@dataclass(frozen=True)
class Row:
    """A thing and its marks. `text` stands at the right; without marks it says why there are none."""

    label: str
    tone: int
    marks: Sequence[Mark]
    text: str = ""
    track: float | None = None
    """How long the bar could be at most."""


@dataclass(frozen=True)
class RowChart:
    """Rows over one axis; `reference` draws a line through all rows at one value."""

    id: str
    title: str
    description: str
    axis: Axis
    rows: Sequence[Row]
    kind: Literal["dots", "bars"] = "dots"
    reference: float | None = None


def draw_rows(chart: RowChart, width: int, *, narrow: bool = False) -> str:
    """The chart as <svg>; a narrow one has each label above its row."""
    pitch = NARROW_ROW if narrow else ROW
    bottom = 6 if chart.kind == "bars" else BOTTOM
    size = Size(width, TOP + pitch * len(chart.rows) + bottom, narrow)
    named = max((width_of(row.label, 12.5) for row in chart.rows), default=0)
    said = max((width_of(row.text, 12.5) for row in chart.rows), default=0)
    left = (0 if chart.kind == "bars" else 6) if narrow else min(named + 16, 0.42 * width)
    right = width - (14 if narrow else said + 16)
    low, high = domain(values_of(chart), chart.axis)
    scale = Scale(
        min(low, 0) if chart.kind == "bars" else low, high, left, max(right, left + 60), chart.axis.log
    )
    body = grid(chart, scale, size)
    for place, row in enumerate(chart.rows):
        middle = TOP + pitch * place + (pitch * 0.7 if narrow else pitch / 2)
        body += row_label(row, middle, left, size)
        body += draw_row(chart, row, middle, scale, size)
    return picture(chart.id, chart.title, chart.description, size, body)


def values_of(chart: RowChart) -> list[float]:
    found = [chart.reference] if chart.reference is not None else []
    for row in chart.rows:
        found += [row.track] if row.track is not None else []
        for mark in row.marks:
            found += [value for value in (mark.lo, mark.value, mark.hi) if value is not None]
    return [*found, 0.0] if chart.kind == "bars" else found


def grid(chart: RowChart, scale: Scale, size: Size) -> str:
    """The axis below the rows. Bars need none: they start at zero and have their values written out."""
    if chart.kind == "bars":
        return ""
    bottom = size.height - BOTTOM + 2
    found = ticks(chart.axis, scale.low, scale.high, 4 if size.narrow else 6)
    room = max((width_of(tick.label, 11.5) for tick in found), default=0) + 10
    body = ""
    for tick in thin_out(found, scale, room):
        body += f'<path class="grid" d="M{px(scale(tick.value))} {TOP}V{bottom}"/>'
        body += text_at(scale(tick.value), bottom + 15, tick.label, "tick", "middle")
    if chart.reference is not None:
        body += f'<path class="reference" d="M{px(scale(chart.reference))} {TOP}V{bottom}"/>'
    return body + text_at(scale.end, size.height - 5, chart.axis.title, "name", "end")


def row_label(row: Row, middle: float, left: float, size: Size) -> str:
    """The name of a row at its left and its value at its right; both above a narrow one."""
    kind = f"row-name {tone_of(row.tone)}"
    if size.narrow:
        label = clip(row.label, size.width - width_of(row.text, 12.5) - 24, 12.5)
        value = text_at(size.width - 4, middle - 16, row.text, "value", "end")
        return text_at(0, middle - 16, label, kind) + value
    label = clip(row.label, left - 14, 12.5)
    value = text_at(size.width - 2, middle + 4, row.text, "value", "end")
    return text_at(left - 12, middle + 4, label, kind, "end") + value


def draw_row(chart: RowChart, row: Row, middle: float, scale: Scale, size: Size) -> str:
    body = beam(scale, row.track, middle, "track") if row.track is not None else ""
    body += "".join(draw_mark(chart, row, mark, middle, scale, size) for mark in row.marks)
    return f'<g class="row {tone_of(row.tone)}">{body}</g>'


def beam(scale: Scale, value: float, middle: float, kind: str) -> str:
    """A bar from zero to the value."""
    zero, end = scale(0), scale(value)
    left, width = min(zero, end), max(abs(end - zero), 1)
    return (
        f'<rect class="{kind}" x="{px(left)}" y="{px(middle - 7)}" width="{px(width)}" height="14" rx="2"/>'
    )


def draw_mark(chart: RowChart, row: Row, mark: Mark, middle: float, scale: Scale, size: Size) -> str:
    at = scale(mark.value)
    body = beam(scale, mark.value, middle, "bar") if chart.kind == "bars" else ""
    if mark.lo is not None and mark.hi is not None:
        body += f'<path class="whisker" d="M{px(scale(mark.lo))} {px(middle)}H{px(scale(mark.hi))}"/>'
    if chart.kind == "dots":
        body += spot(at, middle, row.tone)
    if mark.tip and not size.narrow:
        body += f'<circle class="hit" cx="{px(at)}" cy="{px(middle)}" r="11"/>'
        body += tip(at, middle, mark.tip, size)
    return f'<g class="mark" data-y="{mark.value!r}">{body}</g>'
