"""Where the models look: entropy and sharpness of attention, and influence of the source by distance."""

from collections.abc import Sequence

from jumok.comparison.axes import Axis
from jumok.comparison.markup import (
    Cell,
    Num,
    Table,
    folded,
    line_figure,
    row_figure,
    section,
    side_by_side,
    table_html,
)
from jumok.comparison.numbers import percent, real, significant, text_of, weight, whole
from jumok.comparison.plot import HALF, Chart, Line, Point
from jumok.comparison.rows import Mark, Row, RowChart
from jumok.comparison.view import Json, View, at, fields, items, names, word

KINDS = {"cross": "cross", "enc_self": "encoder", "dec_self": "decoder"}


EVEN, GREY = "all alike", 5


def attention_section(view: View) -> str:
    entries = [one for one in view.firsts() if fields(one, "attention", "kinds")]
    without = [one for one in view.firsts() if not fields(one, "attention", "kinds")]
    figures = side_by_side(
        focus(view, entries, "fig-entropy", "Entropy", "entropy_bits", "bits", "max_entropy_bits"),
        focus(view, entries, "fig-sharpness", "Sharpness", "sharpness", "the mean largest weight", ""),
        heads(view, entries),
        influence(view),
    )
    lead = (
        "Cross-attention looks from the output at the source, encoder attention stays inside the source, "
        "decoder attention inside the output. Entropy says over how many places a head spreads its weight: "
        "0 bits is one place, the pale bar is even attention to all. Sharpness is the mean of the largest "
        "weight. Influence needs no attention: it asks how much the output moves when a source word is "
        "hidden, by the distance between their places: 0 is the same place in both sentences, 1 the other "
        "end."
    )
    if entries and without:
        are = "has" if len(without) == 1 else "have"
        lead += f" {names(view, without)} {are} no attention to measure."
    table = folded("Numbers of attention", table_html(attention_table(entries))) if entries else ""
    return section("attention", "Where the models look", lead, figures, table) if figures else ""


def kinds_of(entry: Json) -> list[tuple[str, Json]]:
    """The kinds of attention of an entry, the one on the source first."""
    found = fields(entry, "attention", "kinds")
    return [
        (kind, fields(found, kind))
        for kind in sorted(found, key=lambda kind: (kind not in KINDS, kind != "cross"))
    ]


def name_of(entry: Json, kind: str) -> str:
    return f"{word(entry, 'arch')} {KINDS.get(kind, kind)}"


def focus(view: View, entries: Sequence[Json], id: str, title: str, of: str, unit: str, most: str) -> str:
    """One bar per kind of attention of each model."""
    rows = []
    for entry in entries:
        for kind, found in kinds_of(entry):
            value = real(at(found, of))
            if value is not None:
                track = real(at(found, most)) if most else 1.0
                row = Row(name_of(entry, kind), view.tone(entry), (Mark(value),), weight(value), track)
                rows.append(row)
    if not rows:
        return ""
    description = f"One bar per kind of attention of each model: {unit}."
    chart = RowChart(id, title, description, Axis(unit), rows, "bars")
    return row_figure(chart, None, f"In {unit}.", HALF.width)


def heads(view: View, entries: Sequence[Json]) -> str:
    """Every head of every layer as a dot, so that a mean does not hide them."""
    rows = []
    for entry in entries:
        for kind, found in kinds_of(entry):
            layers = items(found, "by_layer")
            for place, layer in enumerate(layers):
                values = [real(one) for one in (layer if isinstance(layer, list | tuple) else [layer])]
                marks = [
                    Mark(value, tip=(f"head {head + 1} of layer {place + 1}", f"{weight(value)} bits"))
                    for head, value in enumerate(values)
                    if value is not None
                ]
                label = name_of(entry, kind) + (f" {place + 1}" if len(layers) > 1 else "")
                rows.append(Row(label, view.tone(entry), marks))
    if not any(row.marks for row in rows) or all(len(row.marks) == 1 for row in rows):
        return ""
    description = "Entropy of each head, one row per kind of attention and layer."
    chart = RowChart("fig-heads", "Entropy of every head", description, Axis("bits", low=0), rows)
    return row_figure(chart, None, "One dot per head; the number is the layer.", HALF.width)


def influence(view: View) -> str:
    """How influence is shared out over distances, beside what it would be if all words counted alike."""
    entries = [one for one in view.firsts() if items(one, "influence", "share")]
    lines = [
        Line(word(one, "arch"), view.tone(one), shares(one, "share", word(one, "arch"))) for one in entries
    ]
    even = next((one for one in entries if items(one, "influence", "even")), None)
    if even is not None:
        lines.append(Line(EVEN, GREY, shares(even, "even", EVEN), dashed=True, marks=False))
    if not any(point for line in lines for point in line.points):
        return ""
    counts = {text_of(at(one, "influence", "sentences"), whole) for one in entries}
    chart = Chart(
        "fig-influence",
        "Influence by distance",
        "Share of the influence of source words against the distance between source and target place.",
        Axis("distance between relative places", low=0),
        Axis("share of all influence", form=percent, low=0),
        lines,
    )
    note = f"Over {' or '.join(sorted(counts))} test sentences."
    return line_figure(chart, influence_table(entries), note, HALF)


def shares(entry: Json, of: str, name: str) -> list[Point | None]:
    points: list[Point | None] = []
    for distance, share in zip(
        items(entry, "influence", "distance"), items(entry, "influence", of), strict=False
    ):
        x, y = real(distance), real(share)
        if x is None or y is None:
            points.append(None)
        else:
            points.append(Point(x, y, tip=(name, percent(y), f"at distance {significant(x)}")))
    return points


def influence_table(entries: Sequence[Json]) -> Table:
    longest: list[object] = max((items(one, "influence", "distance") for one in entries), key=len, default=[])
    rows: list[list[Cell]] = [
        [
            text_of(distance, significant),
            *(Num(at(one, "influence", "share", place), percent) for one in entries),
        ]
        for place, distance in enumerate(longest)
    ]
    return Table(["distance", *(word(one, "arch") for one in entries)], rows)


def attention_table(entries: Sequence[Json]) -> Table:
    rows: list[list[Cell]] = [
        [
            name_of(entry, kind),
            Num(at(found, "entropy_bits"), weight),
            Num(at(found, "max_entropy_bits"), weight),
            Num(at(found, "sharpness"), weight),
            "; ".join(
                ", ".join(text_of(head, weight) for head in items(layer))
                for layer in items(found, "by_layer")
            ),
            Num(at(entry, "attention", "sentences"), whole),
        ]
        for entry in entries
        for kind, found in kinds_of(entry)
    ]
    head = [
        "attention",
        "entropy, bits",
        "even attention, bits",
        "sharpness",
        "entropy of heads, by layer",
        "sentences",
    ]
    return Table(head, rows)
