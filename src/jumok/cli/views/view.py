"""One answer of `jumok inspect` in its forms, and the parts that all views are written with."""

import os
import re
import shutil
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from jumok.cli.shared.console import wants_colour
from jumok.errors import ConfigError
from jumok.explain.heatmap import Style, cells, ltr

COMMANDS = re.compile(r"(\x1b\[[0-9;]*m)|[\x00-\x08\x0b-\x1f\x7f-\x9f]")


@dataclass(frozen=True)
class View:
    """One answer in its forms: plain values, text, the essential line, and rows for a spreadsheet."""

    plain: Mapping[str, Any]
    text: str
    line: str
    table: Sequence[Sequence[object]] = ()


def choose(option: str, value: str, count: int) -> int | None:
    """An index from 0, or None for the mean."""
    if value == "mean":
        return None
    if value == "last" and option == "layer":
        return count - 1
    if value.isdecimal() and len(value) < 10 and 1 <= int(value) <= count:
        return int(value) - 1
    names = "last or mean" if option == "layer" else "mean"
    raise ConfigError(
        f"--{option} {value}: this model has {count} {option}{'s' * (count > 1)} here",
        hint=f"choose a number from 1 to {count}, {names}",
    )


def choose_one(option: str, value: str, count: int) -> int:
    """An index from 0: one layer or one head, never the mean of several."""
    index = choose(option, value, count)
    if index is None:
        raise ConfigError(
            f"--{option} mean: the steps are those of one {option}",
            hint=f"choose a number from 1 to {count}",
        )
    return index


def pick_style(style: str) -> Style:
    if style == "auto":
        style = "colour" if wants_colour(sys.stdout.isatty()) else "blocks"
    if style == "colour" and os.environ.get("COLORTERM") in ("truecolor", "24bit"):
        style = "truecolour"
    return cast(Style, style)


def harmless(text: str) -> str:
    """Text for a terminal: of all that could command it only colours and line ends are left.

    A trace may come from a file that someone else made.
    """
    return COMMANDS.sub(lambda match: match[1] or "\ufffd", text)


def terminal_width() -> int:
    return shutil.get_terminal_size((100, 24)).columns if sys.stdout.isatty() else 100


def short(number: float) -> str:
    """Three digits and a unit: `950`, `1.23 M`, `45.6 G`."""
    if number < 1000:
        return f"{number:.0f}"
    for unit in "kMGT":
        number /= 1000
        if number < 999.5:
            return f"{f'{number:#.3g}'.rstrip('.')} {unit}"
    return f"{number / 1000:,.0f} P"


def size_of(number: int) -> str:
    """Bytes in words: `128 B`, `12.3 kB`, `1.2 GB`."""
    text = short(number)
    return f"{text}B" if " " in text else f"{text} B"


def columns(rows: Sequence[Sequence[str]], right: Iterable[int] = ()) -> str:
    """Aligned columns, two spaces apart."""
    to_right = set(right)
    widths = [max(cells(row[i]) for row in rows) for i in range(len(rows[0]))]

    def line(row: Sequence[str]) -> str:
        parts = []
        for i, (text, width) in enumerate(zip(row, widths, strict=True)):
            space = " " * (width - cells(text))
            parts.append(space + text if i in to_right else ltr(text) + space)
        return "  ".join(parts).rstrip()

    return "\n".join(map(line, rows))
