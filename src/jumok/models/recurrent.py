"""What the two recurrent models share: the cell, the encoder that reads a padded batch, the state.

Axis letters: B batch, S source, T target, D width, N layers, C parts of a cell's state (LSTM has two).
"""

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from jumok.models.interface import Memory, Probe
from jumok.nn.layers import Dropout

Cell = Literal["rnn", "gru", "lstm"]


@dataclass(frozen=True)
class RecurrentState:
    """The last state of each decoder layer."""

    hidden: Tensor  # (B, N, C, D)

    def select(self, rows: Tensor) -> "RecurrentState":
        return RecurrentState(self.hidden[rows])

    def join(self, other: "RecurrentState") -> "RecurrentState":
        return RecurrentState(torch.cat((self.hidden, other.hidden)))


def make_cell(
    cell: Cell, width_in: int, width: int, layers: int, share: float, *, both: bool = False
) -> nn.RNNBase:
    """A stack of recurrent layers over whole sequences, batch first."""
    # torch's own dropout stands between layers only and warns when there is just one.
    options = {
        "num_layers": layers,
        "batch_first": True,
        "dropout": share if layers > 1 else 0.0,
        "bidirectional": both,
    }
    match cell:
        case "rnn":
            return nn.RNN(width_in, width, nonlinearity="tanh", **options)
        case "gru":
            return nn.GRU(width_in, width, **options)
        case "lstm":
            return nn.LSTM(width_in, width, **options)


def run_cell(cell: nn.RNNBase, x: Tensor, hidden: Tensor) -> tuple[Tensor, Tensor]:
    """s_t = Cell(x_t, s_{t-1}) for every t: x (B, T, D), hidden (B, N, C, D) -> states (B, T, D), hidden."""
    parts = hidden.permute(2, 1, 0, 3).contiguous()  # (C, N, B, D)
    if isinstance(cell, nn.LSTM):
        states, (h, c) = cell(x, (parts[0], parts[1]))
        last = torch.stack((h, c))  # (C, N, B, D)
    else:
        states, h = cell(x, parts[0])
        last = h[None]
    return states, last.permute(2, 1, 0, 3)  # (B, T, D), (B, N, C, D)


class RecurrentEncoder(nn.Module):
    """Reads embedded tokens in order; H holds every state and h_final the last one of each layer.

    Sequences are packed, so padding is never read: h_final is the state after the last real token. With two
    directions each has half the width and the two are joined.
    """

    def __init__(self, cell: Cell, width: int, layers: int, share: float, *, both: bool) -> None:
        super().__init__()
        self.directions = 2 if both else 1
        self.layers = layers
        self.dropout = Dropout(share)
        self.cell = make_cell(cell, width, width // self.directions, layers, share, both=both)

    def forward(self, x: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """x (B, S, D), mask (B, S) -> H (B, S, D), h_final (B, N, C, D)."""
        lengths = mask.sum(dim=1).cpu()
        packed = pack_padded_sequence(self.dropout(x), lengths, batch_first=True, enforce_sorted=False)
        states, last = self.cell(packed)
        parts = torch.stack(last) if isinstance(last, tuple) else last[None]  # (C, N · directions, B, ·)
        H, _ = pad_packed_sequence(states, batch_first=True, total_length=x.shape[1])  # (B, S, D)
        C, _, B, _ = parts.shape
        final = parts.view(C, self.layers, self.directions, B, -1).permute(3, 1, 0, 2, 4).flatten(3)
        return H, final  # (B, S, D), (B, N, C, D)


def memory_of(H: Tensor, mask: Tensor, h_final: Tensor, probe: Probe | None) -> Memory:
    """What a recurrent encoder hands over, after the probe has seen the states and replaced the bridge."""
    if probe is None:
        return Memory(H, mask, h_final)
    show_states(probe, "encoder", H)
    bridge = probe.edits.bridge  # (N, C, D)
    if bridge is not None:
        h_final = bridge.to(h_final).expand(len(H), *bridge.shape)  # (B, N, C, D)
    return Memory(H, mask, h_final)


def show_states(probe: Probe | None, side: str, states: Tensor) -> None:
    if probe is not None and probe.states is not None:
        probe.states(side, states)
