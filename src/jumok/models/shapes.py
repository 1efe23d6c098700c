"""Every tensor on the way from ids to the loss, and its shape, taken from one real pass.

    [B,S] int64 → [B,S,D] → … → [B,T,V]

The pass has one sentence, so that B is 1. More of them lie end to end in memory, (B·S, D); `ShapeTrace.batch`
writes them as papers do, (B, S, D).
Axis letters: B batch, S source, T target, D width, H heads, d_k width of one head, F inner width of the
feed-forward network, V vocabulary, N recurrent layers, C parts of a cell's state (LSTM has two).
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from jumok.backends.recording import RecordingBackend
from jumok.backends.values import Side, Tokens, Where
from jumok.config import LuongConfig, ModelConfig, RnnConfig, TransformerConfig
from jumok.models.interface import Seq2Seq
from jumok.models.sentences import Sentences
from jumok.nn.functional import Stages


@dataclass(frozen=True)
class ShapeRow:
    """One tensor: where in the model, what made it, its axes by letter, its real shape and dtype."""

    stage: str
    operation: str
    axes: str
    shape: tuple[int, ...]
    dtype: str


@dataclass(frozen=True)
class ShapeTrace:
    """All tensors of one pass in the order they first appeared."""

    sizes: dict[str, int]
    """What each letter stands for in this pass."""
    rows: tuple[ShapeRow, ...]
    times: tuple[int, ...]
    """How often each appeared: above 1 where the model loops over time."""
    values: tuple[tuple[Tensor, ...], ...] = ()
    """The tensors themselves, as often as they appeared."""

    @property
    def path(self) -> str:
        """In one line: `[B,S] int64 → [B,S,D] → … → [B,T,V]`."""
        first, second = self.rows[:2]
        last = next(row for row in self.rows if row.operation == "logits")
        return f"{first.axes} {first.dtype} → {second.axes} → … → {last.axes} {last.dtype}"

    def batch(self, size: int) -> "ShapeTrace":
        """The same pass over `size` such sentences: B is the first axis of all but the loss."""
        rows = tuple(replace(row, shape=(size, *row.shape[1:])) if row.shape else row for row in self.rows)
        return ShapeTrace({**self.sizes, "B": size}, rows, self.times)

    def to_dict(self) -> dict[str, Any]:
        rows = [asdict(row) | {"times": n} for row, n in zip(self.rows, self.times, strict=True)]
        return {"path": self.path, "sizes": self.sizes, "rows": rows}


def trace_shapes(
    model: Seq2Seq,
    config: ModelConfig,
    source: Sentences,
    target_in: Sentences,
    wanted: Sequence[int] | None = None,
) -> ShapeTrace:
    """Run the model on one pair, the target shifted right, and note what each op gives.

    `wanted` are the right tokens, for the loss; without them it is that of any tokens.
    """
    ops = ShapeBackend(config, source.tokens)
    model = model.using(ops)
    with torch.inference_mode():
        pictures = source.tokens.dim() == 2
        name, axes = ("patches", "[B,S,P]") if pictures else ("ids", "[B,S]")
        ops.add("source", name, axes, source.tokens[None])
        if pictures:
            located = getattr(model.source_embedding, "positions", None) is not None
            words = "patch W + b + E_pos" if located else "patch W + b"
            ops.add("encoder", words, "[B,S,D]", torch.zeros(1, source.longest, config.width))
        memory = model.encode(source)
        states, final = memory_words(config)
        ops.add("memory", states, "[B,S,D]", memory.states[None])
        if memory.final is not None:
            ops.add("memory", final, "[B,N,C,D]", memory.final)
        ops.add("target", "ids, shifted right", "[B,T]", target_in.tokens[None])
        ops.side = "target"
        logits = model.decode(target_in, memory).logits()
        ops.add("output", "logits", "[B,T,V]", logits[None])
        ops.add("output", "p = softmax(logits)", "[B,T,V]", logits.softmax(-1)[None])
        right = target_in.tokens if wanted is None else logits.new_tensor(wanted, dtype=torch.long)
        ops.add("output", "loss = -1/N · sum log p(y)", "[]", cross_entropy(logits, right))
    rows, values = tuple(ops.seen), tuple(map(tuple, ops.seen.values()))
    return ShapeTrace(sizes_of(rows), rows, tuple(map(len, values)), values)


def sizes_of(rows: Sequence[ShapeRow]) -> dict[str, int]:
    """What each letter stands for, read off the shapes."""
    sizes: dict[str, int] = {}
    for row in rows:
        for letter, size in zip(filter(None, row.axes.strip("[]").split(",")), row.shape, strict=True):
            if letter.isidentifier():
                assert sizes.setdefault(letter, size) == size, row
    return sizes


def memory_words(config: ModelConfig) -> tuple[str, str]:
    """Names of the encoder's states and of its last state."""
    match config:
        case RnnConfig():
            return "H, which the decoder never sees", "h_final: the fixed vector, all that the decoder gets"
        case LuongConfig():
            return "H, seen at every step", "h_final, where the decoder starts"
        case _:
            return "seen by every decoder layer", ""


