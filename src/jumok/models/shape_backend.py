"""The back end behind `shapes.py`, which notes what each op gives, under the words of the papers."""

from math import sqrt
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import linear as product_of

from jumok.backends.recording import RecordingBackend
from jumok.backends.values import Projected, Side, Tokens, Where
from jumok.config import LuongConfig, ModelConfig, TransformerConfig
from jumok.models.cell_rows import add_cell
from jumok.models.interface import Seq2Seq
from jumok.models.sentences import Sentences
from jumok.models.tensor_rows import How, RowList, memory_words
from jumok.nn.cells import unrolled
from jumok.nn.functional import Stages, merge_heads, split_heads

ATTENTIONS = {"enc_self": "self-attention", "dec_self": "masked self-attention", "cross": "cross-attention"}
SCORES = {
    "dot": "E_t = s_t Hᵀ",
    "general": "E_t = (s_t W_a) Hᵀ",
    "concat": "E_t = v_a · tanh(W_a [s_t; H])",
}


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
        self.stream = torch.empty(0)  # what the first layer reads
        self.s_t = torch.empty(0)  # the last state of a recurrent decoder, or all of them

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
        if self.deep and scale == 1:  # a row of learned positions
            self.placed = self.rows.add(
                stage_of(self.side), "positions", f"[B,{self.letter},D]", x[None], detail=True
            )
            return x
        own = table is not self.model.target_embedding.weight
        weight = self.rows.weight(stage, "W_emb", "[V_src,D]" if own else "[V,D]", table)
        name = "embedding · √D" if self.deep else "X, embedding" if side == "source" else "y, embedding"
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

    def drop(self, x: Tensor, share: float, *, training: bool) -> Tensor:
        if self.deep and not self.stage:
            self.stage = stage_of(self.side)
            if self.placed >= 0:  # else patches brought their places along, or attention turns by them
                inputs, self.placed = (self.embedded, self.placed), -1
                axes = f"[B,{self.letter},D]"
                self.embedded = self.rows.add(self.stage, "+ positions", axes, x[None], "sum", *inputs)
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
        if options.get("relu"):
            self.sublayer = "FFN"
            axes = f"[B,{self.letter},F]"
            W, b = self.weights("W_1", "b_1", weight.T, bias, "[D,F]", "[F]")
            inner = product_of(x, weight, bias.to(weight.dtype))
            sums = self.note("x W_1 + b_1", axes, inner[None], "product", place, W, b, detail=True)
            h = self.note("h = max(0, x W_1 + b_1)", axes, found.values[None], "relu", sums)
            self.rows.remember(found.values, h)
        else:
            self.products.append((place, weight, bias, found.values))
        return found, after

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
            self.add_luong(stages, out)
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
        seen = stages.mask.expand(len(stages.scores), 1, *stages.scores.shape[2:])[:, 0].to(torch.uint8)
        mask = self.note("mask", f"[B,{q},{k}]", seen, "given", detail=True)
        weights = self.note(name, both, stages.weights, "softmax", scores, mask)
        heads = self.note("weights V", f"[B,H,{q},d_k]", stages.context, "weigh", weights, V)
        joined = self.note(
            "Concat(heads)", f"[B,{q},D]", merge_heads(stages.context), "join", heads, detail=True
        )
        W, b = self.weights("W_O", "b_O", self.linear.weight.T, self.linear.bias)
        self.note("Concat(heads) W_O", f"[B,{q},D]", out[None], "product", joined, W, b)

    def add_projections(self, stages: Stages, q: str, k: str) -> list[int]:
        """W_Q, W_K, W_V and what they make of the stream, in heads; with rotary positions turned by them."""
        parts = []
        for place, weight, bias, made in self.products:
            count = weight.shape[0] // weight.shape[1]  # matrices that lie side by side in one
            three = (weight.chunk(count), bias.chunk(count), made.chunk(count, dim=1))
            parts += [(place, *part) for part in zip(*three, strict=True)]
        self.products.clear()
        places, heads = [], stages.query.shape[1]
        final = ((stages.query, "Q", q), (stages.key, "K", k), (stages.value, "V", k))
        for (tensor, name, side), (place, weight, bias, made) in zip(final, parts, strict=True):
            W, b = self.weights(f"W_{name}", f"b_{name}", weight.T, bias)
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

    def add_luong(self, stages: Stages, out: Tensor) -> None:
        assert isinstance(self.config, LuongConfig)
        attention = self.model.attention
        T, add, weight, score = self.letter, self.rows.add, self.rows.weight, self.config.score
        s, H = self.after_cell, self.rows.places["memory", memory_words(self.config)[0]]
        both, query = torch.cat((stages.context[:, 0], self.s_t), dim=-1), stages.query[:, 0]
        how: How = "scores"
        compared = (s, H)
        if score == "general":
            W = weight("attention", "W_a", "[D,D]", attention.w_a)
            compared = (add("attention", "s_t W_a", f"[B,{T},D]", query, "product", s, W, detail=True), H)
        elif score == "concat":
            how = "additive"
            W_s, W_h = (
                weight("attention", f"W_a, the half for {name}", "[D,D]", one)
                for name, one in (("s", attention.w_query), ("H", attention.w_memory))
            )
            v = weight("attention", "v_a", "[D]", attention.v_a)
            keys = self.rows.places.get(("attention", "H W_a"))
            if keys is None:
                keys = add("attention", "H W_a", "[B,S,D]", stages.key[:, 0], "product", H, W_h, detail=True)
            compared = (
                add("attention", "s_t W_a", f"[B,{T},D]", query, "product", s, W_s, detail=True),
                keys,
                v,
            )  # type: ignore[assignment]
        E = add("attention", SCORES[score], f"[B,{T},S]", stages.scores[:, 0], how, *compared)
        a = add("attention", "α_t = softmax(E_t)", f"[B,{T},S]", stages.weights[:, 0], "softmax", E)
        c = add("attention", "c_t = α_t H", f"[B,{T},D]", stages.context[:, 0], "weigh", a, H)
        joined = add("attention", "[c_t; s_t]", f"[B,{T},2D]", both, "beside", c, s)
        W = weight("attention", "W_c", "[2D,D]", attention.w_c.weight.T)
        inner = add(
            "attention",
            "[c_t; s_t] W_c",
            f"[B,{T},D]",
            attention.w_c(both),
            "product",
            joined,
            W,
            detail=True,
        )
        end = out if out.dim() == 3 else out[None]
        place = add("attention", "s̃_t = tanh([c_t; s_t] W_c)", f"[B,{T},D]", end, "tanh", inner)
        self.rows.remember(out, place)
        self.head = (place,)

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
        """Mean and variance of each row, and the row after the norm."""
        if not isinstance(norm, nn.LayerNorm):
            return self.rows.remember(normed, place)
        one, all_ = f"[B,{self.letter},1]", f"[B,{self.letter},D]"
        mean = self.note("mean", one, x.mean(-1, keepdim=True)[None], "mean", place, detail=True)
        spread = x.var(-1, unbiased=False, keepdim=True)
        variance = self.note("variance", one, spread[None], "variance", place, detail=True)
        scale, shift = self.weights("γ", "β", norm.weight, norm.bias, "[D]", "[D]")
        inputs = (place, mean, variance, scale, shift)
        return self.rows.remember(
            normed, self.note("norm", all_, normed[None], "norm", *inputs, number=norm.eps)
        )

    def logits(self, states: Tensor, head: Tensor) -> Tensor:
        found = super().logits(states, head)
        before = self.rows.place_of(states, self.head[0] if self.head else self.after_cell)
        weight = self.rows.weight("output", "W_out", "[D,V]", head.T)
        self.head = (before, weight)
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
