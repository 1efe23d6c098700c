"""The shape of every tensor on the way from ids to logits, read off the real tensors of one pass.

    [B,S] int64 → [B,S,D] → … → [B,T,V]

Axis letters: B batch, S source, T target, D width, H heads, K width of one head, F inner width of the
feed-forward network, V vocabulary, N recurrent layers, C parts of a cell's state (LSTM has two).
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from jumok.models.build import PatchEmbedding
from jumok.models.interface import Kind, Probe, Record, Seq2Seq
from jumok.models.luong import LuongSeq2Seq
from jumok.models.rnn import RnnSeq2Seq
from jumok.models.transformer import DecoderLayer, EncoderLayer, TransformerSeq2Seq

Add = Callable[[str, str, str, Tensor], None]
"""`add(stage, operation, axes, tensor)`: notes the next tensor."""


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

    @property
    def path(self) -> str:
        """In one line: `[B,S] int64 → [B,S,D] → … → [B,T,V]`."""
        first, second, last = self.rows[0], self.rows[1], self.rows[-1]
        return f"{first.axes} {first.dtype} → {second.axes} → … → {last.axes} {last.dtype}"

    def to_dict(self) -> dict[str, Any]:
        rows = [asdict(row) | {"times": n} for row, n in zip(self.rows, self.times, strict=True)]
        return {"path": self.path, "sizes": self.sizes, "rows": rows}


@dataclass(frozen=True)
class ShapeHook:
    """A module whose output is noted, and how the output is named."""

    module: nn.Module
    stage: str
    operation: str
    axes: str


def trace_shapes(model: Seq2Seq, source: Tensor, source_mask: Tensor, target_in: Tensor) -> ShapeTrace:
    """Run the model on one pair and note the shape of what each part gives: source (1, S), or (1, S, P) of a
    picture, with its mask, and the target shifted right (1, T).

    The model has hooks until this returns; do not run it elsewhere meanwhile.
    """
    seen: Counter[ShapeRow] = Counter()

    def add(stage: str, operation: str, axes: str, tensor: Tensor) -> None:
        dtype = str(tensor.dtype).removeprefix("torch.")
        seen[ShapeRow(stage, operation, axes, tuple(tensor.shape), dtype)] += 1

    encoder, decoder, record = parts_of(model, add)
    probe = Probe(record=record)
    with torch.inference_mode():
        pictures = source.dim() == 3
        add("source", "patches" if pictures else "ids", "[B,S,P]" if pictures else "[B,S]", source)
        with noting(encoder, add):
            memory = model.encode(source, source_mask, probe)
        states, final = memory_words(model)
        add("memory", states, "[B,S,D]", memory.states)
        if memory.final is not None:
            add("memory", final, "[B,N,C,D]", memory.final)
        add("target", "ids, shifted right", "[B,T]", target_in)
        with noting(decoder, add):
            logits = model.decode(target_in, memory, probe)
        add("output", "logits", "[B,T,V]", logits)
    return ShapeTrace(sizes_of(tuple(seen)), tuple(seen), tuple(seen.values()))


def sizes_of(rows: Sequence[ShapeRow]) -> dict[str, int]:
    """What each letter stands for, read off the shapes."""
    sizes: dict[str, int] = {}
    for row in rows:
        for letter, size in zip(row.axes.strip("[]").split(","), row.shape, strict=True):
            if letter.isalpha():
                assert sizes.setdefault(letter, size) == size, row
    return sizes


@contextmanager
def noting(hooks: Sequence[ShapeHook], add: Add) -> Iterator[None]:
    """Notes what the modules of these hooks give, until the block ends."""

    def note(hook: ShapeHook, _: nn.Module, inputs: tuple[Tensor, ...], output: Any) -> None:
        add(hook.stage, hook.operation, hook.axes, output[0] if isinstance(output, tuple) else output)

    with ExitStack() as stack:
        for hook in hooks:
            stack.callback(hook.module.register_forward_hook(partial(note, hook)).remove)
        yield


def parts_of(model: Seq2Seq, add: Add) -> tuple[list[ShapeHook], list[ShapeHook], Record]:
    """What to watch in the encoder and in the decoder, and what to note of attention."""
    match model:
        case TransformerSeq2Seq():
            return *transformer_hooks(model), transformer_stages(model, add)
        case LuongSeq2Seq():
            return *luong_hooks(model), luong_stages(model, add)
        case RnnSeq2Seq():
            return *rnn_hooks(model), lambda *_: None
        case _:
            raise TypeError(f"no shape trace for {type(model).__name__}")


def memory_words(model: Seq2Seq) -> tuple[str, str]:
    """Names of the encoder's states and of its last state."""
    match model:
        case RnnSeq2Seq():
            return "H, which the decoder never sees", "h_final: the fixed vector, all that the decoder gets"
        case LuongSeq2Seq():
            return "H, seen at every step", "h_final, where the decoder starts"
        case _:
            return "seen by every decoder layer", ""


