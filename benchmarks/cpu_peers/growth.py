"""How cost grows: target tokens per second against batch and source length, and the floor; JSON and SVG."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from cpu_peers.arena import Arena, Cell
from cpu_peers.floor import Machine, floor_ms
from cpu_peers.task import SIZES
from jumok.comparison.axes import Axis, Tick
from jumok.comparison.plot import Chart, Line, Point, draw
from jumok.comparison.svg import Size

LENGTHS, BATCHES = (8, 32, 128, 512), (1, 2, 4, 8, 16, 32, 64, 128)
PATIENCE = 3.0  # seconds of one result, after which it is not measured again
PANEL = Size(560, 380)
NAMES = {"native-int8": "jumok, native int8", "ct2-int8": "CTranslate2 int8"}
STYLE = """
svg { font: 12.5px ui-sans-serif, system-ui, sans-serif; background: #fff; color: #1b1c20 }
.c1 { color: #3454d1 } .c2 { color: #b35309 } .c3 { color: #0b7a75 } .c4 { color: #8a3fa0 }
.tick, .name { font-size: 11.5px; fill: #5d606a } .grid { stroke: #e4e4e0; fill: none }
.axis { stroke: #8b8e97; fill: none } .band { fill: currentColor; fill-opacity: 0.14 }
.line { fill: none; stroke: currentColor; stroke-width: 2; stroke-linejoin: round }
.dashed { stroke-width: 1.4; stroke-dasharray: 4 4 } .spot { fill: currentColor; stroke: #fff }
.end { font-weight: 600; fill: currentColor } .head { font-weight: 600 }
.whisker { stroke: currentColor; stroke-width: 5; stroke-opacity: 0.32 } .tip, .hit { display: none }
"""


def measure(arena: Arena, machine: Machine | None, rounds: int, size: str, new: int) -> list[dict[str, Any]]:
    """Greedy search of one thread, for every length and batch."""
    arena.prepare(size)
    rows: list[dict[str, Any]] = []
    lengths, batches = (LENGTHS, BATCHES) if size == "base" else (LENGTHS[:2], BATCHES[:3])
    for length in lengths:
        for batch in batches:
            cell = Cell(size, 1, batch, 1, length, new)
            floor = None
            if machine:
                floor = 1e3 * batch / floor_ms(machine, SIZES[size], length, batch, 1, new)
            told = []
            for result in arena.time([cell], rounds, PATIENCE):
                rows.append(result.told() | {"floor": floor})
                told.append(f"{result.contestant} {result.rate:,.0f}{result.problem}")
            above = f", floor {floor:,.0f}" if floor else ""
            print(f"  {length} source tokens, batch {batch}: {', '.join(told)}{above} tok/s", flush=True)
    return rows


def picture(rows: Sequence[dict[str, Any]]) -> str:
    """One panel for each contestant: a line for each length over the batch, the floor dashed."""
    found = [row for row in rows if not row["problem"]]
    names = list(dict.fromkeys(row["contestant"] for row in found))
    every = [value for row in found for value in (row["min"], row["max"], row["floor"] or row["max"])]
    low, high = min(every) / 1.15, max(every) * 1.15
    panels = []
    for place, name in enumerate(names):
        chart = draw(panel(name, [row for row in found if row["contestant"] == name], low, high), PANEL)
        head = f'<text class="head" x="8" y="16">{NAMES.get(name, name)}</text>'
        panels.append(f'<g transform="translate({place * (PANEL.width + 20)} 0)">{head}')
        panels.append(f'<g transform="translate(8 26)">{chart}</g></g>')
    width, height = len(names) * (PANEL.width + 20), PANEL.height + 40
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
        f'height="{height}"><style>{STYLE}</style>{"".join(panels)}</svg>\n'
    )


def panel(name: str, rows: Sequence[dict[str, Any]], low: float, high: float) -> Chart:
    lines = []
    for tone, length in enumerate(dict.fromkeys(row["cell"]["length"] for row in rows)):
        mine = [row for row in rows if row["cell"]["length"] == length]
        points = [Point(row["cell"]["batch"], row["median"], row["min"], row["max"]) for row in mine]
        floors = [Point(row["cell"]["batch"], row["floor"]) for row in mine if row["floor"]]
        lines.append(Line(f"{length} tokens", tone, points))
        lines.append(Line("", tone, floors, dashed=True, marks=False))
    batches = sorted({row["cell"]["batch"] for row in rows})
    ticks = [Tick(batch, str(batch)) for batch in batches]
    return Chart(
        f"growth-{name}",
        f"{NAMES.get(name, name)}: target tokens per second",
        "One line for each source length over the batch; dashed: the most that memory and int8 units allow.",
        Axis("sentences in a batch", log=True, ticks=ticks),
        Axis("target tokens per second; dashed: what the machine allows", log=True, low=low, high=high),
        lines,
    )


def write(rows: Sequence[dict[str, Any]], about: dict[str, Any], target: Path) -> None:
    """TARGET.json with every number and TARGET.svg."""
    target.with_suffix(".json").write_text(
        json.dumps(about | {"rows": list(rows)}, indent=1) + "\n", encoding="utf-8"
    )
    target.with_suffix(".svg").write_text(picture(rows), encoding="utf-8")
