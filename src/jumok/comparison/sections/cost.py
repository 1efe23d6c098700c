"""What the models cost: speed and memory as measured, and how both grow with length beside the formula."""

from collections.abc import Sequence

from jumok.comparison.axes import Axis, Tick
from jumok.comparison.markup import (
    Cell,
    Num,
    Table,
    folded,
    line_figure,
    row_figure,
    section,
    shown,
    side_by_side,
    table_html,
)
from jumok.comparison.numbers import Form, fixed, real, score, short, significant, size, whole
from jumok.comparison.plot import HALF, NARROW, Chart, Line, Point
from jumok.comparison.rows import Mark, Row, RowChart
from jumok.comparison.svg import esc
from jumok.comparison.view import Json, View, at, items, word

SPEEDS: tuple[tuple[str, str, tuple[str, ...], Form, str], ...] = (
    ("fig-train-speed", "Training", ("speed", "train_tokens_per_s"), short, "tokens of both sides a second"),
    ("fig-decode-speed", "Decoding", ("speed", "sentences_per_s"), significant, "sentences per second"),
    ("fig-token-speed", "Decoding", ("speed", "target_tokens_per_s"), short, "target tokens per second"),
    (
        "fig-latency",
        "One sentence alone",
        ("speed", "ms_per_sentence", "median"),
        significant,
        "milliseconds, the median",
    ),
    ("fig-train-memory", "Memory of training", ("memory", "train_peak_bytes"), size, "at its peak"),
    ("fig-decode-memory", "Memory of decoding", ("memory", "decode_peak_bytes"), size, "at its peak"),
)
COLUMNS: tuple[tuple[str, tuple[str, ...], Form], ...] = (
    ("training tokens/s", ("speed", "train_tokens_per_s"), whole),
    ("sentences/s", ("speed", "sentences_per_s"), score),
    ("target tokens/s", ("speed", "target_tokens_per_s"), whole),
    ("ms per sentence, median", ("speed", "ms_per_sentence", "median"), significant),
    ("ms, 95th percentile", ("speed", "ms_per_sentence", "p95"), significant),
    ("training peak", ("memory", "train_peak_bytes"), size),
    ("decoding peak", ("memory", "decode_peak_bytes"), size),
)
GROWTH: tuple[tuple[str, str, str, str, Form], ...] = (
    ("fig-growth-time", "Time, measured", "ms", "milliseconds", significant),
    ("fig-growth-memory", "Memory, measured", "bytes", "bytes kept for the backward pass", size),
    ("fig-growth-flops", "Arithmetic, by formula", "flops", "FLOPs", short),
)


def speed_section(view: View) -> str:
    figures = [bars(view, *one) for one in SPEEDS]
    if not any(figures):
        return ""
    head = ["model", *(name for name, _, _ in COLUMNS)]
    rows: list[list[Cell]] = [
        [word(entry, "name"), *(Num(at(entry, *keys), form) for _, keys, form in COLUMNS)]
        for entry in view.entries
    ]
    lead = "Measured on one machine, one model after the other. In time and memory, shorter bars are better."
    threads = real(at(next(iter(view.firsts()), None), "speed", "threads"))
    if threads is not None and word(view.report, "machine", "device") == "cpu":
        lead += f" Decoding used {shown(threads, whole)} thread{'s' if threads != 1 else ''}."
    lead += " The bars are those of the first seed." if view.seeded else ""
    table = folded("Numbers of all models", table_html(Table(head, rows)))
    return section("speed", "Speed and memory", lead, f'<div class="small">{"".join(figures)}</div>', table)


def bars(view: View, id: str, title: str, keys: tuple[str, ...], form: Form, unit: str) -> str:
    """One quantity of the plain entries, from zero; of several seeds the first."""
    rows = []
    for entry in view.firsts():
        value = real(at(entry, *keys))
        if value is not None:
            rows.append(Row(word(entry, "arch"), view.tone(entry), (Mark(value),), form(value)))
    if not rows:
        return ""
    chart = RowChart(id, title, f"One bar per model: {unit}.", Axis(unit, form=form), rows, "bars")
    return row_figure(chart, None, unit[:1].upper() + unit[1:], NARROW.width)


