"""The model that a run started from, as the run's folder keeps it: its name, its hash and its own curves."""

import math
from pathlib import Path
from typing import Any

from jumok.server.runs.log import CurveTable, number, text, whole
from jumok.server.runs.tail import parse_event, read_small

FILE = Path("start") / "curve.json"
MOST_BYTES = 1 << 20
MOST_LOOKS = 1000  # points of a curve
FIGURES = ("loss", "bleu", "chrf", "exact", "per", "rouge1", "rougeL")


def read_start(folder: Path) -> dict[str, Any] | None:
    """What a run started from; None if it began from nothing, or if the file cannot be read."""
    told = parse_event(read_small(folder / FILE, MOST_BYTES) or b"") or {}
    name, looks = text(told.get("name")), told.get("looks")
    if name is None or not isinstance(looks, list):
        return None
    table = CurveTable()
    for look in looks:
        step = whole(look.get("step")) if isinstance(look, dict) else None
        if step is not None:
            figures = {key: found for key in FIGURES if (found := number(look.get(key))) is not None}
            table.add(step, math.nan, figures)
    series = {f"valid.{name}": table.curve(name, MOST_LOOKS) for name in table.columns}
    return {
        "name": name,
        "sha256": text(told.get("sha256")),
        "metric": text(told.get("metric")),
        "series": series,
    }
