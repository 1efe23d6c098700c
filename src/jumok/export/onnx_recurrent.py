"""The RNN and the Luong model as two ONNX graphs: the encoder, and one step of the decoder.

ONNX has the cells as operators that read each row to its own length. They differ from PyTorch's in the order
of the gates alone. Letters in shapes: B batch, S source, D width, N layers, C parts of a cell's state.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from jumok.config import LuongConfig, RnnConfig
from jumok.export.graph import Graph
from jumok.models.interface import Seq2Seq

OPERATORS = {"rnn": "RNN", "gru": "GRU", "lstm": "LSTM"}
GATES = {"rnn": (0,), "gru": (1, 0, 2), "lstm": (0, 3, 1, 2)}
"""Where ONNX's gates (z r h; i o f c) stand among PyTorch's (r z n; i f g o)."""


@dataclass(frozen=True)
class Cells:
    """The cells of one side on their way into a graph."""

    graph: Graph
    config: RnnConfig | LuongConfig
    weights: dict[str, Tensor]

    @property
    def parts(self) -> int:
        return 2 if self.config.cell == "lstm" else 1

    def run(
        self,
        name: str,
        layer: int,
        x: str,
        lengths: str = "",
        state: Sequence[str] = (),
        *,
        both: bool = False,
    ) -> tuple[str, list[str]]:
        """One layer over x (S, B, ·): all states (S, B, D), and the last ones, C of (B, D).

        It begins with `state`, C of (1, B, D), or with zeros.
        """
        graph, cell, width = self.graph, self.config.cell, self.config.width
        directions = ("", "_reverse") if both else ("",)
        stacked = [
            graph.weight(
                f"{name}.{layer}.{what}", torch.stack([self.matrix(name, what, layer, d) for d in directions])
            )
            for what in ("weight_ih", "weight_hh", "bias")
        ]
        options = {"gru": {"linear_before_reset": 1}}.get(cell, {})
        states, *last = graph.several(
            1 + self.parts,
            OPERATORS[cell],
            x,
            *stacked,
            lengths,
            *state,
            hidden_size=width // len(directions),
            direction="bidirectional" if both else "forward",
            **options,
        )
        joined = graph.reshape(graph.add("Transpose", states, perm=[0, 2, 1, 3]), 0, 0, width)
        ends = [graph.reshape(graph.add("Transpose", state, perm=[1, 0, 2]), 0, width) for state in last]
        return joined, ends

    def matrix(self, name: str, what: str, layer: int, direction: str) -> Tensor:
        """A weight with its gates in ONNX's order; "bias" is both of them, one after the other."""
        if what == "bias":
            both = [self.matrix(name, kind, layer, direction) for kind in ("bias_ih", "bias_hh")]
            return torch.cat(both)
        ours = self.weights[f"{name}.{what}_l{layer}{direction}"]
        gates = ours.chunk(len(GATES[self.config.cell]))
        return torch.cat([gates[gate] for gate in GATES[self.config.cell]])


def encoder_graph(model: Seq2Seq, config: RnnConfig | LuongConfig) -> Graph:
    """Source (B, S) and lengths (B,) -> the decoder's first state and, for Luong, what it looks at."""
    graph = Graph("encoder")
    cells = Cells(graph, config, model.state_dict())
    source = graph.input("source", ["batch", "length"], "INT64")
    lengths = graph.input("lengths", ["batch"], "INT64")
    name = "source_embedding.weight"
    x = graph.embed(name, cells.weights[name], graph.add("Transpose", source, perm=[1, 0]))  # (S, B, D)
    short, final = graph.add("Cast", lengths, to=6), []  # the cells want 32 bits
    for layer in range(config.layers):
        x, ends = cells.run("encoder.cell", layer, x, short, both=config.bidirectional)
        final += ends
    hidden = graph.add("Concat", *(graph.unsqueeze(state, 1) for state in final), axis=1)  # (B, N · C, D)
    width = config.width
    graph.output("hidden", hidden, ["batch", config.layers * cells.parts, width])
    if isinstance(config, LuongConfig):
        memory = graph.add("Transpose", x, perm=[1, 0, 2])  # (B, S, D)
        graph.output("source_states", memory, ["batch", "length", width])
        graph.output("source_mask", graph.real_tokens(source, lengths), ["batch", "length"], "BOOL")
        if config.score == "concat":
            keys = graph.linear(memory, "w_memory", cells.weights["attention.w_memory"].T)
            graph.output("source_keys", keys, ["batch", "length", width])
        if config.input_feeding:
            first = graph.add("Gather", memory, graph.integer(0), axis=1)  # (B, D), for its shape
            zeros = graph.add("Mul", first, graph.number(0.0))
            graph.output("attentional", zeros, ["batch", width])
    return graph


