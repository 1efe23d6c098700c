"""Parts taken away: each ablation beside the plain model that it changes in one setting."""

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from jumok.comparison.axes import Axis
from jumok.comparison.markup import (
    Cell,
    Num,
    Table,
    line_figure,
    row_figure,
    section,
    side_by_side,
    with_interval,
)
from jumok.comparison.numbers import chance, real, short, signed, text_of
from jumok.comparison.plot import HALF, Chart
from jumok.comparison.rows import Row, RowChart
from jumok.comparison.sections.learning import curves_of
from jumok.comparison.sections.lengths import bins_of, tries_positions
from jumok.comparison.sections.quality import quality_row
from jumok.comparison.svg import TONES
from jumok.comparison.view import Json, View, at, fields, word

PLAIN = "plain"
MEANINGS = {
    ("model.scaled", False): "scores are not divided by √d_k",
    ("model.residual", False): "no residual connections",
    ("model.norm", "none"): "no layer norm",
    ("model.heads", 1): "one head",
    ("model.positions", "none"): "no positions",
}


def ablation_section(view: View) -> str:
    bases: dict[str, list[Json]] = {}
    for entry in view.ablations:
        if drawn_beyond(entry):
            continue
        bases.setdefault(word(view.base(entry), "name"), []).append(entry)
    parts = [
        side_by_side(comparison(view, base, changed, n), curves(view, base, changed, n))
        for n, changed in enumerate(bases.values())
        for base in [view.base(changed[0])]
    ]
    lead = (
        "Each row is the same training with one setting changed. The vertical line is the plain model; an "
        "interval that stays clear of it is a difference that chance does not explain."
    )
    return section("ablations", "Parts taken away", lead, *parts)


def drawn_beyond(entry: Json) -> bool:
    """A kind of positions tried past the lengths of training is drawn in the section about them."""
    return tries_positions(entry) and any(at(one, "beyond") is True for one in bins_of(entry))


def comparison(view: View, base: Json | None, changed: Sequence[Json], number: int) -> str:
    """The plain model and its ablations as rows, with the change in the metric."""
    rows: list[Row] = [quality_row(view, base, PLAIN, text_of(at(base, "quality", "value")))] if base else []
    for entry in changed:
        pair = view.pair(word(base, "name"), word(entry, "name"))
        delta = real(at(pair, "delta"))
        value = text_of(at(entry, "quality", "value"))
        said = f"{value} ({signed(delta)})" if delta is not None else value
        rows.append(quality_row(view, entry, short_name(entry), said))
    plain = real(at(base, "quality", "value"))
    if not any(row.marks for row in rows):
        return ""
    chart = RowChart(
        f"fig-ablations-{number + 1}",
        f"{word(base, 'name') or word(changed[0], 'arch')} without its parts",
        "One row per ablation with its value and 95 % interval; the line is the plain model.",
        Axis(view.metric_axis, most=view.most),
        rows,
        reference=plain,
    )
    return row_figure(chart, ablation_table(view, base, changed), width=HALF.width)


def short_name(entry: Json) -> str:
    """The ablation without the name of its plain entry."""
    return word(entry, "name").partition(" ")[2] or word(entry, "group")


def curves(view: View, base: Json | None, changed: Sequence[Json], number: int) -> str:
    """Loss of the plain model and its ablations while they learned."""
    entries = [one for one in (base, *changed) if one]
    drawn = []
    for place, line in enumerate(curves_of(view, entries, "tokens", "loss", 1)):
        label = PLAIN if entries[place] is base else short_name(entries[place])
        drawn.append(replace(line, label=label, tone=line.tone + place, dashed=place >= TONES))
    if not any(point for line in drawn for point in line.points):
        return ""
    chart = Chart(
        f"fig-ablation-curves-{number + 1}",
        "Loss while they learned",
        "Validation loss against tokens, one line per ablation.",
        Axis("tokens of both sides seen", form=short, low=0),
        Axis("validation loss"),
        drawn,
    )
    return line_figure(chart, None, size=HALF)


def ablation_table(view: View, base: Json | None, changed: Sequence[Json]) -> Table:
    rows: list[list[Cell]] = []
    for entry in changed:
        pair = view.pair(word(base, "name"), word(entry, "name"))
        rows.append(
            [
                word(entry, "name"),
                "; ".join(meaning(name, value) for name, value in fields(entry, "changes").items()),
                with_interval(at(entry, "quality", "value"), at(entry, "quality", "ci95")),
                Num(at(pair, "delta"), signed),
                Num(at(pair, "p"), chance),
                word(entry, "status"),
            ]
        )
    return Table(["ablation", "what changed", view.metric_label, "against plain", "p", "status"], rows)


def meaning(name: str, value: Any) -> str:
    """A changed setting, in words where there are better ones."""
    known = next((text for (key, one), text in MEANINGS.items() if (key, str(one)) == (name, str(value))), "")
    setting = f"{name} = {json.dumps(value, ensure_ascii=False)}"
    return f"{known} ({setting})" if known else setting
