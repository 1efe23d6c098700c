"""The models side by side: quality with its interval, the main table, and tests between neighbours."""

from jumok.comparison.axes import Axis
from jumok.comparison.markup import Num, Raw, Table, row_figure, section, table_html, with_interval
from jumok.comparison.numbers import chance, interval, real, score, seconds, short, signed, text_of, whole
from jumok.comparison.rows import Mark, Row, RowChart
from jumok.comparison.svg import esc, tone_of
from jumok.comparison.view import LABELS, Json, View, at, ends, fields, items, word


def quality_section(view: View) -> str:
    """Nothing without entries; a failed entry keeps its place and says so."""
    if not view.entries:
        return ""
    lead = (
        f"{view.metric_title} on the test pairs; {view.direction}. "
        "The line through each mark is its 95 % interval: another draw of test sentences "
        "would most often land inside it."
    )
    return section(
        "table", "Side by side", lead, overall(view), table_html(main_table(view)), seeds(view), pairs(view)
    )


def overall(view: View) -> str:
    rows = [quality_row(view, entry) for entry in view.lineage]
    if not any(row.marks for row in rows):
        return ""
    chart = RowChart(
        "fig-quality",
        f"{view.metric_title} of each model",
        "One row per model with the value and its 95 % interval.",
        Axis(view.metric_axis, most=view.most),
        rows,
    )
    return row_figure(chart, None)


def quality_row(view: View, entry: Json, label: str = "", text: str = "") -> Row:
    """An entry's quality as a row: `text`, or the value and its interval; or what became of the entry."""
    quality, name = fields(entry, "quality"), label or word(entry, "name")
    value = real(at(quality, "value"))
    if value is None:
        status = word(entry, "status")
        return Row(name, view.tone(entry), (), "not measured" if status == "completed" else status)
    low, high = ends(at(quality, "ci95"))
    between = interval((low, high)) if low is not None else ""
    tip = (
        name,
        f"{view.metric_label}: {score(value)}",
        *([f"95 %: {between}"] if between else []),
        f"{text_of(at(quality, 'n'), whole)} sentences",
    )
    said = text or score(value) + (f" ({between})" if between else "")
    return Row(name, view.tone(entry), (Mark(value, low, high, tip),), said)


def main_table(view: View) -> Table:
    """All entries: size, budget used, quality, speed."""
    others = list(
        dict.fromkeys(
            name for one in view.entries for name in fields(one, "quality", "metrics") if name != view.metric
        )
    )
    head = ["model", view.metric_label, *(LABELS.get(name, name) for name in others)]
    head += ["parameters", "steps", "tokens", "training", "ms per sentence"]
    return Table(head, [main_row(view, entry, others) for entry in view.entries])


def main_row(view: View, entry: Json, others: list[str]) -> list[Num | Raw]:
    status = word(entry, "status")
    badge = "" if status == "completed" else f' <span class="badge {esc(status)}">{esc(status)}</span>'
    name = f'<span class="dot {tone_of(view.tone(entry))}"></span>{esc(word(entry, "name"))}{badge}'
    metrics = fields(entry, "quality", "metrics")
    return [
        Raw(name),
        with_interval(at(entry, "quality", "value"), at(entry, "quality", "ci95")),
        *(Num(at(metrics, other, "value")) for other in others),
        Num(at(entry, "parameters"), short),
        Num(at(entry, "steps"), whole),
        Num(at(entry, "tokens"), short),
        Num(at(entry, "train_s"), seconds),
        Num(at(entry, "speed", "ms_per_sentence", "median"), score),
    ]


def seeds(view: View) -> str:
    """Several seeds of one thing: their mean, and how far apart they are."""
    groups = [one for one in items(view.report, "groups") if len(items(one, "seeds")) > 1]
    if not groups:
        return ""
    rows = [
        (
            word(one, "label", other=word(one, "name")),
            Num(at(one, "mean")),
            Num(at(one, "min")),
            Num(at(one, "max")),
            ", ".join(map(str, items(one, "seeds"))),
        )
        for one in groups
    ]
    return table_html(
        Table(["", f"mean {view.metric_label}", "lowest", "highest", "seeds"], rows, "Over seeds")
    )


def pairs(view: View) -> str:
    """Tests between entries on the same resampled sentences."""
    rows = [
        (
            f"{word(one, 'before')} → {word(one, 'after')}",
            Num(at(one, "delta"), signed),
            Num(at(one, "p"), chance),
            Num(at(one, "resamples"), whole),
        )
        for one in items(view.report, "pairs")
    ]
    if not rows:
        return ""
    caption = (
        "Paired tests: both models on the same resampled sentences; p is how often chance alone does as much"
    )
    return table_html(Table(["step", f"change in {view.metric_label}", "p", "resamples"], rows, caption))
