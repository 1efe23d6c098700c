"""Quality against source length: within the lengths of the training data, and beyond them."""

from collections.abc import Sequence

from jumok.comparison.axes import Axis, Tick
from jumok.comparison.markup import (
    Cell,
    Num,
    Raw,
    Table,
    line_figure,
    section,
    shown,
    table_html,
    with_interval,
)
from jumok.comparison.numbers import interval, real, score, signed, text_of, whole
from jumok.comparison.plot import Chart, Line, Point
from jumok.comparison.view import Json, View, at, ends, fields, items, word

Bin = tuple[float, float | None]
POSITIONS = "model.positions"
THIN = "A hollow mark stands on fewer than 30 sentences."


def bins_of(entry: Json) -> list[Json]:
    """The length bins of an entry that name their shortest length."""
    return [one for one in items(entry, "quality", "by_length", "bins") if real(at(one, "lo")) is not None]


def key(one: Json) -> Bin:
    return at(one, "lo"), real(at(one, "hi"))


def bin_label(one: Bin) -> str:
    low, high = one
    return f"{low:g}+" if high is None else f"{low:g}" if low == high else f"{low:g}–{high:g}"


def unit_of(entries: Sequence[Json]) -> str:
    found = (word(one, "quality", "by_length", "unit") for one in entries)
    return next(filter(None, found), "source length").replace("_", " ")


def length_section(view: View) -> str:
    entries = [one for one in view.lineage if bins_of(one)]
    lead = (
        f"The test pairs in bins by length, counted in {unit_of(entries)}. The band around each line is the "
        "95 % interval: where two bands are apart, chance does not explain the difference."
    )
    chart = length_chart(
        view,
        "fig-length",
        f"{view.metric_title} by source length",
        [(view.label(one), view.tone(one), one) for one in entries],
    )
    if chart is None:
        return ""
    note = THIN if any(at(one, "thin") is True for entry in entries for one in bins_of(entry)) else ""
    figure = line_figure(chart, length_table(view, entries), note)
    return section("length", "Quality by source length", lead, figure, slopes(view))


def length_chart(view: View, id: str, title: str, drawn: Sequence[tuple[str, int, Json]]) -> Chart | None:
    """Quality of the labelled entries over all length bins; None when no bin has a value."""
    entries = [entry for _, _, entry in drawn]
    found = {key(one): one for entry in entries for one in bins_of(entry)}
    order = sorted(found, key=lambda one: (one[0], one[1] or float("inf")))
    places = {one: place for place, one in enumerate(order)}
    lines = [Line(label, tone, points(view, entry, places)) for label, tone, entry in drawn]
    if not any(point for line in lines for point in line.points):
        return None
    beyond = [places[one] for one in order if at(found[one], "beyond") is True]
    named = [Tick(places[one], bin_label(one), f"n = {text_of(at(found[one], 'n'), whole)}") for one in order]
    unit = unit_of(entries)
    x = Axis(unit, ticks=named, low=-0.25, high=len(order) - 0.75)
    limit = at(entries[-1], "quality", "by_length", "trained_to")
    note = f"beyond training: over {limit:g}" if real(limit) is not None else "beyond training"
    return Chart(
        id,
        title,
        f"{view.metric_label} against {unit}, one line per model with its 95 % interval.",
        x,
        Axis(view.metric_axis, most=view.most),
        lines,
        min(beyond) - 0.5 if beyond else None,
        note,
    )


def points(view: View, entry: Json, places: dict[Bin, int]) -> list[Point | None]:
    """A value of an entry for every bin, None where it has none."""
    found: list[Point | None] = [None] * len(places)
    for one in bins_of(entry):
        value, (low, high) = real(at(one, "value")), ends(at(one, "ci95"))
        if value is None:
            continue
        between = [f"95 %: {interval((low, high))}"] if low is not None else []
        size = f"{bin_label(key(one))}: {text_of(at(one, 'n'), whole)} sentences"
        tip = (word(entry, "name"), f"{view.metric_label}: {score(value)}", *between, size)
        place = places[key(one)]
        found[place] = Point(place, value, low, high, at(one, "thin") is True, tip)
    return found


