"""Charts as SVG, drawn by a few lines of our own: dots in rows, and lines with the band of their seeds.

Colours are those of the page; in a dark window they are the dark ones. Every chart has its title and
a description for those who do not see it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from statistics import mean

WIDTH, TOP, FOOT = 760, 52, 46
DARK = "@media (prefers-color-scheme: dark)"
STYLE = (
    "svg{font:13px ui-sans-serif,system-ui,'Noto Sans KR',sans-serif;background:#fff;color:#1b1c20}"
    "text{fill:#1b1c20}.head{font-weight:600;font-size:15px}.tick{fill:#5d606a;font-size:12px}"
    ".grid{stroke:#e4e4e0}.mark{stroke:#5d606a;stroke-dasharray:3 4}"
    ".c1{color:#3454d1}.c2{color:#b35309}.c3{color:#0b7a75}.c4{color:#8a3fa0}.c5{color:#6b6f2a}"
    ".line{fill:none;stroke:currentColor;stroke-width:2;stroke-linejoin:round}.dot{fill:currentColor}"
    ".band{fill:currentColor;opacity:.15}.end{fill:currentColor;font-weight:600}"
    f"{DARK}{{svg{{background:#16171b;color:#ececea}}text{{fill:#ececea}}.tick{{fill:#a3a6b0}}"
    ".grid{stroke:#33353c}.mark{stroke:#a3a6b0}"
    ".c1{color:#8ea2ff}.c2{color:#ffab66}.c3{color:#5fd0c8}.c4{color:#d79be8}.c5{color:#c9cf6e}"
    ".end{fill:currentColor}}"
)


@dataclass(frozen=True)
class DotRow:
    """One row of a chart: a mark for each seed, and what is written behind them."""

    label: str
    values: Sequence[float]
    colour: int = 1


@dataclass(frozen=True)
class SeedLine:
    """A line through the means, and the band from the least to the most of the seeds."""

    label: str
    x: Sequence[float]
    seeds: Sequence[Sequence[float]]  # of each seed, the values at x
    colour: int = 1

    def means(self) -> list[float]:
        return [mean(at) for at in zip(*self.seeds, strict=True)]

    def bounds(self) -> list[tuple[float, float]]:
        return [(min(at), max(at)) for at in zip(*self.seeds, strict=True)]


def dots(title: str, axis: str, rows: Sequence[DotRow], most: float = 100) -> str:
    """Rows of dots from 0 to `most`."""
    left, right, step = 230, WIDTH - 90, 30
    foot = TOP + step * len(rows)

    def at(value: float) -> float:
        return left + (right - left) * value / most

    parts = [
        f'<path class="grid" d="M{at(tick):.1f} {TOP - 8}V{foot}"/>'
        f'<text class="tick" x="{at(tick):.1f}" y="{foot + 18}" text-anchor="middle">{number(tick)}</text>'
        for tick in ticks(most)
    ]
    for place, row in enumerate(rows):
        y = TOP + step * place + step / 2
        circles = "".join(f'<circle class="dot" cx="{at(one):.1f}" cy="{y}" r="5"/>' for one in row.values)
        parts.append(
            f'<text x="{left - 12}" y="{y + 4}" text-anchor="end">{escape(row.label)}</text>'
            f'<g class="c{row.colour}" opacity=".85">{circles}</g>'
            f'<text class="tick" x="{right + 14}" y="{y + 4}">{mean(row.values):.1f}</text>'
        )
    parts.append(f'<text class="tick" x="{right}" y="{foot + 36}" text-anchor="end">{escape(axis)}</text>')
    told = "; ".join(f"{row.label}: {', '.join(f'{one:.1f}' for one in row.values)}" for row in rows)
    return framed(title, f"{axis}. {told}", parts, foot + FOOT)


def lines(
    title: str,
    axes: tuple[str, str],
    series: Sequence[SeedLine],
    *,
    most: float = 100,
    names: Callable[[float], str] | None = None,
    mark: tuple[float, str] | None = None,
) -> str:
    """Lines over x, with a band for the seeds; `mark` is an upright line with a word on it."""
    left, right, foot = 48, WIDTH - 190, 330
    every = sorted({x for one in series for x in one.x})
    first, last = every[0], every[-1]

    def across(x: float) -> float:
        return left + (right - left) * (x - first) / ((last - first) or 1)

    def up(y: float) -> float:
        return foot - (foot - TOP) * min(y, most) / most

    parts = [
        f'<path class="grid" d="M{left} {up(tick):.1f}H{right}"/>'
        f'<text class="tick" x="{left - 8}" y="{up(tick) + 4:.1f}" text-anchor="end">{number(tick)}</text>'
        for tick in ticks(most)
    ]
    shown, room = list[float](), 44.0
    for x in every:
        if not shown or across(x) - across(shown[-1]) >= room:
            shown.append(x)
    for x in shown:
        name = names(x) if names else number(x)
        parts.append(
            f'<text class="tick" x="{across(x):.1f}" y="{foot + 18}" text-anchor="middle">{name}</text>'
        )
    if mark:
        x = across(mark[0])
        parts.append(f'<path class="mark" d="M{x:.1f} {TOP - 4}V{foot}"/>')
        parts.append(f'<text class="tick" x="{x + 6:.1f}" y="{TOP + 15}">{escape(mark[1])}</text>')
    heights = spaced([up(one.means()[-1]) for one in series], 17, foot)
    for one, height in zip(series, heights, strict=True):
        parts.append(drawn(one, across, up, right + 12, height))
    parts.append(f'<text class="tick" x="{right}" y="{foot + 36}" text-anchor="end">{escape(axes[0])}</text>')
    parts.append(f'<text class="tick" x="8" y="{TOP - 12}">{escape(axes[1])}</text>')
    told = "; ".join(f"{one.label}: {', '.join(f'{value:.1f}' for value in one.means())}" for one in series)
    return framed(title, f"{axes[1]}, {axes[0]}. {told}", parts, foot + FOOT)


def drawn(
    line: SeedLine, across: Callable[[float], float], up: Callable[[float], float], end: float, height: float
) -> str:
    """Band, line, marks and name of one series."""
    means, bounds = line.means(), line.bounds()
    upper = [f"{across(x):.1f} {up(high):.1f}" for x, (_, high) in zip(line.x, bounds, strict=True)]
    lower = [f"{across(x):.1f} {up(low):.1f}" for x, (low, _) in zip(line.x, bounds, strict=True)]
    path = "L".join(f"{across(x):.1f} {up(y):.1f}" for x, y in zip(line.x, means, strict=True))
    marks = "".join(
        f'<circle class="dot" cx="{across(x):.1f}" cy="{up(y):.1f}" r="3.5"/>'
        for x, y in zip(line.x, means, strict=True)
    )
    return (
        f'<g class="c{line.colour}"><path class="band" d="M{"L".join((*upper, *reversed(lower)))}Z"/>'
        f'<path class="line" d="M{path}"/>{marks}'
        f'<text class="end" x="{end}" y="{height + 4:.1f}">{escape(line.label)}</text></g>'
    )


def framed(title: str, description: str, parts: Sequence[str], height: float) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:g}" width="{WIDTH}" '
        f'height="{height:g}" role="img" aria-labelledby="t d"><title id="t">{escape(title)}</title>'
        f'<desc id="d">{escape(description)}</desc><style>{STYLE}</style>'
        f'<text class="head" x="8" y="20">{escape(title)}</text>{"".join(parts)}</svg>\n'
    )


def ticks(most: float) -> list[float]:
    """Five steps from 0."""
    return [most * step / 5 for step in range(6)]


def number(value: float) -> str:
    return f"{value:,.0f}" if value == int(value) else f"{value:g}"


def spaced(heights: Sequence[float], least: float, lowest: float) -> list[float]:
    """The heights, moved down where two names would lie upon each other, and up again at the foot."""
    order = sorted(range(len(heights)), key=heights.__getitem__)
    found = list(heights)
    for above, below in zip(order, order[1:], strict=False):
        found[below] = max(found[below], found[above] + least)
    for place, one in enumerate(reversed(order)):
        found[one] = min(found[one], lowest - place * least)
    return found
