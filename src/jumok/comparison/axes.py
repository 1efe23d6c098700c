"""Axes of a chart: the range around the data, round ticks, and the way from values to pixels."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import ceil, floor, log10
from typing import NamedTuple

from jumok.comparison.numbers import Form, significant

AIR = 0.05
TINY, HUGE = 1e-90, 1e90  # what a logarithmic axis takes for nothing, and for no end


class Tick(NamedTuple):
    value: float
    label: str
    note: str = ""
    """A second, smaller line under the label."""


@dataclass(frozen=True)
class Axis:
    """What an axis shows. Without `ticks` of its own it gets round ones in `form`."""

    title: str
    log: bool = False
    form: Form = significant
    ticks: Sequence[Tick] = ()
    low: float | None = None
    high: float | None = None
    most: float | None = None
    """No value can be larger, so air above the data ends here."""


@dataclass(frozen=True, slots=True)
class Scale:
    """From values low…high to pixels start…end, in proportion or in proportion of logarithms."""

    low: float
    high: float
    start: float
    end: float
    log: bool = False

    def __call__(self, value: float) -> float:
        low, high, at = (log10(v) if self.log else v for v in (self.low, self.high, value))
        return self.start + (at - low) / ((high - low) or 1) * (self.end - self.start)


def fits(value: float, axis: Axis) -> bool:
    """The axis can show it."""
    return not axis.log or TINY < value < HUGE


def domain(values: Iterable[float], axis: Axis) -> tuple[float, float]:
    """The range of an axis: the data with a little air, never below zero if no value is."""
    shown = [value for value in values if fits(value, axis)]
    low, high = (min(shown), max(shown)) if shown else (0.1, 1.0) if axis.log else (0.0, 1.0)
    if axis.log:
        air = 10 ** max(AIR * log10(high / low), AIR)
        low, high = low / air, high * air
    else:
        air = (high - low) * AIR or abs(high) * AIR or 0.5
        low, high = (0.0 if 0 <= low < 0.4 * high or 0 <= low < air else low - air), high + air
    if axis.most is not None:
        high = min(high, max(axis.most, max(shown, default=axis.most)))
    low, high = low if axis.low is None else axis.low, high if axis.high is None else axis.high
    return low, high if high > low else low + 1


def ticks(axis: Axis, low: float, high: float, count: int) -> list[Tick]:
    """About `count` ticks inside the range."""
    if axis.ticks:
        return [tick for tick in axis.ticks if low <= tick.value <= high]
    values = log_steps(low, high, count) if axis.log else steps(low, high, count)
    return [Tick(value, axis.form(value)) for value in values]


def steps(low: float, high: float, count: int) -> list[float]:
    """Multiples of 1, 2 or 5 times a power of ten inside low…high, about `count` of them."""
    rough = (high - low) / max(count, 1)
    if rough <= 0:
        return [low]
    power = 10.0 ** floor(log10(rough))
    step = next(power * n for n in (1, 2, 5, 10) if power * n >= rough * 0.999)
    first, last = ceil(low / step - 1e-9), floor(high / step + 1e-9)
    return [round(n * step, 12 - floor(log10(step))) for n in range(first, last + 1)]


def log_steps(low: float, high: float, count: int) -> list[float]:
    """Powers of ten inside low…high, with 2 and 5 between them where there is room."""
    powers = range(floor(log10(low)), ceil(log10(high)) + 1)
    for parts in ((1, 2, 5), (1, 3), (1,)):
        found = [10.0**power * part for power in powers for part in parts]
        inside = [value for value in found if low * 0.999 <= value <= high * 1.001]
        if len(inside) <= count + 1 or parts == (1,):
            break
    every = max(1, ceil(len(inside) / (count + 1)))
    return inside[::every] or [low, high]


def thin_out(found: Sequence[Tick], scale: Scale, room: float) -> list[Tick]:
    """Ticks at least `room` pixels apart, the last always kept; a crowded axis keeps every second, third…"""
    for every in range(1, len(found) + 1):
        kept = list(found[::-1][::every][::-1])
        places = [scale(tick.value) for tick in kept]
        if all(b - a >= room for a, b in zip(places, places[1:], strict=False)):
            return kept
    return list(found[-1:])


def spread(wanted: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """Places moved apart to at least `gap` inside low…high; each as little as the others allow, in order."""
    order = sorted(range(len(wanted)), key=lambda index: (wanted[index], index))
    blocks: list[tuple[float, list[int]]] = []  # (sum of wishes, members): each block shares one mean
    for place, index in enumerate(order):
        total, members = wanted[index] - place * gap, [index]
        while blocks and blocks[-1][0] / len(blocks[-1][1]) > total / len(members):
            before = blocks.pop()
            total, members = before[0] + total, before[1] + members
        blocks.append((total, members))
    found, place, top = [0.0] * len(wanted), 0, high - (len(wanted) - 1) * gap
    for total, members in blocks:
        base = max(low, min(top, total / len(members)))
        for index in members:
            found[index] = base + gap * place
            place += 1
    return found