def rnn_hooks(model: RnnSeq2Seq) -> tuple[list[ShapeHook], list[ShapeHook]]:
    return [
        ShapeHook(
            model.source_embedding, "encoder", read_words(model.source_embedding, "X, embedding"), "[B,S,D]"
        )
    ], [
        ShapeHook(model.target_embedding, "decoder", "y, embedding", "[B,T,D]"),
        ShapeHook(model.decoder, "decoder", "s_t = Cell(y_t-1, s_t-1)", "[B,T,D]"),
    ]


def luong_hooks(model: LuongSeq2Seq) -> tuple[list[ShapeHook], list[ShapeHook]]:
    T = "1" if model.input_feeding else "T"  # with input feeding the decoder goes step by step
    cell = "Cell([y_t-1; s̃_t-1], s_t-1)" if model.input_feeding else "Cell(y_t-1, s_t-1)"
    return [
        ShapeHook(
            model.source_embedding, "encoder", read_words(model.source_embedding, "X, embedding"), "[B,S,D]"
        )
    ], [
        ShapeHook(model.target_embedding, "decoder", "y, embedding", f"[B,{T},D]"),
        ShapeHook(model.decoder, "decoder", f"s_t = {cell}", f"[B,{T},D]"),
        ShapeHook(model.attention, "attention", "s̃_t = tanh([c_t; s_t] W_c)", f"[B,{T},D]"),
    ]


def luong_stages(model: LuongSeq2Seq, add: Add) -> Record:
    scores = {
        "dot": "E_t = s_t Hᵀ",
        "general": "E_t = (s_t W_a) Hᵀ",
        "concat": "E_t = v_a · tanh(W_a [s_t; H])",
    }[model.attention.score]

    def record(kind: Kind, layer: int, stages: Any) -> None:
        add("attention", scores, "[B,T,S]", stages.scores[:, 0])
        add("attention", "α_t = softmax(E_t)", "[B,T,S]", stages.weights[:, 0])
        add("attention", "c_t = α_t H", "[B,T,D]", stages.context[:, 0])
        add("attention", "[c_t; s_t]", "[B,T,2D]", torch.cat((stages.context, stages.query), dim=-1)[:, 0])

    return record


def read_words(embedding: nn.Module, text: str) -> str:
    """What turns a source into vectors; `text` are the words for one that is text."""
    if not isinstance(embedding, PatchEmbedding):
        return text
    return "patch W + b" if embedding.positions is None else "patch W + b + E_pos"


