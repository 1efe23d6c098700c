"""The back end behind `shapes.py`, which notes what each op gives, under the words of the papers."""

from math import sqrt
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import linear as product_of

from jumok.backends.recording import RecordingBackend
from jumok.backends.values import Projected, Side, Tokens
from jumok.config import LuongConfig, ModelConfig, TransformerConfig
from jumok.edits import Where
from jumok.models.cell_rows import add_cell
from jumok.models.interface import Seq2Seq
from jumok.models.luong_rows import add_luong
from jumok.models.sentences import Sentences
from jumok.models.tensor_rows import How, RowList
from jumok.nn.cells import unrolled
from jumok.nn.functional import Stages, merge_heads, split_heads
from jumok.nn.layers import Activation, FeedForward, Matrix

ATTENTIONS = {"enc_self": "self-attention", "dec_self": "masked self-attention", "cross": "cross-attention"}
ACTIVATION_WORDS = {"relu": "max", "gelu": "gelu", "gelu_tanh": "gelu", "silu": "silu"}


class ShapeBackend(RecordingBackend):
    """Notes what each op gives, under the words for a model of this kind."""

    def __init__(self, model: Seq2Seq, config: ModelConfig, source: Sentences, rows: RowList) -> None:
        super().__init__(record=True)
        self.model: Any = model
        self.config, self.rows = config, rows
        self.source_ids = source.tokens
        self.side, self.stage, self.sublayer = "source", "", ""
        self.deep = isinstance(config, TransformerConfig)
        self.copies = isinstance(config, TransformerConfig) and config.copy
        self.ids: dict[str, int] = {}  # where the ids of each side are
        self.embedded = self.placed = self.angles = self.after_cell = -1  # rows that later ones are made of
        self.head: tuple[int, ...] = ()  # what the logits are made of
        self.products: list[tuple[int, Tensor, Tensor, Tensor]] = []  # x, W, b, x W + b of an attention
        self.linear: nn.Linear | None = None  # the last matrix of a sub-layer
        self.network: FeedForward | None = None  # the feed-forward network at hand
        self.stream = torch.empty(0)  # what the first layer reads
        self.s_t = torch.empty(0)  # the last state of a recurrent decoder, or all of them

    @property
    def learned(self) -> tuple[Any, ...]:
        """The positions of both sides of a Transformer."""
        return (self.model.source_positions, self.model.target_positions) if self.deep else ()

    @property
    def letter(self) -> str:
        """The axis of the tokens: with input feeding a decoder goes step by step."""
        if self.side == "source":
            return "S"
        return "1" if isinstance(self.config, LuongConfig) and self.config.input_feeding else "T"

    def embed(self, ids: Tensor, table: Tensor, scale: float = 1.0) -> Tensor:
        x = super().embed(ids, table, scale)
        side = "source" if ids is self.source_ids else "target"
        stage, axes = stage_of(side), "[B,S,D]" if side == "source" else "[B,T,D]"
        if any(table is getattr(side, "table", None) for side in self.learned):  # a row of positions
            self.placed = self.rows.add(
                stage_of(self.side), "positions", f"[B,{self.letter},D]", x[None], detail=True
            )
            return x
        own = table is not self.model.target_embedding.weight
        weight = self.rows.weight(stage, "W_emb", "[V_src,D]" if own else "[V,D]", table)
        name = "X, embedding" if side == "source" else "y, embedding"
        if self.deep:
            name = "embedding" if scale == 1 else "embedding · √D"
        self.embedded = self.rows.add(
            stage, name, axes, x[None], "lookup", self.ids[side], weight, number=scale
        )
        self.rows.remember(x, self.embedded)
        return x

    def sinusoids(self, positions: Tensor, end: int | None, width: int, kind: torch.dtype) -> Tensor:
        found = super().sinusoids(positions, end, width, kind)
        stage, letter = stage_of(self.side), self.letter
        if isinstance(self.config, TransformerConfig) and self.config.positions == "rotary":
            self.angles = self.rows.add(
                stage, "angles, sin and cos", f"[B,{letter},d_k]", found[None], detail=True
            )
        else:
            self.placed = self.rows.add(stage, "positions", f"[B,{letter},D]", found[None], detail=True)
        return found

    def add_positions(self, x: Tensor) -> None:
        """The embedding with its positions, if it has some that are added."""
        if self.placed >= 0:  # else patches brought their places along, or attention knows them
            inputs, self.placed = (self.embedded, self.placed), -1
            axes = f"[B,{self.letter},D]"
            self.embedded = self.rows.add(stage_of(self.side), "+ positions", axes, x[None], "sum", *inputs)

    def norm_embedded(self, x: Tensor, norm: nn.Module) -> Tensor:
        normed = super().norm_embedded(x, norm)
        self.add_positions(x)
        if normed is not x:
            self.stage, self.sublayer = stage_of(self.side), "embedding"
            self.embedded = self.add_normed(self.embedded, x, norm, normed)
            self.stage = ""
        return normed

    def drop(self, x: Tensor, share: float, *, training: bool) -> Tensor:
        if self.deep and not self.stage:
            self.stage = stage_of(self.side)
            self.rows.remember(x, self.embedded)
            self.stream = x
        return super().drop(x, share, training=training)

    def branch(self, x: Tensor, weight: Tensor, bias: Tensor, **options: Any) -> tuple[Projected, Tensor]:
        found, after = super().branch(x, weight, bias, **options)
        if self.linear is not None and weight is self.linear.weight:  # the end of a sub-layer: `add_norm`
            return found, after
        place = self.rows.place_of(x)
        if place < 0:  # what pre-norm reads first
            place = self.add_first_norm(x)
        if self.network is None:
            self.products.append((place, weight, bias, found.values))
        else:
            self.add_inner(self.network, Matrix(weight, bias), x, found.values)
        self.rows.remember(after, place)
        return found, after

    def feed_forward(
        self, x: Tensor, stream: Tensor | None, network: FeedForward, *rest: Any, **options: Any
    ) -> tuple[Tensor, Tensor | None]:
        self.network, self.sublayer = network, "FFN"
        found = super().feed_forward(x, stream, network, *rest, **options)
        self.network = None
        return found

    def add_inner(self, network: FeedForward, matrix: Matrix, x: Tensor, made: Tensor) -> None:
        """The first product of a feed-forward network, or its gate's."""
        n = "1" if matrix.weight is network.inner.weight else "g"
        W, b = self.weights(f"W_{n}", f"b_{n}", matrix.weight.T, matrix.bias, "[D,F]", "[F]")
        axes, inner = (
            f"[B,{self.letter},F]",
            product_of(x, matrix.weight, matrix.bias.to(matrix.weight.dtype)),
        )
        inputs = (self.rows.place_of(x), W, b)
        place = self.note(f"x W_{n} + b_{n}", axes, inner[None], "product", *inputs, detail=True)
        if n == "1" and network.activation == "relu":
            place = self.note("h = max(0, x W_1 + b_1)", axes, made[None], "relu", place)
        self.rows.remember(made, place)

    def activate(self, x: Tensor, activation: Activation) -> Tensor:
        found, name = super().activate(x, activation), ACTIVATION_WORDS[activation]
        place = self.note(
            f"h = {name}(x W_1 + b_1)", f"[B,{self.letter},F]", found[None], activation, self.rows.place_of(x)
        )
        self.rows.remember(found, place)
        return found

    def gate(self, x: Tensor, gate: Tensor) -> Tensor:
        found, inputs = super().gate(x, gate), (self.rows.place_of(x), self.rows.place_of(gate))
        axes = f"[B,{self.letter},F]"
        self.rows.remember(found, self.note("h · (x W_g + b_g)", axes, found[None], "times", *inputs))
        return found

    def note(
        self,
        name: str,
        axes: str,
        tensor: Tensor,
        how: How,
        *inputs: int,
        number: float | None = None,
        detail: bool = False,
    ) -> int:
        """A row of the sub-layer at hand."""
        return self.rows.add(
            self.stage, f"{self.sublayer}: {name}", axes, tensor, how, *inputs, number=number, detail=detail
        )

    def weights(
        self, matrix: str, bias: str, W: Tensor, b: Tensor, shape: str = "[D,D]", row: str = "[D]"
    ) -> tuple[int, int]:
        """A matrix and its bias, under their names."""
        pair = ((matrix, shape, W), (bias, row, b))
        first, second = (
            self.rows.weight(self.stage, f"{self.sublayer}: {name}", axes, one) for name, axes, one in pair
        )
        return first, second

    def close(self, out: Tensor) -> None:
        """An attention is over: its stages, then what it gave."""
        assert self.pending is not None
        where, stages = self.pending
        if where[0] == "copy":
            self.add_pointing(stages, out)
        elif self.deep:
            self.add_heads(where, stages, out)
        elif isinstance(self.config, LuongConfig):
            s = (self.after_cell, self.s_t)
            self.head = (add_luong(self.rows, self.config, self.model.attention, stages, s, out),)
        else:
            self.add_attention(where, stages, out)
        super().close(out)

    def add_attention(self, where: Where, stages: Stages, out: Tensor) -> None:
        """Of a model that has no words of its own here."""
        self.stage, self.sublayer = f"decoder layer {where[1] + 1}", "attention"
        T = self.letter
        for name, axes, tensor in (
            ("scores", f"[B,{T},S]", stages.scores[:, 0]),
            ("softmax(scores)", f"[B,{T},S]", stages.weights[:, 0]),
            ("context", f"[B,{T},D]", stages.context[:, 0]),
            ("output", f"[B,{T},D]", out[None]),
        ):
            self.note(name, axes, tensor, "opaque")

    def add_heads(self, where: Where, stages: Stages, out: Tensor) -> None:
        kind, layer = where
        self.sublayer, self.stage = ATTENTIONS[kind], f"{stage_of(self.side)} layer {layer + 1}"
        assert isinstance(self.config, TransformerConfig)
        assert self.linear is not None
        q, k = self.letter, "T" if kind == "dec_self" else "S"
        Q, K, V = self.add_projections(stages, q, k)
        both = f"[B,H,{q},{k}]"
        scores = self.note("Q Kᵀ", both, stages.scores, "scores", Q, K)
        name = "softmax(Q Kᵀ)"
        if self.config.scaled:
            number = sqrt(stages.key.shape[-1])
            scores = self.note(
                "Q Kᵀ / √d_k", both, stages.scaled, "divide", scores, number=number, detail=True
            )
            name = "softmax(Q Kᵀ / √d_k)"
        if stages.bias is not None:
            bias = self.note("bias, by distance", both, stages.bias, "given", detail=True)
            total, name = stages.scaled + stages.bias, f"{name[:-1]} + bias)"
            scores = self.note(name[8:-1], both, total, "sum", scores, bias, detail=True)
        seen = stages.mask.expand(len(stages.scores), 1, *stages.scores.shape[2:])[:, 0].to(torch.uint8)
        mask = self.note("mask", f"[B,{q},{k}]", seen, "given", detail=True)
        weights = self.note(name, both, stages.weights, "softmax", scores, mask)
        heads = self.note("weights V", f"[B,H,{q},d_k]", stages.context, "weigh", weights, V)
        E = "E" if self.linear.in_features != self.linear.out_features else "D"
        joined = self.note(
            "Concat(heads)", f"[B,{q},{E}]", merge_heads(stages.context), "join", heads, detail=True
        )
        W, b = self.weights("W_O", "b_O", self.linear.weight.T, self.linear.bias, f"[{E},D]")
        self.note("Concat(heads) W_O", f"[B,{q},D]", out[None], "product", joined, W, b)

    def add_projections(self, stages: Stages, q: str, k: str) -> list[int]:
        """W_Q, W_K, W_V and what they make of the stream, in heads; with rotary positions turned by them."""
        parts, width = [], stages.query.shape[1] * stages.query.shape[3]
        E = "D" if width == self.config.width else "E"
        for place, weight, bias, made in self.products:
            count = len(weight) // width  # matrices that lie side by side in one
            three = (weight.chunk(count), bias.chunk(count), made.chunk(count, dim=1))
            parts += [(place, *part) for part in zip(*three, strict=True)]
        self.products.clear()
        places, heads = [], stages.query.shape[1]
        final = ((stages.query, "Q", q), (stages.key, "K", k), (stages.value, "V", k))
        for (tensor, name, side), (place, weight, bias, made) in zip(final, parts, strict=True):
            W, b = self.weights(f"W_{name}", f"b_{name}", weight.T, bias, f"[D,{E}]", f"[{E}]")
            axes = f"[B,H,{side},d_k]"
            if self.angles >= 0 and name != "V" and self.sublayer != "cross-attention":
                before = split_heads(made[None], heads)
                flat = self.note(
                    f"{name}, before its positions", axes, before, "product", place, W, b, detail=True
                )
                places.append(self.note(name, axes, tensor, "rotate", flat, self.angles))
            else:
                places.append(self.note(name, axes, tensor, "product", place, W, b))
        return places

    def add_pointing(self, stages: Stages, out: Tensor) -> None:
        """The attention that says where to point, and the gate's share."""
        for name, axes, tensor in (
            ("q(s)", "[B,T,D]", stages.query[:, 0]),
            ("k(H)", "[B,S,D]", stages.key[:, 0]),
            ("a = softmax(q kᵀ / √D)", "[B,T,S]", stages.weights[:, 0]),
            ("a H", "[B,T,D]", stages.context[:, 0]),
            ("1 - g: the share copied", "[B,T,1]", out),
        ):
            self.rows.add("copying", name, axes, tensor, "opaque")

    def add_norm(
        self,
        x: Tensor,
        states: Tensor,
        linear: nn.Linear,
        norm: nn.Module | None,
        *rest: Any,
        add: bool = True,
        **options: Any,
    ) -> tuple[Tensor, Tensor | None]:
        self.linear, axes = linear, f"[B,{self.letter},D]"
        if self.pending is None:
            W, b = self.weights("W_2", "b_2", linear.weight.T, linear.bias, "[F,D]")
            h = self.rows.place_of(states)
            self.note("h W_2 + b_2", axes, linear(states)[None], "product", h, W, b)
        s, normed = super().add_norm(x, states, linear, norm, *rest, add=add, **options)
        place = self.rows.last
        if add:
            place = self.note("add, x + f(x)", axes, s[None], "sum", self.rows.place_of(x), place)
        self.rows.remember(s, place)
        if normed is not None:
            self.add_normed(place, s, norm, normed)
        return s, normed

    def add_first_norm(self, x: Tensor) -> int:
        """Norms that stand before sub-layers: the first one reads the embedding itself."""
        layers = self.model.encoder if self.side == "source" else self.model.decoder
        self.stage, self.sublayer = f"{stage_of(self.side)} layer 1", "before"
        return self.add_normed(self.embedded, self.stream, layers[0].add_attention.norm, x)

    def add_normed(self, place: int, x: Tensor, norm: nn.Module | None, normed: Tensor) -> int:
        """Mean and variance of each row, or the mean of its squares, and the row after the norm."""
        one, all_ = f"[B,{self.letter},1]", f"[B,{self.letter},D]"
        if isinstance(norm, nn.RMSNorm):
            squares = x.square().mean(-1, keepdim=True)[None]
            square = self.note("mean of squares", one, squares, "square", place, detail=True)
            scale = self.rows.weight(self.stage, f"{self.sublayer}: γ", "[D]", norm.weight)
            inputs = (place, square, scale)
            return self.rows.remember(
                normed, self.note("norm", all_, normed[None], "rms", *inputs, number=norm.eps)
            )
        if not isinstance(norm, nn.LayerNorm):
            return self.rows.remember(normed, place)
        mean = self.note("mean", one, x.mean(-1, keepdim=True)[None], "mean", place, detail=True)
        spread = x.var(-1, unbiased=False, keepdim=True)
        variance = self.note("variance", one, spread[None], "variance", place, detail=True)
        scale, shift = self.weights("γ", "β", norm.weight, norm.bias, "[D]", "[D]")
        five = (place, mean, variance, scale, shift)
        return self.rows.remember(
            normed, self.note("norm", all_, normed[None], "norm", *five, number=norm.eps)
        )

    def logits(self, states: Tensor, head: Tensor, bias: Tensor | None = None) -> Tensor:
        found = super().logits(states, head, bias)
        before = self.rows.place_of(states, self.head[0] if self.head else self.after_cell)
        weight = self.rows.weight("output", "W_out", "[D,V]", head.T)
        self.head = (before, weight)
        if bias is not None:
            self.head = (before, weight, self.rows.weight("output", "b_out", "[V]", bias))
        if self.copies:
            name = "logits, before copying"
            self.head = (
                self.rows.add("output", name, "[B,T,V]", found[None], "product", *self.head, detail=True),
            )
        return found

    def run_cell(
        self, cell: nn.RNNBase, x: Tensor, sentences: Tokens | None, hidden: Tensor | None, side: Side
    ) -> tuple[Tensor, Tensor]:
        states, last = super().run_cell(cell, x, sentences, hidden, side)
        place = self.rows.place_of(x)
        if place < 0:
            place = self.embedded
            if self.letter == "1":
                place = self.rows.add(
                    "decoder", "[y_t-1; s̃_t-1]", "[B,1,2D]", x, "opaque", place, detail=True
                )
        for ways in unrolled(cell, x if sentences is not None else x[0], hidden):
            place = add_cell(self.rows, stage_of(side), self.letter, self.config.width, ways, place)
        self.after_cell = place
        if side == "target":
            fed = self.letter == "1"
            name = "s_t = Cell([y_t-1; s̃_t-1], s_t-1)" if fed else "s_t = Cell(y_t-1, s_t-1)"
            self.s_t = states if sentences is None else states[None]
            self.after_cell = self.rows.add("decoder", name, f"[B,{self.letter},D]", self.s_t, "same", place)
            self.rows.remember(states, self.after_cell)
        return states, last


def stage_of(side: str) -> str:
    return "encoder" if side == "source" else "decoder"
