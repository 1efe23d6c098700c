"""Numbers as the page writes them: short, with a real minus sign, and a dash where there is none."""

from collections.abc import Callable
from math import floor, log10
from typing import Any

MINUS, NONE = "\u2212", "–"
LARGEST = 1e100
Form = Callable[[float], str]


def real(value: Any) -> float | None:
    """A number that can be drawn, or None for everything else: null, text, true, infinity, 10 to the 300."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return value if abs(value) < LARGEST else None


def fixed(decimals: int) -> Form:
    """The form with this many decimals; thousands are marked and negative zero is zero."""

    def form(value: float) -> str:
        text = f"{abs(value):,.{decimals}f}"
        return MINUS + text if value < 0 and any(digit in text for digit in "123456789") else text

    return form


score, whole, weight = fixed(1), fixed(0), fixed(2)


def signed(value: float) -> str:
    """A difference: one decimal and always a sign."""
    text = score(value)
    return text if text.startswith(MINUS) or text == "0.0" else f"+{text}"


def significant(value: float) -> str:
    """Three figures without useless zeros; whole numbers whole."""
    if value == 0:
        return "0"
    if abs(value) >= 1000 or (value == round(value) and abs(value) >= 100):
        return whole(value)
    text = fixed(max(0, 2 - floor(log10(abs(value)))))(value)
    return text.rstrip("0").rstrip(".") if "." in text else text


def short(value: float) -> str:
    """8.2 M, 94 k, 15 G: three figures and a unit of thousands."""
    for power, unit in ((1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= 0.9995 * power and (power > 1e3 or abs(value) >= 1e4):
            return f"{significant(value / power)} {unit}"
    return significant(value)


def size(value: float) -> str:
    """Bytes in thousands: 1 kB is 1,000 bytes."""
    for power, unit in ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if abs(value) >= 0.9995 * power:
            return f"{significant(value / power)} {unit}"
    return f"{significant(value)} B"


def seconds(value: float) -> str:
    """Seconds with one decimal, from three minutes on minutes and seconds, then hours."""
    if value < 180:
        return f"{significant(round(value, 1))} s"
    minutes, rest = divmod(round(value), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s" if rest else f"{minutes} min"
    return f"{minutes // 60} h {minutes % 60} min" if minutes % 60 else f"{minutes // 60} h"


def percent(value: float) -> str:
    """A share as a percentage with one decimal at most."""
    return f"{significant(round(100 * value, 1))} %"


def chance(value: float) -> str:
    """A p-value."""
    return "< 0.001" if value < 0.0005 else fixed(3)(value)


def text_of(value: Any, form: Form = score) -> str:
    """A number of the report in its form; a dash when it is no number."""
    number = real(value)
    return NONE if number is None else form(number)


def interval(ends: Any, form: Form = score) -> str:
    """The two ends of an interval, or nothing."""
    match ends:
        case [low, high] if real(low) is not None and real(high) is not None:
            return f"{form(low)} to {form(high)}"
    return ""
