"""What a recurrent cell does inside, step by step: the gates and states that torch keeps to itself.

    rnn    h' = tanh(x W_x + b_x + h W_h + b_h)
    gru    r, z = sigmoid(x W_x + b_x + h W_h + b_h),  n = tanh(x W_x + b_x + r (h W_h + b_h))
           h' = (1 - z) n + z h
    lstm   i, f, o = sigmoid(x W_x + b_x + h W_h + b_h),  g = tanh(the same)
           c' = f c + i g,  h' = o tanh(c')

Axis letters: T steps, I numbers of an input, K numbers of a state, G gates, C parts of a state
(LSTM has two).
"""

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor, nn

GATES: dict[type[nn.RNNBase], str] = {nn.RNN: "", nn.GRU: "rzn", nn.LSTM: "ifgo"}
"""The gates of each cell in the order of its weights; a plain one has none."""


@dataclass(frozen=True)
class CellLayer:
    """One direction of one layer over one sentence."""

    layer: int  # from 0
    backward: bool  # reads from the end
    weights: tuple[Tensor, Tensor, Tensor, Tensor]  # W_x (G·K, I), W_h (G·K, K), b_x, b_h (G·K,)
    x: Tensor  # (T, I), what it reads
    gates: dict[str, Tensor]  # (T, K) each, after their activation
    states: dict[str, Tensor]  # h, and c of an LSTM: (T, K) each
    before: dict[str, Tensor]  # the states that each step came from


def unrolled(cell: nn.RNNBase, x: Tensor, hidden: Tensor | None) -> Iterator[list[CellLayer]]:
    """Each layer of a cell over one sentence x (T, I), from hidden (C, N, 1, K) or 0 on: its directions."""
    ways = 2 if cell.bidirectional else 1
    for layer in range(cell.num_layers):
        found = []
        for way in range(ways):
            weights = cell.all_weights[layer * ways + way]
            start = None if hidden is None else hidden[:, layer * ways + way, 0]  # (C, K)
            four = (weights[0], weights[1], weights[2], weights[3])
            found.append(_one(cell, four, x, start, layer=layer, backward=way == 1))
        yield found
        x = torch.cat([one.states["h"] for one in found], dim=-1)


def _one(
    cell: nn.RNNBase,
    weights: tuple[Tensor, Tensor, Tensor, Tensor],
    x: Tensor,
    start: Tensor | None,
    *,
    layer: int,
    backward: bool,
) -> CellLayer:
    W_x, W_h, b_x, b_h = weights
    names = GATES[type(cell)]
    parts = 2 if isinstance(cell, nn.LSTM) else 1
    state = x.new_zeros(parts, W_h.shape[1]) if start is None else start
    of_x = x @ W_x.T + b_x  # (T, G·K)
    steps = []
    for t in reversed(range(len(x))) if backward else range(len(x)):
        of_h = state[0] @ W_h.T + b_h  # (G·K,)
        pairs = zip(*(one.chunk(max(len(names), 1)) for one in (of_x[t], of_h)), strict=True)
        before = state
        gates, state = _step(names, list(pairs), state)
        steps.append((*gates, *state, *before))
    columns = [torch.stack(column[::-1] if backward else column) for column in zip(*steps, strict=True)]
    of = dict(zip(names, columns, strict=False))
    after, earlier = columns[len(of) : len(of) + parts], columns[len(of) + parts :]
    states, before_each = (dict(zip("hc", some, strict=False)) for some in (after, earlier))
    return CellLayer(layer, backward, weights, x, of, states, before_each)


def _step(names: str, sums: list[tuple[Tensor, Tensor]], state: Tensor) -> tuple[list[Tensor], Tensor]:
    """The gates and the next state (C, K), given what input and state add to each gate."""
    if not names:
        return [], (sums[0][0] + sums[0][1]).tanh()[None]
    if names == "rzn":
        r, z = (sum(one).sigmoid() for one in sums[:2])  # type: ignore[union-attr]
        n = (sums[2][0] + r * sums[2][1]).tanh()
        return [r, z, n], ((1 - z) * n + z * state[0])[None]
    i, f, g, o = ((a + b).tanh() if at == 2 else (a + b).sigmoid() for at, (a, b) in enumerate(sums))
    c = f * state[1] + i * g
    return [i, f, g, o], torch.stack((o * c.tanh(), c))
