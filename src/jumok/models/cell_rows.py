"""The gates and states of a recurrent layer as rows of the table of tensors."""

import torch

from jumok.models.tensor_rows import How, RowList
from jumok.nn.cells import CellLayer

MADE_OF: dict[int, dict[str, tuple[str, ...]]] = {
    0: {"h": ()},
    3: {"h": ("z", "n", "h_t-1")},
    4: {"c": ("i", "f", "g", "c_t-1"), "h": ("o", "c")},
}
"""What the states of a cell are made of, by its number of gates."""


def add_cell(rows: RowList, stage: str, T: str, width: int, ways: list[CellLayer], x: int) -> int:
    """The gates and states of one layer that reads row `x`, in each of its directions; its output."""
    found = []
    for one in ways:
        head = f"layer {one.layer + 1}{(' ←' if one.backward else ' →') if len(ways) > 1 else ''}: "
        wide, parts = axes_of(one, width)
        axes, W_x, W_h, b_x, b_h = f"[B,{T},{wide}]", *one.weights
        given = tuple(
            rows.weight(stage, head + name, shape, weight)
            for name, shape, weight in (
                ("W_x", f"[{'2D' if len(W_x.T) > width else 'D'},{parts}]", W_x.T),
                ("b_x", f"[{parts}]", b_x),
                ("W_h", f"[{wide},{parts}]", W_h.T),
                ("b_h", f"[{parts}]", b_h),
            )
        )
        place = {
            f"{name}_t-1": rows.add(stage, f"{head}{name}_t-1", axes, before[None], "opaque", detail=True)
            for name, before in one.before.items()
        }
        for number, (name, gate) in enumerate(one.gates.items()):
            inputs = (x, place["h_t-1"], *given, *([place["r"]] if name == "n" else []))
            place[name] = rows.add(
                stage, head + name, axes, gate[None], "gate", *inputs, number=number, detail=True
            )
        for name, parents in MADE_OF[len(one.gates)].items():
            inputs = tuple(place[parent] for parent in parents) or (x, place["h_t-1"], *given)
            how: How = "cell" if parents else "gate"
            place[name] = rows.add(
                stage, head + name, axes, one.states[name][None], how, *inputs, detail=True
            )
        found.append(place["h"])
    if len(found) == 1:
        return found[0]
    both = torch.cat([one.states["h"] for one in ways], dim=-1)[None]
    return rows.add(
        stage, f"layer {ways[0].layer + 1}: [h →; h ←]", f"[B,{T},D]", both, "beside", *found, detail=True
    )


def axes_of(one: CellLayer, width: int) -> tuple[str, str]:
    """Letters for the width of a state, which two directions halve, and for all gates side by side."""
    halves = 2 * one.weights[1].shape[0] // width
    parts = "D" if halves == 2 else f"{halves // 2}D" if halves % 2 == 0 else f"{halves}D/2"
    return ("D" if one.weights[1].shape[1] == width else "D/2"), parts.replace("1D/2", "D/2")
