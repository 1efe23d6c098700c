"""Small pieces of SVG and HTML text: escaping, widths of words, marks and tips."""

import html
import re
from collections.abc import Sequence
from dataclasses import dataclass
from unicodedata import east_asian_width

CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ufffe\uffff]")
TONES = 6
SHAPES = (
    "M-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0",
    "M-3.6-3.6h7.2v7.2h-7.2z",
    "M0-4.6L4.5 3.4h-9z",
    "M0-5L5 0L0 5L-5 0z",
)


@dataclass(frozen=True)
class Size:
    """A picture in CSS pixels; a narrow one is for a phone, and has no tips to point at."""

    width: int
    height: int
    narrow: bool = False


def esc(text: object) -> str:
    """Text that means itself in HTML and SVG, whatever is in it."""
    plain = str(text).encode("utf-8", "replace").decode()
    return html.escape(CONTROL.sub("\ufffd", plain))


def width_of(text: str, size: float = 12) -> float:
    """About how many pixels a text takes."""
    return size * sum(1.0 if east_asian_width(char) in "WF" else 0.56 for char in text)


def clip(text: str, pixels: float, size: float = 12) -> str:
    """The text, or as much of its beginning as fits."""
    if width_of(text, size) <= pixels:
        return text
    while text and width_of(text + "…", size) > pixels:
        text = text[:-1]
    return text.rstrip() + "…"


def px(value: float) -> str:
    """A coordinate, to a tenth of a pixel."""
    return f"{round(value, 1):g}"


def path(points: Sequence[tuple[float, float]]) -> str:
    return "M" + "L".join(f"{px(x)} {px(y)}" for x, y in points)


def text_at(x: float, y: float, text: str, kind: str, anchor: str = "") -> str:
    """A line of text; `anchor` is its middle or end at x, else its start."""
    placed = f' text-anchor="{anchor}"' if anchor else ""
    return f'<text class="{kind}" x="{px(x)}" y="{px(y)}"{placed}>{esc(text)}</text>'


def tone_of(tone: int) -> str:
    """The class that colours a series."""
    return f"c{tone % TONES + 1}"


def spot(x: float, y: float, tone: int, *, hollow: bool = False) -> str:
    """A mark of a series: its own shape, hollow where the number is thin."""
    kind = "spot hollow" if hollow else "spot"
    return f'<path class="{kind}" transform="translate({px(x)} {px(y)})" d="{SHAPES[tone % len(SHAPES)]}"/>'


def tip(x: float, y: float, lines: Sequence[str], size: Size) -> str:
    """A box with text that a style sheet shows while its mark is pointed at, inside the picture."""
    wide = max(width_of(line, 12.5) for line in lines) + 18
    tall = 17 * len(lines) + 10
    left = min(max(x - wide / 2, 2), size.width - wide - 2)
    top = y - tall - 12 if y - tall - 12 > 0 else y + 14
    text = "".join(
        f'<text x="{px(left + 9)}" y="{px(top + 18 + 17 * n)}">{esc(line)}</text>'
        for n, line in enumerate(lines)
    )
    box = f'<rect x="{px(left)}" y="{px(top)}" width="{px(wide)}" height="{px(tall)}" rx="5"/>'
    return f'<g class="tip">{box}{text}</g>'


def picture(id: str, title: str, description: str, size: Size, body: str) -> str:
    """The <svg>: named and described for those who do not see it."""
    id = f"{id}-{'narrow' if size.narrow else 'wide'}"
    return (
        f'<svg class="chart {"narrow" if size.narrow else "wide"}" role="img" '
        f'viewBox="0 0 {size.width} {size.height}" width="{size.width}" height="{size.height}" '
        f'aria-labelledby="{id}-t" aria-describedby="{id}-d">'
        # Inside <defs> a title names the picture without becoming a tip of all of it.
        f'<defs><title id="{id}-t">{esc(title)}</title><desc id="{id}-d">{esc(description)}</desc></defs>'
        f"{body}</svg>"
    )
