"""A cell step by step against torch's own call."""

import pytest
import torch
from torch import nn

from jumok.nn.cells import GATES, unrolled


@pytest.mark.parametrize("kind", GATES)
@pytest.mark.parametrize("both", [False, True])
def test_the_steps_are_those_of_torch(kind: type[nn.RNNBase], both: bool) -> None:  # noqa: FBT001
    torch.manual_seed(1)
    cell = kind(6, 4, num_layers=2, bidirectional=both, batch_first=True)
    x, ways, parts = torch.randn(5, 6), 2 if both else 1, 2 if kind is nn.LSTM else 1
    hidden = torch.randn(parts, 2 * ways, 1, 4)
    given = (hidden[0], hidden[1]) if kind is nn.LSTM else hidden[0]
    with torch.inference_mode():
        states, last = cell(x[None], given)
        layers = list(unrolled(cell, x, hidden))
    top = torch.cat([one.states["h"] for one in layers[-1]], dim=-1)
    torch.testing.assert_close(top, states[0])
    final = last[0] if kind is nn.LSTM else last
    for n, one in enumerate(way for layer in layers for way in layer):
        torch.testing.assert_close(one.states["h"][0 if one.backward else -1], final[n, 0])
        torch.testing.assert_close(one.before["h"][-1 if one.backward else 0], hidden[0, n, 0])
        assert "".join(one.gates) == GATES[kind]
    assert [one.backward for one in layers[0]] == [False, True][:ways]


def test_without_a_state_it_starts_from_zeros() -> None:
    cell = nn.GRU(3, 4, batch_first=True)
    x = torch.randn(2, 3)
    [[one]] = unrolled(cell, x, None)
    torch.testing.assert_close(one.states["h"], cell(x[None])[0][0])
    assert not one.before["h"][0].any()