def length_table(view: View, entries: Sequence[Json]) -> Table:
    found = {key(one): one for entry in entries for one in bins_of(entry)}
    order = sorted(found, key=lambda one: (one[0], one[1] or float("inf")))
    rows: list[list[Cell]] = []
    for place in order:
        cells = [next((one for one in bins_of(entry) if key(one) == place), {}) for entry in entries]
        values = [with_interval(at(cell, "value"), at(cell, "ci95")) for cell in cells]
        beyond = " (beyond training)" if at(found[place], "beyond") is True else ""
        rows.append([bin_label(place) + beyond, Num(at(found[place], "n"), whole), *values])
    return Table([unit_of(entries), "sentences", *(word(one, "name") for one in entries)], rows)


def slopes(view: View) -> str:
    """From the shortest to the longest bin: what each model loses, and whether intervals say so."""
    lineage = {word(one, "name") for one in view.lineage}
    found = [one for one in items(view.report, "slopes") if word(one, "entry") in lineage]
    rows = [
        (
            word(one, "entry"),
            end_of(fields(one, "short")),
            end_of(fields(one, "long")),
            with_interval(at(one, "change"), at(one, "ci95"), signed),
            verdict(one),
        )
        for one in found
    ]
    head = ["model", "short sources", "long sources", "change", "verdict"]
    return table_html(Table(head, rows, "From short to long sources")) if rows else ""


def verdict(slope: Json) -> str:
    if at(slope, "falls") is True:
        return "falls: the intervals do not overlap"
    if at(slope, "falls") is False:
        return "shows no fall"
    return "open: the intervals do not decide" if ends(at(slope, "ci95"))[0] is not None else "not known"


def end_of(one: Json) -> Raw:
    if real(at(one, "lo")) is None:
        return Raw(shown(None))
    value = with_interval(at(one, "value"), at(one, "ci95"))
    return Raw(f"{value.html} <small>at {bin_label(key(one))}</small>")


def beyond_section(view: View) -> str:
    """What happens past the lengths seen in training; the kinds of positions drawn where they were tried."""
    tested = [one for one in view.entries if any(at(b, "beyond") is True for b in bins_of(one))]
    if not tested:
        return ""
    lead = (
        "Test sources longer than every source that the model learned from, next to the longest bin that its "
        "training still covered."
    )
    if any(map(tries_positions, tested)):
        lead += " To try kinds of positions, models learned from the shorter pairs alone."
    return section(
        "beyond", "Beyond the lengths of training", lead, positions(view, tested), beyond_table(tested)
    )


def positions(view: View, tested: Sequence[Json]) -> str:
    changed = [one for one in tested if tries_positions(one)]
    if not changed:
        return ""
    bases = [base for one in changed if (base := view.base(one))]
    plain = list({word(base, "name"): base for base in bases}.values())
    # A model that learned from other lengths has other bins, which no axis can share.
    bins = [key(one) for one in bins_of(changed[0])]
    shared = [one for one in (*plain, *changed) if [key(bin) for bin in bins_of(one)] == bins]
    drawn = [
        (kind_of(one), view.tone(one) + (0 if one in plain else 1 + changed.index(one)), one)
        for one in shared
    ]
    chart = length_chart(view, "fig-beyond", f"{view.metric_title} by kind of positions", drawn)
    return line_figure(chart, length_table(view, [one for _, _, one in drawn])) if chart else ""


def tries_positions(entry: Json) -> bool:
    """Whether the entry is one of those that learned from short pairs alone, to try a kind of positions."""
    return word(entry, "group").startswith("positions")


def kind_of(entry: Json) -> str:
    kind = word(entry, "settings", POSITIONS) or word(entry, "changes", POSITIONS)
    if not tries_positions(entry):
        return f"{kind}, trained on all lengths" if kind else word(entry, "name")
    return "no positions" if kind == "none" else f"{kind} positions"


def beyond_table(tested: Sequence[Json]) -> str:
    rows: list[list[Cell]] = []
    for entry in tested:
        inside = [one for one in bins_of(entry) if at(one, "beyond") is not True]
        last = max(inside, key=lambda one: at(one, "lo"), default={})
        for one in bins_of(entry):
            if at(one, "beyond") is True:
                rows.append([word(entry, "name"), end_of(last), end_of(one), Num(at(one, "n"), whole)])
    return table_html(Table(["model", "longest bin of training", "beyond", "sentences beyond"], rows))