def growth_section(view: View) -> str:
    """Time and memory of one pass against length as measured, and dashed what the formula says."""
    entries = [one for one in view.firsts() if items(one, "growth", "lengths")]
    figures = [growth(view, entries, *one) for one in GROWTH]
    if not any(figures):
        return ""
    lead = (
        "One forward pass with its loss; source and target have the same length. Both axes are logarithmic: "
        "a cost that doubles with the length is half as steep as one that grows with its square. Dashed: the "
        "formula. Its FLOPs are scaled to meet the last measured time; its bytes are those that the matrix "
        "products leave."
    )
    return section(
        "growth",
        "How the cost grows with length",
        lead,
        side_by_side(*figures, formulas(view, entries)),
        folded("Numbers of all three figures", table_html(growth_table(entries))),
    )


def growth(view: View, entries: Sequence[Json], id: str, title: str, of: str, unit: str, form: Form) -> str:
    lengths = sorted(
        {value for one in entries for n in items(one, "growth", "lengths") if (value := real(n))}
    )
    lines = []
    for entry in entries:
        lines.append(Line(word(entry, "arch"), view.tone(entry), growth_points(entry, of, form)))
        theory = by_formula(entry) if of == "ms" else growth_points(entry, f"formula_{of}", form)
        lines.append(Line("", view.tone(entry), theory, dashed=True, marks=False))
    if not any(point for line in lines for point in line.points):
        return ""
    chart = Chart(
        id,
        title,
        f"{unit} against the length of source and target, one line per architecture, both axes logarithmic.",
        Axis("tokens of source and of target", log=True, ticks=[Tick(n, whole(n)) for n in lengths]),
        Axis(unit, log=True, form=form),
        lines,
    )
    return line_figure(chart, None, size=HALF)


def growth_points(entry: Json, of: str, form: Form) -> list[Point | None]:
    points: list[Point | None] = []
    unit = {"ms": " ms", "flops": " FLOPs"}.get(of, "")
    for length, value in zip(items(entry, "growth", "lengths"), items(entry, "growth", of), strict=False):
        x, y = real(length), real(value)
        if x is None or y is None or x <= 0 or y <= 0:
            points.append(None)
        else:
            tip = (word(entry, "arch"), f"{form(y)}{unit}", f"at {whole(x)} tokens")
            points.append(Point(x, y, tip=tip))
    return points


def by_formula(entry: Json) -> list[Point | None]:
    """The formula's FLOPs in the units of the time: scaled to meet the last measured point."""
    measured = [point for point in growth_points(entry, "ms", significant) if point]
    counted = {point.x: point.y for point in growth_points(entry, "flops", short) if point}
    if not measured or measured[-1].x not in counted:
        return []
    factor = measured[-1].y / counted[measured[-1].x]
    return [Point(point.x, factor * counted[point.x]) for point in measured if point.x in counted]


def formulas(view: View, entries: Sequence[Json]) -> str:
    rows = "".join(
        f"<dt>{esc(word(one, 'arch'))}</dt><dd><code>{esc(word(one, 'growth', 'formula'))}</code>"
        f"{exponents(one)}</dd>"
        for one in entries
        if word(one, "growth", "formula")
    )
    letters = (
        "S source and T target length, D width, F inner width, V vocabulary, N layers, d directions of the "
        "encoder, h = D/d, G gates of a cell."
    )
    if not rows:
        return ""
    return (
        '<div class="figure"><h3>The formulas</h3>'
        f'<dl class="formulas">{rows}</dl><p class="muted">{letters}</p></div>'
    )


def exponents(entry: Json) -> str:
    """The powers of the length that fit the longest lengths."""
    names = (("ms", "time"), ("bytes", "memory"), ("flops", "formula"))
    found = [
        f"{name} ~ n<sup>{shown(power, fixed(2))}</sup>"
        for key, name in names
        if real(power := at(entry, "growth", "exponents", key)) is not None
    ]
    fit = word(entry, "growth", "ms_fit")
    said = ", ".join(found) or (f"time ~ {esc(fit)}" if fit else "")
    return f"<p>{said}</p>" if said else ""


def growth_table(entries: Sequence[Json]) -> Table:
    rows: list[list[Cell]] = []
    for entry in entries:
        for place, length in enumerate(items(entry, "growth", "lengths")):
            forms = {"ms": significant, "bytes": size, "formula_bytes": size, "flops": short}
            cells = [Num(at(entry, "growth", name, place), form) for name, form in forms.items()]
            rows.append([word(entry, "arch"), Num(length, whole), *cells])
    head = ["architecture", "tokens", "milliseconds", "memory", "memory by formula", "FLOPs by formula"]
    return Table(head, rows)