def transformer_hooks(model: TransformerSeq2Seq) -> tuple[list[ShapeHook], list[ShapeHook]]:
    encoder = [
        ShapeHook(
            model.source_embedding, "encoder", read_words(model.source_embedding, "embedding · √D"), "[B,S,D]"
        ),
        ShapeHook(model.source_positions, "encoder", "+ positions", "[B,S,D]"),
    ]
    for n, layer in enumerate(model.encoder, 1):
        encoder += layer_hooks(layer, f"encoder layer {n}", "S")
    decoder = [
        ShapeHook(model.target_embedding, "decoder", "embedding · √D", "[B,T,D]"),
        ShapeHook(model.target_positions, "decoder", "+ positions", "[B,T,D]"),
    ]
    for n, layer in enumerate(model.decoder, 1):
        decoder += layer_hooks(layer, f"decoder layer {n}", "T")
    return encoder, decoder


def layer_hooks(layer: nn.Module, stage: str, L: str) -> list[ShapeHook]:
    """The sub-layers of one encoder or decoder layer, over `L` positions."""
    assert isinstance(layer, EncoderLayer | DecoderLayer)
    masked, out = isinstance(layer, DecoderLayer), f"[B,{L},D]"
    self_attention = "masked self-attention" if masked else "self-attention"

    def ends(residual: nn.Module, sublayer: str) -> list[ShapeHook]:
        words = after_sublayer(residual)
        return [ShapeHook(residual, stage, f"{sublayer}: {words}", out)] if words else []

    hooks = [
        ShapeHook(layer.attention, stage, f"{self_attention}: Concat(heads) W_O", out),
        *ends(layer.add_attention, self_attention),
    ]
    if isinstance(layer, DecoderLayer):
        hooks += [
            ShapeHook(layer.cross, stage, "cross-attention: Concat(heads) W_O", out),
            *ends(layer.add_cross, "cross-attention"),
        ]
    return [
        *hooks,
        ShapeHook(layer.feedforward.inner, stage, "FFN: x W_1 + b_1", f"[B,{L},F]"),
        ShapeHook(layer.feedforward, stage, "FFN: max(0, ·) W_2 + b_2", out),
        *ends(layer.add_feedforward, "FFN"),
    ]


def after_sublayer(residual: Any) -> str:
    """What is done with a sub-layer's output; nothing in a model that goes on with it as it is."""
    normed = isinstance(residual.norm, nn.LayerNorm)
    if residual.add:
        return "add & norm" if normed else "add"
    return "norm" if normed and not residual.pre else ""


def transformer_stages(model: TransformerSeq2Seq, add: Add) -> Record:
    weights = "softmax(Q Kᵀ / √K)" if model.scaled else "softmax(Q Kᵀ)"
    names = {
        "enc_self": ("encoder", "self-attention", "S", "S"),
        "dec_self": ("decoder", "masked self-attention", "T", "T"),
        "cross": ("decoder", "cross-attention", "T", "S"),
    }

    def record(kind: Kind, layer: int, stages: Any) -> None:
        if kind == "copy":
            note_pointing(stages, add)
            return
        side, attention, q, k = names[kind]
        stage = f"{side} layer {layer + 1}"
        add(stage, f"{attention}: Q", f"[B,H,{q},K]", stages.query)
        add(stage, f"{attention}: K", f"[B,H,{k},K]", stages.key)
        add(stage, f"{attention}: V", f"[B,H,{k},K]", stages.value)
        add(stage, f"{attention}: Q Kᵀ", f"[B,H,{q},{k}]", stages.scores)
        add(stage, f"{attention}: {weights}", f"[B,H,{q},{k}]", stages.weights)
        add(stage, f"{attention}: weights V", f"[B,H,{q},K]", stages.context)

    return record


def note_pointing(stages: Any, add: Add) -> None:
    """The attention that says where to point, and the gate's share."""
    add("copying", "q(s)", "[B,T,D]", stages.query[:, 0])
    add("copying", "k(H)", "[B,S,D]", stages.key[:, 0])
    add("copying", "a = softmax(q kᵀ / √D)", "[B,T,S]", stages.weights[:, 0])
    add("copying", "a H", "[B,T,D]", stages.context[:, 0])
    add("copying", "1 - g: the share copied", "[B,T,1]", stages.out)
