"""Names and letters of a recurrent layer; its numbers are recomputed in test_shape_backend.py."""

import pytest
import torch
from torch import nn

from jumok.models.cell_rows import add_cell
from jumok.models.tensor_rows import RowList
from jumok.nn.cells import unrolled


@pytest.mark.parametrize(
    ("kind", "both", "axes", "names"),
    [
        (nn.RNN, False, "[D,D]", ["h_t-1", "h"]),
        (nn.RNN, True, "[D,D/2]", ["h_t-1", "h"]),
        (nn.GRU, False, "[D,3D]", ["h_t-1", "r", "z", "n", "h"]),
        (nn.GRU, True, "[D,3D/2]", ["h_t-1", "r", "z", "n", "h"]),
        (nn.LSTM, False, "[D,4D]", ["h_t-1", "c_t-1", "i", "f", "g", "o", "c", "h"]),
        (nn.LSTM, True, "[D,2D]", ["h_t-1", "c_t-1", "i", "f", "g", "o", "c", "h"]),
    ],
)
def test_rows_of_each_cell(kind: type[nn.RNNBase], both: bool, axes: str, names: list[str]) -> None:  # noqa: FBT001
    x, rows = torch.randn(3, 8), RowList()
    first = rows.add("encoder", "X", "[B,S,D]", x[None])
    [ways] = unrolled(kind(8, 4 if both else 8, bidirectional=both), x, None)
    last = rows.rows[add_cell(rows, "encoder", "S", 8, ways, first)]
    assert last.shape == (1, 3, 8)
    assert rows.rows[1].axes == axes
    head = "layer 1 →: " if both else "layer 1: "
    assert [row.operation for row in rows.rows[5 : 5 + len(names)]] == [head + name for name in names]
    assert last.operation == ("layer 1: [h →; h ←]" if both else "layer 1: h")


def test_an_input_with_what_is_fed_back_is_twice_as_wide() -> None:
    rows = RowList()
    first = rows.add("decoder", "[y; s]", "[B,1,2D]", torch.ones(1, 1, 16))
    [ways] = unrolled(nn.GRU(16, 8), torch.ones(1, 16), None)
    add_cell(rows, "decoder", "1", 8, ways, first)
    assert rows.rows[1].axes == "[2D,3D]"
    assert rows.rows[-1].axes == "[B,1,D]"
