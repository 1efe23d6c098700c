"""HTML of the page's parts: sections, figures with their table twins, tables with exact values."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from jumok.comparison.numbers import NONE, Form, real, score
from jumok.comparison.plot import NARROW, WIDE, Chart, draw, named, needs_legend
from jumok.comparison.rows import RowChart, draw_rows
from jumok.comparison.svg import Size, esc, tone_of


@dataclass(frozen=True)
class Num:
    """A number of the report in a table: shown in `form`, kept whole in the markup."""

    value: Any
    form: Form = score
    after: str = ""


@dataclass(frozen=True)
class Raw:
    """HTML that is ready."""

    html: str


Cell = str | Num | Raw


@dataclass(frozen=True)
class Table:
    """Column names and rows; the first cell of a row names it."""

    head: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    caption: str = ""


def shown(value: Any, form: Form = score) -> str:
    """A number with its exact value in the markup; a dash when it is none."""
    number = real(value)
    return NONE if number is None else f'<data value="{number!r}">{esc(form(number))}</data>'


def with_interval(value: Any, ends: Any, form: Form = score) -> Raw:
    """A number and, smaller, its 95 % interval."""
    match ends:
        case [low, high] if None not in map(real, (value, low, high)):
            return Raw(f"{shown(value, form)} <small>{shown(low, form)} to {shown(high, form)}</small>")
    return Raw(shown(value, form))


def cell_html(cell: Cell, *, first: bool) -> str:
    match cell:
        case Num():
            inner, kind = shown(cell.value, cell.form) + esc(cell.after), ' class="num"'
        case Raw():
            inner, kind = cell.html, ""
        case _:
            inner, kind = esc(cell), ""
    return f'<th scope="row">{inner}</th>' if first else f"<td{kind}>{inner}</td>"


def table_html(table: Table) -> str:
    numeric = [any(isinstance(row[n], Num) for row in table.rows) for n in range(len(table.head))]
    head = "".join(
        f'<th scope="col"{" class=num" if is_number else ""}>{esc(name)}</th>'
        for name, is_number in zip(table.head, numeric, strict=True)
    )
    body = "".join(
        "<tr>" + "".join(cell_html(cell, first=n == 0) for n, cell in enumerate(row)) + "</tr>"
        for row in table.rows
    )
    caption = f"<caption>{esc(table.caption)}</caption>" if table.caption else ""
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="Table"><table>{caption}'
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def folded(name: str, *parts: str) -> str:
    """Parts that open when they are asked for."""
    return f"<details><summary>{esc(name)}</summary>{''.join(parts)}</details>"


def line_figure(chart: Chart, table: Table | None, lead: str = "", size: Size = WIDE) -> str:
    """A line chart in two sizes, with its legend where labels do not fit, and its table."""
    body = draw(chart, size) + draw(chart, NARROW)
    if needs_legend(chart.lines, size):
        body += legend(chart, "")
    elif needs_legend(chart.lines, NARROW):
        body += legend(chart, " narrow-only")
    return figure(chart.id, chart.title, lead, body, table)


def row_figure(chart: RowChart, table: Table | None, lead: str = "", width: int = WIDE.width) -> str:
    """A row chart in two sizes, with its table."""
    body = draw_rows(chart, width) + draw_rows(chart, NARROW.width, narrow=True)
    return figure(chart.id, chart.title, lead, body, table)


def figure(id: str, title: str, lead: str, body: str, table: Table | None) -> str:
    """A figure that can be linked to. Without a table of its own it shares that of a neighbour."""
    note = f"<p>{esc(lead)}</p>" if lead else ""
    twin = folded("Numbers", table_html(table)) if table else ""
    return (
        f'<figure class="figure" id="{id}">'
        f'<figcaption><h3><a href="#{id}">{esc(title)}</a></h3>{note}</figcaption>'
        f'<div class="plot">{body}</div>{twin}</figure>'
    )


def legend(chart: Chart, kind: str) -> str:
    entries = "".join(
        f'<li class="{tone_of(lines[0].tone)}"><i{" class=dashed" if lines[0].dashed else ""}></i>'
        f"{esc(label)}</li>"
        for label, lines in named(chart.lines).items()
    )
    return f'<ul class="legend{kind}">{entries}</ul>'


def section(id: str, title: str, lead: str, *parts: str) -> str:
    """A section, or nothing when none of its parts has anything to show."""
    inner = "".join(parts)
    note = f'<p class="lead">{esc(lead)}</p>' if lead else ""
    return f'<section id="{id}"><h2>{esc(title)}</h2>{note}{inner}</section>' if inner else ""


def side_by_side(*figures: str) -> str:
    found = [one for one in figures if one]
    return f'<div class="pair">{"".join(found)}</div>' if len(found) > 1 else "".join(found)
