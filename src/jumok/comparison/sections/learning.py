"""Learning curves: quality and loss on the validation pairs against wall-clock and against tokens."""

from collections.abc import Callable, Sequence

from jumok.comparison.axes import Axis
from jumok.comparison.markup import Cell, Num, Table, folded, line_figure, section, side_by_side, table_html
from jumok.comparison.numbers import Form, fixed, real, score, seconds, short, text_of, whole
from jumok.comparison.plot import HALF, Chart, Line, Point
from jumok.comparison.view import LABELS, UP_TO_100, Json, View, at, items, word

MOST_POINTS, MOST_MARKS = 120, 20
ROWS = 240  # of the table of all curves together
loss = fixed(3)


def learning_section(view: View) -> str:
    lead = (
        "Each mark is one look at the validation pairs during training. Against time a model gains from "
        "being fast; against tokens it gains only from learning more out of the same text."
    )
    entries = [one for one in view.lineage if any(map(real, items(one, "curves", "step")))]
    charts = [
        curve(view, entries, id, over, of)
        for id, over, of in (
            ("fig-score-time", "elapsed_s", "score"),
            ("fig-score-tokens", "tokens", "score"),
            ("fig-loss-time", "elapsed_s", "loss"),
            ("fig-loss-tokens", "tokens", "loss"),
        )
    ]
    if not any(charts):
        return ""
    table = folded("Numbers of all four figures", table_html(curve_table(view, entries)))
    return section("learning", "How they learned", lead, side_by_side(*charts), table)


def curve(view: View, entries: Sequence[Json], id: str, over: str, of: str, label: str = "") -> str:
    """One figure of one quantity of all entries; nothing when no entry has it."""
    lasting = max((value for one in entries for value in numbers(one, over)), default=0)
    per, unit = (60, "minutes") if lasting >= 180 else (1, "seconds")
    per, x_title = (
        (per, f"training time, {unit}") if over == "elapsed_s" else (1, "tokens of both sides seen")
    )
    watched = watched_metric(view, entries)
    y_title = {"score": f"{label_of(watched)}, validation", "loss": "validation loss"}[of]
    lines = curves_of(view, entries, over, of, per)
    if not any(any(line.points) for line in lines):
        return ""
    name = "time" if over == "elapsed_s" else "tokens"
    chart = Chart(
        id,
        label or f"{'Loss' if of == 'loss' else 'Quality'} against {name}",
        f"{y_title} against {x_title}, one line per model.",
        Axis(x_title, form=short, low=0),
        Axis(y_title, most=100.0 if of == "score" and watched in UP_TO_100 else None),
        lines,
    )
    return line_figure(chart, None, size=HALF)


def watched_metric(view: View, entries: Sequence[Json]) -> str:
    """What training looked at, which need not be what the report speaks of."""
    found = (word(one, "settings", "training.metric") for one in entries)
    return next(filter(None, found), view.metric)


def label_of(metric: str) -> str:
    return LABELS.get(metric, metric) or "quality"


def numbers(entry: Json, name: str) -> list[float]:
    return [value for one in items(entry, "curves", name) if (value := real(one)) is not None]


def curves_of(view: View, entries: Sequence[Json], over: str, of: str, per: float) -> list[Line]:
    few = max((len(items(one, "curves", of)) for one in entries), default=0) <= MOST_MARKS
    to_x: Form = seconds if over == "elapsed_s" else tokens
    to_y: Callable[[float], str] = score if of == "score" else loss
    lines = []
    for entry in entries:
        points: list[Point | None] = []
        for x, y in thinned(
            list(zip(items(entry, "curves", over), items(entry, "curves", of), strict=False))
        ):
            left, up = real(x), real(y)
            if left is None or up is None:
                points.append(None)
                continue
            what = label_of(watched_metric(view, entries)) if of == "score" else "loss"
            points.append(Point(left / per, up, tip=(word(entry, "name"), f"{what}: {to_y(up)}", to_x(left))))
        lines.append(Line(view.label(entry), view.tone(entry), points, marks=few))
    return lines


def tokens(value: float) -> str:
    return f"{short(value)} tokens"


def thinned(points: list[tuple[object, object]], most: int = MOST_POINTS) -> list[tuple[object, object]]:
    """At most about `most` of many points, evenly, with the last."""
    every = -(-len(points) // most) or 1
    return points if every == 1 else [*points[:-1][::every], points[-1]]


def curve_table(view: View, entries: Sequence[Json]) -> Table:
    names = ("step", "elapsed_s", "tokens", "loss", "score")
    most = max(6, ROWS // max(len(entries), 1))
    rows: list[list[Cell]] = []
    left_out = False
    for entry in entries:
        count = len(items(entry, "curves", "step"))
        every = -(-count // most) or 1
        kept = sorted({*range(0, count, every), count - 1} - {-1})
        left_out |= len(kept) < count
        for place in kept:
            step, elapsed, seen, lost, scored = (at(entry, "curves", name, place) for name in names)
            cells = (Num(elapsed, seconds), Num(seen, short), Num(lost, loss), Num(scored, score))
            rows.append([f"{word(entry, 'name')} at step {text_of(step, whole)}", *cells])
    caption = "Some looks at the validation pairs are left out here; the JSON has all" if left_out else ""
    watched = label_of(watched_metric(view, entries))
    return Table(["look", "time", "tokens", "loss", watched], rows, caption)
