"""What the two recurrent models share: the cell, the encoder, the state; over a padded batch or a packed one.

Axis letters: B batch, S source, T target, D width, N layers, C parts of a cell's state (LSTM has two).
"""

from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pad_packed_sequence

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


def call_cell(cell: nn.RNNBase, x: Tensor | PackedSequence, hidden: Tensor | None) -> tuple[Any, Tensor]:
    """Every state and the last ones: hidden (C, N, B, D) in and out; None starts from zeros.

    On a GPU a cell computes in the type of its weights, autocast or not: torch would give cuDNN fp16 even
    when bf16 is asked for, and small gradients vanish in fp16.
    """
    if x.data.is_cuda and torch.is_autocast_enabled("cuda"):
        dtype = next(cell.parameters()).dtype
        with torch.autocast("cuda", enabled=False):
            return call_cell(cell, x.to(dtype), None if hidden is None else hidden.to(dtype))
    given: Any = hidden
    if hidden is not None:
        given = (hidden[0], hidden[1]) if isinstance(cell, nn.LSTM) else hidden[0]
    states, last = cell(x, given)
    return states, torch.stack(last) if isinstance(last, tuple) else last[None]  # (C, N, B, D)


def run_cell(cell: nn.RNNBase, x: Tensor, hidden: Tensor) -> tuple[Tensor, Tensor]:
    """s_t = Cell(x_t, s_{t-1}) for every t: x (B, T, D), hidden (B, N, C, D) -> states (B, T, D), hidden."""
    states, last = call_cell(cell, x, hidden.permute(2, 1, 0, 3).contiguous())
    return states, last.permute(2, 1, 0, 3)  # (B, T, D), (B, N, C, D)


def run_packed(cell: nn.RNNBase, x: Tensor, sizes: Tensor, hidden: Tensor) -> tuple[Tensor, Tensor]:
    """`run_cell` over tokens in order of time (n, D), of which `sizes` (T,) belong to each step -> (n, D)."""
    states, last = call_cell(cell, PackedSequence(x, sizes), hidden.permute(2, 1, 0, 3).contiguous())
    return states.data, last.permute(2, 1, 0, 3)  # (n, D), (B, N, C, D)


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
        states, last = call_cell(self.cell, packed, None)
        H, _ = pad_packed_sequence(states, batch_first=True, total_length=x.shape[1])  # (B, S, D)
        return H, self.final(last)  # (B, S, D), (B, N, C, D)

    def read(self, x: Tensor, sizes: Tensor) -> tuple[Tensor, Tensor]:
        """The same without padding: x (n, D) in order of time, `sizes` (S,) tokens of it at each step.

        Gives H (n, D) in that order and h_final (B, N, C, D), the longest sentence first.
        """
        states, last = call_cell(self.cell, PackedSequence(self.dropout(x), sizes), None)
        return states.data, self.final(last)

    def final(self, last: Tensor) -> Tensor:
        """(C, N · directions, B, ·) -> (B, N, C, D): the directions of a layer joined."""
        C, _, B, _ = last.shape
        return last.view(C, self.layers, self.directions, B, -1).permute(3, 1, 0, 2, 4).flatten(3)


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