def step_graph(model: Seq2Seq, config: RnnConfig | LuongConfig) -> Graph:
    """The last token (B,), the state and, for Luong, the source -> log-probabilities (B, V), next state."""
    graph = Graph("step")
    cells = Cells(graph, config, model.state_dict())
    token = graph.input("token", ["batch"], "INT64")
    count, width = config.layers * cells.parts, config.width
    hidden = graph.input("hidden", ["batch", count, width])
    name = "target_embedding.weight"
    x = graph.embed(name, cells.weights[name], token)  # (B, D)
    if isinstance(config, LuongConfig) and config.input_feeding:
        x = graph.add("Concat", x, graph.input("attentional", ["batch", width]), axis=1)
    x = graph.unsqueeze(x, 0)  # (1, B, ·)
    parts = graph.split(graph.add("Transpose", hidden, perm=[1, 0, 2]), [1] * count, axis=0)  # of (1, B, D)
    after: list[str] = []
    for layer in range(config.layers):
        begin = parts[layer * cells.parts : (layer + 1) * cells.parts]
        x, ends = cells.run("decoder", layer, x, "", begin)
        after += ends
    together = graph.add("Concat", *(graph.unsqueeze(state, 1) for state in after), axis=1)
    graph.output("next_hidden", together, ["batch", count, width])
    s = graph.add("Squeeze", x, graph.integers(0))  # (B, D)
    if isinstance(config, LuongConfig):
        s = attentional(graph, config, cells.weights, s)
    out = "target_embedding.weight" if config.tied else "output.weight"
    graph.output("log_probs", graph.log_probs(out, cells.weights[out], s), ["batch", len(cells.weights[out])])
    return graph


def attentional(graph: Graph, config: LuongConfig, weights: dict[str, Tensor], s: str) -> str:
    """s~_t = tanh([c_t; s_t] W_c), with c_t = softmax(score(s_t, H)) H; s (B, D)."""
    width = config.width
    memory = graph.input("source_states", ["batch", "length", width])
    mask = graph.input("source_mask", ["batch", "length"], "BOOL")
    column = graph.unsqueeze(s, 2)  # (B, D, 1)
    if config.score == "concat":
        keys = graph.input("source_keys", ["batch", "length", width])
        asks = graph.unsqueeze(graph.linear(s, "w_query", weights["attention.w_query"].T), 1)  # (B, 1, D)
        pairs = graph.add("Tanh", graph.add("Add", asks, keys))  # (B, S, D)
        scores = graph.add("MatMul", pairs, graph.weight("v_a", weights["attention.v_a"]))  # (B, S)
    else:
        if config.score == "general":
            column = graph.unsqueeze(graph.linear(s, "w_a", weights["attention.w_a"].T), 2)
        scores = graph.add("Squeeze", graph.add("MatMul", memory, column), graph.integers(2))  # (B, S)
    alpha = graph.unsqueeze(graph.masked_softmax(scores, mask), 1)  # (B, 1, S)
    context = graph.add("Squeeze", graph.add("MatMul", alpha, memory), graph.integers(1))  # (B, D)
    both = graph.add("Concat", context, s, axis=1)  # (B, 2D)
    made = graph.add("Tanh", graph.linear(both, "w_c", weights["attention.w_c.weight"]))
    if config.input_feeding:
        graph.output("next_attentional", made, ["batch", width])
    return made
