"""Which words the answer rests on: a map of words with signs, for every architecture."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jumok.cli.views.view import View, coloured, pick_style, terminal_width
from jumok.explain.heatmap import Style, cells, ltr, pad, shorten
from jumok.explain.trace import Trace

LABEL = 14  # most cells of a word
NUMBER = 6  # cells of a number, -12.3 and a space
ORANGE = ((60, 30, 0), (150, 75, 0), (235, 130, 20), (255, 190, 90))
BLUE = ((0, 25, 60), (0, 70, 150), (40, 130, 220), (130, 195, 255))
ORANGE_256, BLUE_256 = (52, 94, 130, 172, 208, 215), (17, 18, 25, 26, 32, 75)
LEGEND = (
    "numbers:   nats of log-probability that a word (above) gave to what was written (left); below 0 it\n"
    "           spoke against it"
)


def influence_view(trace: Trace, style: str = "auto") -> View:
    """What each source word gave each word that was written: log-probability with it, less that without."""
    source, target = trace.manifest["source"]["text"], trace.manifest["target"]
    found = trace.influence()
    words = [word for word in target["words"] if "type" not in word]
    values = np.array([found.values[word["tokens"]].sum(axis=0, dtype=np.float64) for word in words])
    values = values.reshape(len(words), len(found.units))  # (words, units), also without any
    above, left = [unit.text for unit in found.units], [word["text"] for word in words]
    title = f"influence · words · each left out ({found.replace})"
    lines = [target["text"], "", title]
    best = ""
    if values.size:
        best = strongest(above, left, values)
        paint = pick_style(style) if coloured(style) else None
        lines += [*signed_map(above, left, values, paint, terminal_width()), best, LEGEND]
    plain = {
        "source": source,
        "target": target["text"],
        "tokens": [token["text"] for token in target["tokens"]],
        "influence": found.to_dict(),
    }
    rows = [[word, *row] for word, row in zip(left, values.tolist(), strict=True)]
    return View(plain, "\n".join(lines), best, [["", *above], *rows])


def signed_map(
    above: Sequence[str], left: Sequence[str], values: NDArray[np.float64], style: Style | None, width: int
) -> Iterator[str]:
    """A line for each row (left) and a number for each column (above), in panels where they do not fit."""
    names, rows = [shorten(word, LABEL) for word in above], [shorten(word, LABEL) for word in left]
    margin = max(map(cells, rows)) + 2
    each = max(NUMBER, max(map(cells, names)) + 2)
    count = max((width - margin) // each, 1)
    most = float(np.abs(values).max()) or 1.0
    for first in range(0, len(names), count):
        columns = slice(first, first + count)
        yield from [""] * bool(first)
        yield (" " * margin + "".join(to_right(name, each) for name in names[columns])).rstrip()
        for name, row in zip(rows, values[:, columns], strict=True):
            numbers = (paint(to_right(number(one), each), one / most, style) for one in row)
            yield (pad(name, margin) + "".join(numbers)).rstrip()


def to_right(text: str, room: int) -> str:
    return " " * (room - cells(text)) + ltr(text)


def number(value: float) -> str:
    """With its sign; a dot for what rounds to nothing."""
    text = f"{value:+.1f}"
    return "·" if text in ("+0.0", "-0.0") else text


def paint(text: str, share: float, style: Style | None) -> str:
    """Text on orange (above 0) or blue (below), the deeper the larger; none close to 0 or without colour."""
    depth = min(abs(share), 1.0) ** 0.5
    if style is None or depth < 0.08:
        return text
    ink = 30 if depth > 0.6 else 97
    if style == "truecolour":
        shades = ORANGE if share > 0 else BLUE
        at = depth * (len(shades) - 1)
        low, high = shades[int(at)], shades[min(int(at) + 1, len(shades) - 1)]
        red, green, blue = (round(a + (b - a) * (at % 1)) for a, b in zip(low, high, strict=True))
        return f"\x1b[48;2;{red};{green};{blue};{ink}m{text}\x1b[0m"
    few = ORANGE_256 if share > 0 else BLUE_256
    return f"\x1b[48;5;{few[round(depth * (len(few) - 1))]};{ink}m{text}\x1b[0m"


def strongest(above: Sequence[str], left: Sequence[str], values: NDArray[np.float64], count: int = 3) -> str:
    """The largest values of different rows: `strongest: 2024←2024 +15.2 · 03←mars +8.1`."""
    best: Any = np.abs(values).argmax(axis=1)
    links: dict[str, float] = {}
    for row in np.argsort(-np.abs(values).max(axis=1), kind="stable"):
        link = f"{ltr(left[row])}←{ltr(above[best[row]])}"
        links.setdefault(link, float(values[row, best[row]]))
    return "strongest: " + " · ".join(f"{link} {value:+.1f}" for link, value in [*links.items()][:count])
