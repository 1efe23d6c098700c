"""What the two recurrent models share: the cell, the encoder, the state.

Axis letters: N source tokens, B sentences, S source, T target, R rows of a search, D width, C parts of a
cell's state (LSTM has two); in shapes of states, N is also the number of layers.
"""

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn

from jumok.backends.torch import TorchBackend
from jumok.backends.values import Side
from jumok.models.sentences import Sentences
from jumok.nn.layers import Dropout, Embedding
from jumok.nn.patches import PatchEmbedding

Cell = Literal["rnn", "gru", "lstm"]


@dataclass(frozen=True)
class RecurrentState:
    """The last state of each decoder layer."""

    hidden: Tensor  # (R, N, C, D)

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


def run_cell(
    ops: TorchBackend, cell: nn.RNNBase, x: Tensor, sentences: Sentences | None, hidden: Tensor
) -> tuple[Tensor, Tensor]:
    """s_t = Cell(x_t, s_{t-1}) for every t of a target, from hidden (B, N, C, D) on: all states and last.

    x (M, D) lies end to end, or is a rectangle (B, T, D) without sentences; so are the states.
    """
    states, last = ops.run_cell(cell, x, sentences, hidden.permute(2, 1, 0, 3).contiguous(), "target")
    return states, last.permute(2, 1, 0, 3)  # (B, N, C, D)


def embed(ops: TorchBackend, tokens: Tensor, table: Embedding | PatchEmbedding, positions: Tensor) -> Tensor:
    """Tokens (L,), or patches (L, P) at these places of their pictures -> (L, D)."""
    if isinstance(table, PatchEmbedding):
        return table(tokens, positions)  # type: ignore[no-any-return]
    return ops.embed(tokens, table.weight, table.scale)


class RecurrentEncoder(nn.Module):
    """Reads embedded tokens in order; H holds every state and h_final the last one of each layer.

    With two directions each has half the width and the two are joined.
    """

    def __init__(self, cell: Cell, width: int, layers: int, share: float, *, both: bool) -> None:
        super().__init__()
        self.directions = 2 if both else 1
        self.layers = layers
        self.dropout = Dropout(share)
        self.cell = make_cell(cell, width, width // self.directions, layers, share, both=both)

    def forward(self, x: Tensor, source: Sentences, ops: TorchBackend) -> tuple[Tensor, Tensor]:
        """x (N, D) -> H (N, D), h_final (B, N, C, D)."""
        x = ops.drop(x, self.dropout.share, training=self.training)
        side: Side = "source"
        H, last = ops.run_cell(self.cell, x, source, None, side)
        C, _, B, _ = last.shape  # the directions of a layer are joined
        final = last.view(C, self.layers, self.directions, B, -1).permute(3, 1, 0, 2, 4).flatten(3)
        return H, ops.bridge(final)
