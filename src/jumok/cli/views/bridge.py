"""What a model without attention has instead: the one vector that its decoder starts from."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from jumok.cli.views.influence import influence_view
from jumok.cli.views.view import View
from jumok.errors import Error
from jumok.explain.trace import Trace

BARS = "▁▂▃▄▅▆▇█"
WIDTH = 80  # numbers on a line


def bridge_view(trace: Trace, reason: str) -> View:
    """Why there are no stages of attention; the fixed vector, and what each word did to the answer."""
    manifest = trace.manifest
    about = {"source": manifest["source"]["text"], "target": manifest["target"]["text"]}
    vector = trace.tensor("rnn.bridge").astype(np.float64)  # [N, C, D]
    plain: dict[str, Any] = {**about, "stages": None, "reason": reason, "bridge": vector.tolist()}
    lines = [about["target"], "", reason, "", *vector_lines(vector, manifest)]
    try:
        found = influence_view(trace, "blocks")
    except Error as error:  # a file that was saved without it, or too many words
        lines += ["", error.message]
    else:
        lines += ["", *found.text.splitlines()[2:]]
        plain["influence"] = found.plain["influence"]
    table = [["layer", "part", *range(1, vector.shape[2] + 1)]]
    table += [
        [n + 1, name, *layer.tolist()]
        for n, parts in enumerate(vector)
        for name, layer in zip(part_names(vector), parts, strict=True)
    ]
    return View(plain, "\n".join(lines), reason.split("\n")[0], table)


def vector_lines(vector: np.ndarray[Any, Any], manifest: Any) -> list[str]:
    """Each part of the vector as small bars, with its length."""
    N, C, D = vector.shape
    cell = manifest["rnn"]["cell"]
    lines = [f"the fixed vector: {N} layer{'s' * (N > 1)} × {C} × {D} numbers ({cell})"]
    for n, parts in enumerate(vector):
        for name, part in zip(part_names(vector), parts, strict=True):
            head = f"{name}{n + 1 if N > 1 else ''}"
            low, high = part.min(), part.max()
            for at in range(0, D, WIDTH):
                lines.append(f"{head if at == 0 else '':<3}{bars(part[at : at + WIDTH], low, high)}")
            lines[-1] += f"   |{head}| {np.linalg.norm(part):.2f}   {low:.2f} to {high:.2f}"
    return lines


def part_names(vector: np.ndarray[Any, Any]) -> Sequence[str]:
    """An LSTM hands over two vectors, what it says and what it remembers; a GRU one."""
    return ("h", "c")[: vector.shape[1]]


def bars(values: np.ndarray[Any, Any], low: float, high: float) -> str:
    return "".join(BARS[round((value - low) / (high - low or 1) * 7)] for value in values)
