"""Line charts as SVG: lines with interval bands, labels at their ends, linear and logarithmic axes."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import NamedTuple

from jumok.comparison.axes import Axis, Scale, Tick, domain, fits, spread, thin_out, ticks
from jumok.comparison.svg import Size, clip, esc, path, picture, px, spot, text_at, tip, tone_of, width_of

MOST_TIPS = 160  # a picture with more marks has none to point at: its table has the numbers
MOST_LABELS = 9
LABEL_GAP = 15
WIDE, HALF, NARROW = Size(920, 340), Size(500, 300), Size(340, 290, narrow=True)


@dataclass(frozen=True)
class Point:
    """One value with its interval; `tip` is what it says when it is pointed at."""

    x: float
    y: float
    lo: float | None = None
    hi: float | None = None
    hollow: bool = False
    tip: tuple[str, ...] = ()


class Span(NamedTuple):
    """The interval of a point."""

    x: float
    lo: float
    hi: float


@dataclass(frozen=True)
class Line:
    """A series. None in `points` is a gap. Lines of one label share it: their ends are named once."""

    label: str
    tone: int
    points: Sequence[Point | None]
    dashed: bool = False
    marks: bool = True


@dataclass(frozen=True)
class Chart:
    """Lines over two axes. From `beyond` on the background is shaded and says `beyond_note`."""

    id: str
    title: str
    description: str
    x: Axis
    y: Axis
    lines: Sequence[Line]
    beyond: float | None = None
    beyond_note: str = ""


@dataclass(frozen=True)
class Frame:
    """Where a chart draws: its scales, its ticks and the labels at the right."""

    size: Size
    x: Scale
    y: Scale
    x_ticks: Sequence[Tick]
    y_ticks: Sequence[Tick]
    labelled: bool


@dataclass
class Layers:
    """The parts of a picture from back to front."""

    back: list[str] = field(default_factory=list)
    bands: list[str] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    marks: list[str] = field(default_factory=list)

    def text(self) -> str:
        return "".join((*self.back, *self.bands, *self.lines, *self.marks))


def draw(chart: Chart, size: Size) -> str:
    """The chart as <svg>."""
    chart = drawable(chart)
    frame = make_frame(chart, size)
    layers = Layers(back=[*background(chart, frame), *axes(chart, frame)])
    tips = not size.narrow and sum(len(line.points) for line in chart.lines) <= MOST_TIPS
    for line in chart.lines:
        for run in runs(line.points):
            draw_run(line, run, frame, layers, tips=tips)
    if frame.labelled:
        layers.lines += labels(chart, frame)
    return picture(chart.id, chart.title, chart.description, size, layers.text())


def drawable(chart: Chart) -> Chart:
    """The chart without points that its axes cannot show: a logarithm has no zero."""

    def shown(point: Point | None) -> Point | None:
        if point is None or not (fits(point.x, chart.x) and fits(point.y, chart.y)):
            return None
        if point.lo is not None and not fits(point.lo, chart.y):
            return replace(point, lo=None, hi=None)
        return point

    lines = [replace(line, points=[shown(point) for point in line.points]) for line in chart.lines]
    return replace(chart, lines=[line for line in lines if any(line.points)])


def named(lines: Sequence[Line]) -> dict[str, list[Line]]:
    """The lines by label, in order."""
    found: dict[str, list[Line]] = {}
    for line in lines:
        if line.label:
            found.setdefault(line.label, []).append(line)
    return found


def needs_legend(lines: Sequence[Line], size: Size) -> bool:
    """Too many labels, or too long ones, to stand at the ends of the lines."""
    labels = named(lines)
    longest = max((width_of(label, 12.5) for label in labels), default=0)
    return len(labels) > MOST_LABELS or longest > (0.26 if size.narrow else 0.34) * size.width


def make_frame(chart: Chart, size: Size) -> Frame:
    points = [point for line in chart.lines for point in line.points if point]
    ends = [value for p in points for value in (p.lo, p.y, p.hi) if value is not None]
    x_low, x_high = domain([point.x for point in points], chart.x)
    y_low, y_high = domain(ends, chart.y)
    y_ticks = ticks(chart.y, y_low, y_high, 4 if size.narrow else 5)
    left = max((width_of(tick.label, 11.5) for tick in y_ticks), default=0) + 10
    labelled = bool(named(chart.lines)) and not needs_legend(chart.lines, size)
    longest = max((width_of(label, 12.5) for label in named(chart.lines)), default=0)
    right = longest + 20 if labelled else 14
    notes = any(tick.note for tick in chart.x.ticks)
    x = Scale(x_low, x_high, left, size.width - right, chart.x.log)
    top = 46 if size.narrow and chart.beyond is not None else 30  # the note about it needs a line of its own
    y = Scale(y_low, y_high, size.height - (60 if notes else 44), top, chart.y.log)
    x_ticks = ticks(chart.x, x_low, x_high, 4 if size.narrow else 7)
    room = max((max(width_of(t.label, 11.5), width_of(t.note, 10.5)) for t in x_ticks), default=0) + 8
    return Frame(size, x, y, thin_out(x_ticks, x, room), y_ticks, labelled)


def background(chart: Chart, frame: Frame) -> list[str]:
    """The shade over what lies beyond."""
    if chart.beyond is None:
        return []
    left, top, bottom = max(frame.x(chart.beyond), frame.x.start), frame.y.end, frame.y.start
    width = frame.x.end - left
    shade = (
        f'<rect class="beyond" x="{px(left)}" y="{px(top)}" width="{px(width)}" height="{px(bottom - top)}"/>'
    )
    note = clip(chart.beyond_note, (frame.x.end - frame.x.start) * (1 if frame.size.narrow else 0.5), 11.5)
    return [shade, text_at(frame.x.end, top - 6, note, "beyond-note", "end")]


def axes(chart: Chart, frame: Frame) -> list[str]:
    x, y = frame.x, frame.y
    found = []
    for tick in frame.y_ticks:
        found.append(f'<path class="grid" d="M{px(x.start)} {px(y(tick.value))}H{px(x.end)}"/>')
        found.append(text_at(x.start - 8, y(tick.value) + 4, tick.label, "tick", "end"))
    found.append(f'<path class="axis" d="M{px(x.start)} {px(y.start)}H{px(x.end)}"/>')
    for tick in frame.x_ticks:
        found.append(text_at(x(tick.value), y.start + 17, tick.label, "tick", "middle"))
        if tick.note:
            found.append(text_at(x(tick.value), y.start + 31, tick.note, "tick note", "middle"))
    found.append(text_at(x.end, frame.size.height - 6, clip(chart.x.title, x.end, 11.5), "name", "end"))
    found.append(text_at(0, 13, clip(chart.y.title, frame.size.width, 11.5), "name"))
    return found


def runs(points: Sequence[Point | None]) -> list[list[Point]]:
    """Stretches of points without a gap."""
    return [[p for p in run if p] for there, run in groupby(points, key=lambda p: p is not None) if there]


def draw_run(line: Line, run: Sequence[Point], frame: Frame, layers: Layers, *, tips: bool) -> None:
    """One stretch: its bands, its line, its marks."""
    x, y, tone = frame.x, frame.y, tone_of(line.tone)
    layers.bands += bands(run, frame, tone)
    if len(run) > 1:
        style = "line dashed" if line.dashed else "line"
        layers.lines.append(f'<path class="{style} {tone}" d="{path([(x(p.x), y(p.y)) for p in run])}"/>')
    for point in run if line.marks else ():
        at = (x(point.x), y(point.y))
        mark = spot(*at, line.tone, hollow=point.hollow)
        if tips and point.tip:
            hit = f'<circle class="hit" cx="{px(at[0])}" cy="{px(at[1])}" r="11"/>'
            mark += hit + tip(*at, point.tip, frame.size)
        layers.marks.append(f'<g class="mark {tone}" data-y="{point.y!r}">{mark}</g>')


def bands(run: Sequence[Point], frame: Frame, tone: str) -> list[str]:
    """The area between the ends of neighbouring intervals; an interval without neighbours is a whisker."""
    x, y = frame.x, frame.y
    known = [Span(p.x, p.lo, p.hi) if p.lo is not None and p.hi is not None else None for p in run]
    found = []
    for there, group in groupby(known, key=lambda span: span is not None):
        spans = [span for span in group if span]
        if len(spans) > 1:
            upper = [(x(span.x), y(span.hi)) for span in spans]
            lower = [(x(span.x), y(span.lo)) for span in reversed(spans)]
            found.append(f'<path class="band {tone}" d="{path([*upper, *lower])}Z"/>')
        elif there:
            ends = (y(spans[0].lo), y(spans[0].hi))
            found.append(
                f'<path class="whisker {tone}" d="M{px(x(spans[0].x))} {px(ends[0])}V{px(ends[1])}"/>'
            )
    return found


def labels(chart: Chart, frame: Frame) -> list[str]:
    """The names of the lines where they end; each is joined to its line by colour and height."""
    found = named(chart.lines)
    ends = []
    for lines in found.values():
        last = [[point for point in line.points if point][-1] for line in lines]
        ends.append(sum(frame.y(point.y) for point in last) / len(last))
    places = spread(ends, LABEL_GAP, frame.y.end + 4, frame.y.start)
    return [
        f'<text class="end {tone_of(lines[0].tone)}" x="{px(frame.x.end + 9)}" y="{px(place + 4)}">'
        f"{esc(label)}</text>"
        for (label, lines), place in zip(found.items(), places, strict=True)
    ]
