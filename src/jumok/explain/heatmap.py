"""A matrix of weights as lines of text: what each target token looked at, for any terminal and script.

Axis letters: T target tokens (rows), S source tokens (columns).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal
from unicodedata import bidirectional, category, east_asian_width

import numpy as np
from numpy.typing import NDArray

Style = Literal["blocks", "digits", "colour", "truecolour"]
Array = NDArray[np.floating[Any]]

BLOCKS = "·░▒▓█"
SHADES_256 = (None, 17, 18, 19, 55, 91, 127, 163, 204, 209, 215, 222)  # dark blue, purple, rose, sand
SHADES_24 = (
    (13, 8, 60),
    (84, 2, 163),
    (156, 23, 158),
    (204, 71, 120),
    (237, 121, 83),
    (253, 180, 47),
    (240, 249, 33),
)
LABEL_ROWS = 12  # most characters of a label that is written downwards
LABEL_CELLS = 24  # most cells of a label that is written across


def heat_map(
    source: Sequence[str],
    target: Sequence[str],
    weights: Array,
    *,
    style: Style = "blocks",
    width: int = 100,
    beside: Sequence[str] = (),
) -> str:
    """One line per target label, one column per source label, the strongest links and a legend.

    weights (T, S); `beside` are texts of one width that follow the target labels. Columns are as wide as
    their labels if that fits into `width` cells; otherwise the labels are written downwards over narrow
    columns, in several panels where even those do not fit.
    """
    if weights.shape != (len(target), len(source)):
        raise ValueError(
            f"weights {weights.shape} do not fit {len(target)} target, {len(source)} source labels"
        )
    if not weights.size:
        return ""
    rows = [shorten(label, LABEL_CELLS) for label in target]
    if beside:
        room = max(cells(label) for label in rows) + 1
        rows = [pad(label, room) + text for label, text in zip(rows, beside, strict=True)]
    margin = max(cells(label) for label in rows) + 2
    lines: list[str] = []
    for layout, columns in panels([shorten(label, LABEL_CELLS) for label in source], width - margin):
        lines += [""] * bool(lines) + [(" " * margin + line).rstrip() for line in layout.header()]
        for label, row in zip(rows, weights[:, columns], strict=True):
            lines.append((pad(label, margin) + layout.row(row, style)).rstrip())
    return "\n".join([*lines, strongest(source, target, weights), legend(style)])


def strongest(source: Sequence[str], target: Sequence[str], weights: Array, count: int = 3) -> str:
    """The largest weights of different rows: `strongest: yesterday←어제 0.81 · movie←영화를 0.74`."""
    best = weights.argmax(axis=1)  # (T,)
    links: dict[str, float] = {}
    for t in np.argsort(-weights.max(axis=1), kind="stable"):
        links.setdefault(f"{ltr(target[t])}←{ltr(source[best[t]])}", float(weights[t, best[t]]))
    return "strongest: " + " · ".join(f"{link} {weight:.2f}" for link, weight in [*links.items()][:count])


def legend(style: Style) -> str:
    """What a mark stands for."""
    if style == "blocks":
        least = ((level / len(BLOCKS)) ** 2 for level in range(1, len(BLOCKS)))
        return "weight:    · less  " + "  ".join(
            f"{mark} from {w:.2f}" for mark, w in zip(BLOCKS[1:], least, strict=True)
        )
    if style == "digits":
        return "weight:    tenths, rounded; · below 0.05; 9 from 0.85"
    marks = "  ".join(f"{paint('  ', w, style)} {w:.2f}" for w in (0.01, 0.05, 0.2, 0.5, 1.0))
    return f"weight:    {marks}"


def merge_words(
    weights: Array, source_groups: Sequence[Sequence[int]], target_groups: Sequence[Sequence[int]]
) -> NDArray[np.float64]:
    """Attention between words: the sum over the keys of a word, the mean over its queries.

        A[w, v] = 1/|w| · Σ_{t in w} Σ_{s in v} a[t, s]

    weights (…, T, S) -> (…, target words, source words). Where each source token is in one group, rows
    that sum to 1 still do.
    """
    T, S = weights.shape[-2:]
    mean = np.zeros((len(target_groups), T))
    for word, pieces in enumerate(target_groups):
        mean[word, list(pieces)] = 1 / len(pieces)
    total = np.zeros((S, len(source_groups)))
    for word, pieces in enumerate(source_groups):
        total[list(pieces), word] = 1
    merged: NDArray[np.float64] = mean @ weights @ total  # (…, target words, source words)
    return merged


@dataclass(frozen=True)
class Across:
    """Labels side by side, each over a column of its own width."""

    labels: Sequence[str]
    gap: int = 2

    @property
    def width(self) -> int:
        return sum(self.widths) + self.gap * len(self.labels)

    @property
    def widths(self) -> list[int]:
        return [max(cells(label), 2) for label in self.labels]

    def header(self) -> list[str]:
        pairs = zip(self.labels, self.widths, strict=True)
        return [(" " * self.gap).join(centre(label, width) for label, width in pairs)]

    def row(self, weights: Array, style: Style) -> str:
        if style in ("blocks", "digits"):
            marks = (centre(mark(w, style, 2), n) for w, n in zip(weights, self.widths, strict=True))
            return (" " * self.gap).join(marks)
        # Colour fills the gap too, and where it is wide there is room for the number itself.
        words = map(hundredths if self.gap == 2 else lambda w: "", weights)
        numbers = (centre(word, n + self.gap) for word, n in zip(words, self.widths, strict=True))
        return "".join(paint(text, w, style) for text, w in zip(numbers, weights, strict=True))


@dataclass(frozen=True)
class Down:
    """Labels written downwards, each over a column of one or two cells."""

    labels: Sequence[str]
    cell: int

    def header(self) -> list[str]:
        columns = [clusters(label) for label in self.labels]
        columns = [c if len(c) <= LABEL_ROWS else [*c[: LABEL_ROWS - 1], "⋮"] for c in columns]
        height = max(len(column) for column in columns)
        grid = [[""] * (height - len(column)) + column for column in columns]
        return ["".join(pad(column[line], self.cell) for column in grid) for line in range(height)]

    def row(self, weights: Array, style: Style) -> str:
        if style in ("blocks", "digits"):
            return "".join(mark(w, style, self.cell) for w in weights)
        return "".join(paint(" " * self.cell, w, style) for w in weights)


def panels(labels: Sequence[str], room: int) -> list[tuple[Across | Down, slice]]:
    """The layouts that show all columns within `room` cells, and the columns that each shows.

    Single characters stand close together even where there is room, so that the weights read as a picture.
    """
    characters = all(len(clusters(label)) == 1 for label in labels)
    # Syllables and ideographs read as a text without gaps; letters need one.
    close = 0 if all(cells(label) == 2 * len(clusters(label)) or len(label) == 1 for label in labels) else 1
    for across in (Across(labels), Across(labels, close)):
        if not characters and across.width <= room:
            return [(across, slice(0, len(labels)))]
    wide = max(cells(part) for label in labels for part in clusters(label)) > 1
    cell = 2 if wide or 2 * len(labels) <= room else 1
    count = -(-len(labels) // max(room // cell, 1))
    each = -(-len(labels) // count)  # panels of about equal size
    starts = range(0, len(labels), each)
    return [(Down(labels[i : i + each], cell), slice(i, i + each)) for i in starts]


def mark(weight: float, style: Style, size: int) -> str:
    """A weight as `size` characters: a block by its square root (small weights stay visible), or a digit."""
    if style == "digits":
        tenths = min(int(weight * 10 + 0.5), 9)
        return pad(str(tenths) if tenths else "·", size)
    level = min(int(max(weight, 0.0) ** 0.5 * len(BLOCKS) + 1e-9), len(BLOCKS) - 1)
    return BLOCKS[level] * size if level else pad("·", size)


def hundredths(weight: float) -> str:
    """`.07`, `.92`, `1.0`, or a dot for what rounds to zero: three cells at most."""
    text = f"{weight:.2f}"
    return "·" if text == "0.00" else text[1:] if text[0] == "0" else text[:3]


def paint(text: str, weight: float, style: Style) -> str:
    """Text on a background that stands for the weight, by its square root; no background close to zero."""
    depth = min(max(weight, 0.0), 1.0) ** 0.5
    if depth < 0.05:
        return f"\x1b[2m{text}\x1b[0m" if text.strip() else text
    ink = 30 if depth > 0.7 else 97
    if style == "truecolour":
        at = depth * (len(SHADES_24) - 1)
        low, high = SHADES_24[int(at)], SHADES_24[min(int(at) + 1, len(SHADES_24) - 1)]
        red, green, blue = (round(a + (b - a) * (at % 1)) for a, b in zip(low, high, strict=True))
        return f"\x1b[48;2;{red};{green};{blue};{ink}m{text}\x1b[0m"
    shade = SHADES_256[round(depth * (len(SHADES_256) - 1))]
    return f"\x1b[48;5;{shade};{ink}m{text}\x1b[0m"


def cells(text: str) -> int:
    """Terminal cells that a text takes: two for wide characters, none for combining marks."""
    return sum(map(cell_width, text))


def cell_width(char: str) -> int:
    if (
        category(char) in ("Mn", "Me", "Cf") or "\u1160" <= char <= "\u11ff"
    ):  # 1160-11FF: vowels, finals of jamo
        return 0
    return 2 if east_asian_width(char) in "WF" else 1


def clusters(text: str) -> list[str]:
    """Characters with the marks that sit on them."""
    parts: list[str] = []
    for char in text:
        if parts and cell_width(char) == 0:
            parts[-1] += char
        else:
            parts.append(char)
    return parts


def shorten(text: str, room: int) -> str:
    """The text, or as much of it as fits into `room` cells with an ellipsis."""
    if cells(text) <= room:
        return text
    kept = ""
    for part in clusters(text):
        if cells(kept + part) > room - 1:
            break
        kept += part
    return kept + "…"


def pad(text: str, room: int) -> str:
    return ltr(text) + " " * (room - cells(text))


def centre(text: str, room: int) -> str:
    left = (room - cells(text)) // 2
    return " " * left + pad(text, room - left)


def ltr(text: str) -> str:
    """Keeps right-to-left text inside its own column on terminals that reorder lines."""
    return f"{text}\u200e" if any(bidirectional(char) in ("R", "AL", "AN") for char in text) else text