ATTENTIONS = {"enc_self": "self-attention", "dec_self": "masked self-attention", "cross": "cross-attention"}
SCORES = {
    "dot": "E_t = s_t Hᵀ",
    "general": "E_t = (s_t W_a) Hᵀ",
    "concat": "E_t = v_a · tanh(W_a [s_t; H])",
}


class ShapeBackend(RecordingBackend):
    """Notes what each op gives, under the words for a model of this kind."""

    def __init__(self, config: ModelConfig, source_ids: Tensor) -> None:
        super().__init__(record=True)
        self.source_ids = source_ids
        self.config, self.side = config, "source"
        self.seen: dict[ShapeRow, list[Tensor]] = {}
        self.deep = isinstance(config, TransformerConfig)
        self.stage, self.sublayer = "", ""
        self.s_t = torch.empty(0)  # the last state of a recurrent decoder, or all of them

    def add(self, stage: str, operation: str, axes: str, tensor: Tensor) -> None:
        dtype = str(tensor.dtype).removeprefix("torch.")
        row = ShapeRow(stage, operation, axes, tuple(tensor.shape), dtype)
        self.seen.setdefault(row, []).append(tensor)

    @property
    def letter(self) -> str:
        """The axis of the tokens: with input feeding a decoder goes step by step."""
        if self.side == "source":
            return "S"
        return "1" if isinstance(self.config, LuongConfig) and self.config.input_feeding else "T"

    def embed(self, ids: Tensor, table: Tensor, scale: float = 1.0) -> Tensor:
        x = super().embed(ids, table, scale)
        side = "source" if ids is self.source_ids else "target"
        name = "embedding · √D" if self.deep else "X, embedding" if side == "source" else "y, embedding"
        if not self.deep or scale != 1:  # not a row of learned positions
            self.add(stage_of(side), name, "[B,S,D]" if side == "source" else "[B,T,D]", x[None])
        return x

    def drop(self, x: Tensor, share: float, *, training: bool) -> Tensor:
        if self.deep and not self.stage:
            self.add(stage_of(self.side), "+ positions", f"[B,{self.letter},D]", x[None])
            self.stage = stage_of(self.side)
        return super().drop(x, share, training=training)

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
        stage, T = f"decoder layer {where[1] + 1}", self.letter
        for name, axes, tensor in (
            ("scores", f"[B,{T},S]", stages.scores[:, 0]),
            ("softmax(scores)", f"[B,{T},S]", stages.weights[:, 0]),
            ("context", f"[B,{T},D]", stages.context[:, 0]),
            ("output", f"[B,{T},D]", out[None]),
        ):
            self.add(stage, f"attention: {name}", axes, tensor)

    def add_heads(self, where: Where, stages: Stages, out: Tensor) -> None:
        kind, layer = where
        self.sublayer, self.stage = ATTENTIONS[kind], f"{stage_of(self.side)} layer {layer + 1}"
        assert isinstance(self.config, TransformerConfig)
        q, k = self.letter, "T" if kind == "dec_self" else "S"
        weights = "softmax(Q Kᵀ / √d_k)" if self.config.scaled else "softmax(Q Kᵀ)"
        for name, axes, tensor in (
            ("Q", f"[B,H,{q},d_k]", stages.query),
            ("K", f"[B,H,{k},d_k]", stages.key),
            ("V", f"[B,H,{k},d_k]", stages.value),
            ("Q Kᵀ", f"[B,H,{q},{k}]", stages.scores),
            (weights, f"[B,H,{q},{k}]", stages.weights),
            ("weights V", f"[B,H,{q},d_k]", stages.context),
            ("Concat(heads) W_O", f"[B,{q},D]", out[None]),
        ):
            self.add(self.stage, f"{self.sublayer}: {name}", axes, tensor)

    def add_luong(self, stages: Stages, out: Tensor) -> None:
        assert isinstance(self.config, LuongConfig)
        T = self.letter
        both = torch.cat((stages.context[:, 0], self.s_t), dim=-1)
        for name, axes, tensor in (
            (SCORES[self.config.score], f"[B,{T},S]", stages.scores[:, 0]),
            ("α_t = softmax(E_t)", f"[B,{T},S]", stages.weights[:, 0]),
            ("c_t = α_t H", f"[B,{T},D]", stages.context[:, 0]),
            ("[c_t; s_t]", f"[B,{T},2D]", both),
            ("s̃_t = tanh([c_t; s_t] W_c)", f"[B,{T},D]", out if out.dim() == 3 else out[None]),
        ):
            self.add("attention", name, axes, tensor)

    def add_pointing(self, stages: Stages, out: Tensor) -> None:
        """The attention that says where to point, and the gate's share."""
        self.add("copying", "q(s)", "[B,T,D]", stages.query[:, 0])
        self.add("copying", "k(H)", "[B,S,D]", stages.key[:, 0])
        self.add("copying", "a = softmax(q kᵀ / √D)", "[B,T,S]", stages.weights[:, 0])
        self.add("copying", "a H", "[B,T,D]", stages.context[:, 0])
        self.add("copying", "1 - g: the share copied", "[B,T,1]", out)

    def add_norm(
        self, x: Tensor, states: Tensor, linear: nn.Linear, *rest: Any, add: bool = True, **options: Any
    ) -> tuple[Tensor, Tensor | None]:
        if self.pending is None:
            self.sublayer = "FFN"
            self.add(self.stage, "FFN: h = max(0, x W_1 + b_1)", f"[B,{self.letter},F]", states[None])
            self.add(self.stage, "FFN: h W_2 + b_2", f"[B,{self.letter},D]", linear(states)[None])
        s, normed = super().add_norm(x, states, linear, *rest, add=add, **options)
        axes = f"[B,{self.letter},D]"
        if add:
            self.add(self.stage, f"{self.sublayer}: add, x + f(x)", axes, s[None])
        if normed is not None and isinstance(self.config, TransformerConfig) and self.config.norm != "none":
            self.add(self.stage, f"{self.sublayer}: norm", axes, normed[None])
        return s, normed

    def run_cell(
        self, cell: nn.RNNBase, x: Tensor, sentences: Tokens | None, hidden: Tensor | None, side: Side
    ) -> tuple[Tensor, Tensor]:
        states, last = super().run_cell(cell, x, sentences, hidden, side)
        if side == "target":
            fed = self.letter == "1"
            name = "s_t = Cell([y_t-1; s̃_t-1], s_t-1)" if fed else "s_t = Cell(y_t-1, s_t-1)"
            self.s_t = states if sentences is None else states[None]
            self.add("decoder", name, f"[B,{self.letter},D]", self.s_t)
        return states, last


def stage_of(side: str) -> str:
    return "encoder" if side == "source" else "decoder"
