"""The Transformer as two ONNX graphs: the encoder, and one step of the decoder with its keys and values.

Letters in shapes: B batch, S source, T tokens written so far, D width, H heads, K width of one head.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from jumok.config import TransformerConfig
from jumok.export.graph import Graph, Shape
from jumok.export.layouts import projections
from jumok.models.transformer import TransformerSeq2Seq
from jumok.nn.relative import buckets_of

BASE = 10_000.0


@dataclass(frozen=True)
class Stack:
    """One side of a Transformer on its way into a graph."""

    graph: Graph
    config: TransformerConfig
    weights: dict[str, Tensor]

    @property
    def head(self) -> int:
        return self.config.d_k

    def embed(self, side: str, ids: str, positions: str) -> str:
        """Tokens (B, L) at positions (L,) -> (B, L, D)."""
        name = f"{side}_embedding.weight"
        scale = self.config.width**0.5 if self.config.embedding_scaled else 1.0
        x = self.graph.embed(name, self.weights[name], ids, scale)
        match self.config.positions:
            case "sinusoidal":
                x = self.graph.add("Add", x, self.waves(positions, self.config.width))
            case "learned":
                table = f"{side}_positions.table"
                rows = self.graph.embed(table, self.weights[table], positions)
                x = self.graph.add("Add", x, rows)
            case _:
                pass
        return self.norm(x, f"{side}_norm")

    def bias(self, side: str, queries: str, keys: str) -> str | None:
        """What relative positions add to the scores of queries and keys at these positions, (H, T, S)."""
        name, most = f"{side}_bias.weight", self.config.max_distance
        if name not in self.weights:
            return None
        graph = self.graph
        apart = buckets_of(
            torch.arange(-most, most + 1), self.config.buckets, most, both=side == "encoder"
        )  # beyond `most` nothing changes any more
        table = graph.weight(f"{side}_bias.by_distance", self.weights[name][apart])  # (2 · most + 1, H)
        distance = graph.add("Sub", graph.unsqueeze(keys, 0), graph.unsqueeze(queries, 1))  # (T, S)
        near = graph.add("Clip", distance, graph.integer(-most), graph.integer(most))
        rows = graph.add("Gather", table, graph.add("Add", near, graph.integer(most)))  # (T, S, H)
        return graph.add("Transpose", rows, perm=[2, 0, 1])

    def angles(self, positions: str, width: int) -> str:
        """p / 10000^(2i / D): positions (L,) -> (L, D / 2)."""
        divisors = BASE ** (torch.arange(0, width, 2) / width)
        places = self.graph.unsqueeze(self.graph.add("Cast", positions, to=1), 1)
        return self.graph.add("Div", places, self.graph.weight(f"divisors_{width}", divisors))

    def waves(self, positions: str, width: int) -> str:
        """Sine and cosine of each angle in turn, (L, D)."""
        angles = self.angles(positions, width)
        return self.in_turn(self.graph.add("Sin", angles), self.graph.add("Cos", angles), (-1, width))

    def in_turn(self, one: str, other: str, shape: tuple[int, ...]) -> str:
        """Numbers of both along the last axis, in turn."""
        pair = (self.graph.unsqueeze(one, -1), self.graph.unsqueeze(other, -1))
        return self.graph.reshape(self.graph.add("Concat", *pair, axis=-1), *shape)

    def turned(self, x: str, positions: str) -> str:
        """Rotary positions: each pair of numbers of x (B, H, L, K) is turned by its angle."""
        graph, angles = self.graph, self.angles(positions, self.head)
        sine, cosine = graph.add("Sin", angles), graph.add("Cos", angles)
        even, odd = (
            graph.add("Slice", x, *(graph.integers(n) for n in (first, self.head, 3, 2))) for first in (0, 1)
        )
        left = graph.add("Sub", graph.add("Mul", even, cosine), graph.add("Mul", odd, sine))
        right = graph.add("Add", graph.add("Mul", even, sine), graph.add("Mul", odd, cosine))
        return self.in_turn(left, right, (0, 0, -1, self.head))

    def linear(self, x: str, name: str) -> str:
        return self.graph.linear(x, name, self.weights[f"{name}.weight"], self.weights[f"{name}.bias"])

    def project(self, x: str, name: str) -> list[str]:
        """All parts of one projection of x (B, L, D), each (B, H, L, K)."""
        parts = projections(self.weights, name)
        weight, bias = torch.cat([w for w, _ in parts]), torch.cat([b for _, b in parts])
        y = self.graph.linear(x, name, weight, bias)
        heads = []
        for part in self.graph.split(y, [self.config.heads * self.head] * len(parts), axis=2):
            split = self.graph.reshape(part, 0, 0, self.config.heads, self.head)
            heads.append(self.graph.add("Transpose", split, perm=[0, 2, 1, 3]))
        return heads

    def self_projections(self, x: str, name: str, positions: str) -> list[str]:
        """Q, K and V of tokens that stand at these positions."""
        query, key, value = self.project(x, f"{name}.project")
        if self.config.positions != "rotary":
            return [query, key, value]
        return [self.turned(query, positions), self.turned(key, positions), value]

    def attend(
        self, name: str, query: str, key: str, value: str, mask: str | None, bias: str | None = None
    ) -> str:
        width = self.head if self.config.scaled else None
        context = self.graph.attention(query, key, value, mask, width, bias)
        return self.linear(context, f"{name}.output.linear")

    def feedforward(self, x: str, name: str) -> str:
        inner = self.linear(x, f"{name}.feedforward.inner")
        hidden = self.graph.activate(inner, self.config.activation)
        if self.config.gated:
            hidden = self.graph.add("Mul", hidden, self.linear(x, f"{name}.feedforward.gate"))
        return self.linear(hidden, f"{name}.feedforward.outer")

    def residual(self, x: str, name: str, sublayer: Callable[[str], str]) -> str:
        """Add & norm around a sub-layer, wherever this model has them."""
        before = self.config.norm == "pre"
        y = sublayer(self.norm(x, f"{name}.norm") if before else x)
        y = self.graph.add("Add", x, y) if self.config.residual else y
        return y if before else self.norm(y, f"{name}.norm")

    def norm(self, x: str, name: str) -> str:
        """The norm of this name, if the model has it."""
        if f"{name}.weight" not in self.weights:
            return x
        weight, epsilon = self.weights[f"{name}.weight"], self.config.norm_epsilon
        if self.config.rms_norm:
            return self.graph.rms_norm(x, name, weight, epsilon)
        return self.graph.layer_norm(x, name, weight, self.weights[f"{name}.bias"], epsilon)


def encoder_graph(model: TransformerSeq2Seq, config: TransformerConfig) -> Graph:
    """Source (B, S) and lengths (B,) -> keys and values of every decoder layer, the mask, an empty past."""
    graph = Graph("encoder")
    stack = Stack(graph, config, model.state_dict())
    source = graph.input("source", ["batch", "length"], "INT64")
    lengths = graph.input("lengths", ["batch"], "INT64")
    real = graph.real_tokens(source, lengths)
    mask = graph.unsqueeze(real, 1, 2)  # (B, 1, 1, S)
    positions = graph.count(graph.integer(0), graph.size(source, 1))
    x, bias = stack.embed("source", source, positions), stack.bias("encoder", positions, positions)
    for n in range(config.encoder_layers):
        name = f"encoder.{n}"

        def attend(y: str, name: str = f"{name}.attention") -> str:
            query, key, value = stack.self_projections(y, name, positions)
            return stack.attend(name, query, key, value, mask, bias)

        x = stack.residual(x, f"{name}.add_attention", attend)
        x = stack.residual(x, f"{name}.add_feedforward", lambda y, name=name: stack.feedforward(y, name))  # type: ignore[misc]
    x = stack.norm(x, "encoder_norm")
    graph.output("source_mask", real, ["batch", "length"], "BOOL")
    nothing = graph.integers(0)
    for n in range(config.decoder_layers):
        for what, value in zip(
            ("keys", "values"), stack.project(x, f"decoder.{n}.cross.project_memory"), strict=True
        ):
            graph.output(f"source_{what}_{n}", value, ["batch", config.heads, "length", stack.head])
            empty = graph.add("Slice", value, nothing, nothing, graph.integers(2))
            graph.output(f"{what}_{n}", empty, ["batch", config.heads, 0, stack.head])
    return graph


def step_graph(model: TransformerSeq2Seq, config: TransformerConfig) -> Graph:
    """The last token (B,), the source and the past -> log-probabilities (B, V) and a longer past."""
    graph = Graph("step")
    stack = Stack(graph, config, model.state_dict())
    token = graph.input("token", ["batch"], "INT64")
    mask = graph.unsqueeze(graph.input("source_mask", ["batch", "length"], "BOOL"), 1, 2)
    shapes = {"source_": "length", "": "written"}
    given = {
        f"{side}{what}_{n}": graph.input(
            f"{side}{what}_{n}", ["batch", config.heads, axis, stack.head], "FLOAT"
        )
        for n in range(config.decoder_layers)
        for side, axis in shapes.items()
        for what in ("keys", "values")
    }
    written = graph.size(given["keys_0"], 2)
    positions = graph.count(written, graph.add("Add", written, graph.integer(1)))  # (1,)
    x = stack.embed("target", graph.unsqueeze(token, 1), positions)  # (B, 1, D)
    before = graph.count(graph.integer(0), graph.add("Add", written, graph.integer(1)))  # and the last one
    bias = stack.bias("decoder", positions, before)
    for n in range(config.decoder_layers):
        x = decoder_layer(stack, x, n, (positions, bias), given, mask)
    x = graph.add("Squeeze", stack.norm(x, "decoder_norm"), graph.integers(1))  # (B, D)
    name = "target_embedding.weight" if config.tied else "output.weight"
    vocabulary = len(stack.weights[name])
    log_probs = graph.log_probs(name, stack.weights[name], x, stack.weights.get("logits_bias"))
    graph.output("log_probs", log_probs, ["batch", vocabulary])
    return graph


def decoder_layer(
    stack: Stack, x: str, n: int, place: tuple[str, str | None], given: dict[str, str], mask: str
) -> str:
    """One layer for one position x (B, 1, D); hands out its grown keys and values.

    `place` is that position, and what relative positions add to its scores.
    """
    graph, name, (positions, bias) = stack.graph, f"decoder.{n}", place

    def attend(y: str) -> str:
        query, *new = stack.self_projections(y, f"{name}.attention", positions)
        grown = []
        for what, one in zip(("keys", "values"), new, strict=True):
            grown.append(graph.add("Concat", given[f"{what}_{n}"], one, axis=2))
            shape: Shape = ["batch", stack.config.heads, "written_after", stack.head]
            graph.output(f"next_{what}_{n}", grown[-1], shape)
        keys, values = grown
        return stack.attend(f"{name}.attention", query, keys, values, None, bias)

    def look(y: str) -> str:
        (query,) = stack.project(y, f"{name}.cross.project_query")
        key, value = given[f"source_keys_{n}"], given[f"source_values_{n}"]
        return stack.attend(f"{name}.cross", query, key, value, mask)

    x = stack.residual(x, f"{name}.add_attention", attend)
    x = stack.residual(x, f"{name}.add_cross", look)
    return stack.residual(x, f"{name}.add_feedforward", lambda y: stack.feedforward(y, name))
