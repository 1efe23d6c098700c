"""How cost grows: target tokens per second against batch and source length, and the floor; JSON and SVG."""

import json
from collections.abc import Sequence
from math import ceil, floor, log10
from pathlib import Path
from typing import Any

from cpu_peers.arena import Arena, Cell
from cpu_peers.floor import Machine, floor_ms
from cpu_peers.task import SIZES

LENGTHS, BATCHES = (8, 32, 128, 512), (1, 2, 4, 8, 16, 32, 64, 128)
PATIENCE = 3.0  # seconds of one result, after which it is not measured again
WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 560, 380, 52, 90, 10, 44  # of a panel, and of its margins
NAMES = {"native-int8": "jumok, native int8", "ct2-int8": "CTranslate2 int8"}
STYLE = """
svg { font: 12.5px ui-sans-serif, system-ui, sans-serif; background: #fff; color: #1b1c20 }
.c1 { color: #3454d1 } .c2 { color: #b35309 } .c3 { color: #0b7a75 } .c4 { color: #8a3fa0 }
.tick { font-size: 11.5px; fill: #5d606a } .grid { stroke: #e4e4e0 }
.end { font-weight: 600; fill: currentColor }
.line { fill: none; stroke: currentColor; stroke-width: 2; stroke-linejoin: round } .head { font-weight: 600 }
.floor { stroke-width: 1.4; stroke-dasharray: 4 4 }
.range { stroke: currentColor; stroke-width: 5; opacity: 0.3 }
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
        inner = panel([row for row in found if row["contestant"] == name], low, high)
        head = f'<text class="head" x="8" y="16">{NAMES.get(name, name)}</text>'
        panels.append(f'<g transform="translate({place * (WIDTH + 20)} 0)">{head}')
        panels.append(f'<g transform="translate(8 26)">{inner}</g></g>')
    size = f'width="{len(names) * (WIDTH + 20)}" height="{HEIGHT + 40}"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size}><style>{STYLE}</style>{"".join(panels)}</svg>\n'


def panel(rows: Sequence[dict[str, Any]], low: float, high: float) -> str:
    """Target tokens per second against the sentences in a batch, both in logarithms."""
    batches = sorted({row["cell"]["batch"] for row in rows})
    across = log10(batches[-1] / batches[0]) or 1.0

    def x(batch: float) -> float:
        return round(LEFT + (WIDTH - LEFT - RIGHT) * log10(batch / batches[0]) / across, 1)

    def y(rate: float) -> float:
        return round(TOP + (HEIGHT - TOP - BOTTOM) * (1 - log10(rate / low) / log10(high / low)), 1)

    foot, end = HEIGHT - BOTTOM, WIDTH - RIGHT
    steps = [n * 10**power for power in range(floor(log10(low)), ceil(log10(high)) + 1) for n in (1, 2, 5)]
    parts = [
        f'<path class="grid" d="M{LEFT} {y(rate)}H{end}"/>'
        f'<text class="tick" x="{LEFT - 8}" y="{y(rate) + 4}" text-anchor="end">{rate:,g}</text>'
        for rate in steps
        if low <= rate <= high
    ]
    parts += [
        f'<text class="tick" x="{x(batch)}" y="{foot + 16}" text-anchor="middle">{batch}</text>'
        for batch in batches
    ]
    about = "sentences in a batch; up: target tokens per second; dashed: what the machine allows"
    parts.append(f'<text class="tick" x="{LEFT}" y="{foot + 36}">{about}</text>')
    for tone, length in enumerate(dict.fromkeys(row["cell"]["length"] for row in rows), start=1):
        mine = [(x(row["cell"]["batch"]), row) for row in rows if row["cell"]["length"] == length]
        line = "L".join(f"{at} {y(row['median'])}" for at, row in mine)
        floors = "L".join(f"{at} {y(row['floor'])}" for at, row in mine if row["floor"])
        ranges = "".join(f"M{at} {y(row['min'])}V{y(row['max'])}" for at, row in mine)
        parts.append(f'<g class="c{tone}"><path class="range" d="{ranges}"/><path class="line" d="M{line}"/>')
        parts.append(f'<path class="line floor" d="M{floors}"/>' if floors else "")
        last, row = mine[-1]
        parts.append(
            f'<text class="end" x="{last + 8}" y="{y(row["median"]) + 4}">{length} tokens</text></g>'
        )
    return "".join(parts)


def write(rows: Sequence[dict[str, Any]], about: dict[str, Any], target: Path) -> None:
    """TARGET.json with every number and TARGET.svg."""
    target.with_suffix(".json").write_text(
        json.dumps(about | {"rows": list(rows)}, indent=1) + "\n", encoding="utf-8"
    )
    target.with_suffix(".svg").write_text(picture(rows), encoding="utf-8")
