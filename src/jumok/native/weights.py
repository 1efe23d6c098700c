"""A model's weights as the C library names and packs them, and back again.

`layout` is one table for both ways: which tensors of a state dict make which part of jumok.h. Letters: N rows
and K columns of a matrix, y = x Wᵀ + b; D width, A width of all heads, F inner width, V vocabulary, G gates
of a cell.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from math import prod
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from jumok.architectures import LuongConfig, ModelConfig, RnnConfig, TransformerConfig
from jumok.errors import ModelError
from jumok.native.library import library

Array = NDArray[Any]
Type = Literal["float32", "int8"]
Form = Literal["matrix", "transposed", "heads", "vector", "table"]

BLOCK, QUAD = 16, 4
"""Rows are packed by 16, columns of int8 codes by 4; what is missing is zero."""
GATES = {"rnn": 1, "gru": 3, "lstm": 4}


@dataclass(frozen=True)
class WeightPart:
    """One part of jumok.h and the tensors that it is made of.

    matrix: W (N, K). transposed: stored as (K, N). heads: one matrix per head, (parts, H, K, A / H).
    vector: (K,), N = 1. table: (N, K), rows that are looked up and never multiplied.
    """

    name: str
    rows: int
    columns: int
    weight: str
    bias: str = ""
    form: Form = "matrix"
    heads: tuple[int, int] = (1, 1)
    """Of the form heads: how many there are, and the width of one."""

    @property
    def packed(self) -> bool:
        return self.form in ("matrix", "transposed", "heads")

    @property
    def shape(self) -> tuple[int, ...]:
        """Of the weight in a state dict."""
        match self.form:
            case "transposed":
                return self.columns, self.rows
            case "heads":
                return self.rows // prod(self.heads), self.heads[0], self.columns, self.heads[1]
            case "vector":
                return (self.columns,)
            case _:
                return self.rows, self.columns

    def matrix(self, weight: Array) -> NDArray[np.float32]:
        """The weight of a state dict as W (N, K)."""
        turned = weight.transpose(0, 1, 3, 2) if self.form == "heads" else weight
        turned = turned.T if self.form == "transposed" else turned
        return np.ascontiguousarray(turned, dtype=np.float32).reshape(self.rows, self.columns)

    def stored(self, matrix: Array) -> Array:
        """W (N, K) as it stands in a state dict."""
        if self.form == "heads":
            parts, heads, width, head = self.shape
            return np.ascontiguousarray(matrix.reshape(parts, heads, head, width).transpose(0, 1, 3, 2))
        turned = matrix.T if self.form == "transposed" else matrix.reshape(self.shape)
        return np.ascontiguousarray(turned)

    @property
    def bias_shape(self) -> tuple[int, ...]:
        """Of the bias in a state dict."""
        if self.form != "heads":
            return (self.rows,)
        parts, heads, _, head = self.shape
        return parts, heads, 1, head


@dataclass(frozen=True)
class PackedWeights:
    """A part in memory as the kernels read it. A vector or a table is plain float32, and has no bias."""

    rows: int
    columns: int
    data: Array
    scale: NDArray[np.float32] | None = None  # (N16,), of int8 codes
    bias: NDArray[np.float32] | None = None  # (N16,)

    @property
    def type(self) -> Type:
        return "float32" if self.scale is None else "int8"

    def unpacked(self) -> NDArray[np.float32]:
        """W (N, K), or the numbers of a vector or a table."""
        if self.scale is not None:  # without the library: torch has to have them even where it was not built
            quads = self.data.reshape(padded(self.rows) // BLOCK, -1, BLOCK, QUAD).transpose(0, 2, 1, 3)
            codes = quads.reshape(padded(self.rows), -1)[: self.rows, : self.columns]
            return (codes.astype(np.float32) - 128) * self.scale[: self.rows, None]
        blocks = self.data.reshape(-1, self.columns, BLOCK).transpose(0, 2, 1)
        return np.ascontiguousarray(blocks.reshape(-1, self.columns)[: self.rows], dtype=np.float32)


def layout(config: ModelConfig, source_vocab: int, target_vocab: int) -> list[WeightPart]:
    """Every part of a model under its name in jumok.h; the output of a tied model is its embedding again."""
    D, tied = config.width, config.tied
    bias = "logits_bias" if isinstance(config, TransformerConfig) and config.logits_bias else ""
    parts = [
        WeightPart("target_embedding", target_vocab, D, "target_embedding.weight"),
        WeightPart("source_embedding", source_vocab, D, "source_embedding.weight"),
        WeightPart("output", target_vocab, D, "target_embedding.weight" if tied else "output.weight", bias),
    ]
    match config:
        case TransformerConfig():
            return [*parts, *_transformer(config)]
        case _:
            return [*parts, *_recurrent(config)]


def _transformer(config: TransformerConfig) -> Iterator[WeightPart]:
    D, A, F = config.width, config.heads * config.d_k, config.feedforward
    if config.positions == "learned":
        for side in ("source", "target"):
            table = f"{side}_positions.table"
            yield WeightPart(f"{side}_positions", config.max_positions, D, table, form="table")
    if config.positions == "relative":
        for name in ("encoder_bias", "decoder_bias"):
            yield WeightPart(name, config.buckets, config.heads, f"{name}.weight", form="table")
    for name in ("source_norm", "target_norm") if config.embedding_norm else ():
        yield from _norm(config, name, name)
    for side, layers in (("encoder", config.encoder_layers), ("decoder", config.decoder_layers)):
        crosses = side == "decoder"
        branches = ("attention", "cross", "feedforward") if crosses else ("attention", "feedforward")
        for n in range(layers):
            layer = f"{side}.{n}"
            yield _projection(config, layer, "qkv", 3, "attention.project")
            yield _linear(layer, "out", D, A, "attention.output.linear")
            if crosses:
                yield _projection(config, layer, "cross_q", 1, "cross.project_query")
                yield _projection(config, layer, "cross_kv", 2, "cross.project_memory")
                yield _linear(layer, "cross_out", D, A, "cross.output.linear")
            for name in ("inner", "gate") if config.gated else ("inner",):
                yield _linear(layer, name, F, D, f"feedforward.{name}")
            yield _linear(layer, "outer", D, F, "feedforward.outer")
            for number, branch in enumerate(branches if config.norm != "none" else (), start=1):
                yield from _norm(config, f"{layer}.norm{number}", f"{layer}.add_{branch}.norm")
    for side in ("encoder", "decoder") if config.norm == "pre" else ():
        yield from _norm(config, f"{side}.norm", f"{side}_norm")


def _projection(config: TransformerConfig, layer: str, name: str, count: int, stored: str) -> WeightPart:
    D, path, heads = config.width, f"{layer}.{stored}", (config.heads, config.d_k)
    if config.projection == "split":
        weight, bias = f"{path}.weight", f"{path}.bias"
        return WeightPart(f"{layer}.{name}", count * prod(heads), D, weight, bias, "heads", heads)
    return _linear(layer, name, count * prod(heads), D, f"{stored}.linear")


def _linear(layer: str, name: str, rows: int, columns: int, stored: str) -> WeightPart:
    path = f"{layer}.{stored}"
    return WeightPart(f"{layer}.{name}", rows, columns, f"{path}.weight", f"{path}.bias")


def _norm(config: TransformerConfig, name: str, stored: str) -> Iterator[WeightPart]:
    for kind in ("weight",) if config.rms_norm else ("weight", "bias"):
        yield WeightPart(f"{name}.{kind}", 1, config.width, f"{stored}.{kind}", form="vector")


def _recurrent(config: RnnConfig | LuongConfig) -> Iterator[WeightPart]:
    D, G = config.width, GATES[config.cell]
    both = 2 if config.bidirectional else 1
    for n in range(config.layers):
        for d, ending in list(enumerate(("", "_reverse")))[:both]:
            layer = f"l{n}{ending}"
            yield from _cell(f"encoder.{n}.{d}", "encoder.cell", layer, G * (D // both), D, D // both)
    feeding = isinstance(config, LuongConfig) and config.input_feeding
    for n in range(config.layers):
        yield from _cell(f"decoder.{n}", "decoder", f"l{n}", G * D, 2 * D if feeding and n == 0 else D, D)
    if isinstance(config, LuongConfig):
        names = {"dot": (), "general": ("w_a",), "concat": ("w_query", "w_memory")}[config.score]
        for name in names:
            yield WeightPart(f"attention.{name}", D, D, f"attention.{name}", form="transposed")
        if config.score == "concat":
            yield WeightPart("attention.v_a", 1, D, "attention.v_a", form="vector")
        yield WeightPart("attention.w_c", D, 2 * D, "attention.w_c.weight")


def _cell(name: str, stored: str, layer: str, rows: int, width_in: int, width: int) -> Iterator[WeightPart]:
    for side, key, columns in (("input", "ih", width_in), ("hidden", "hh", width)):
        weight, bias = f"{stored}.weight_{key}_{layer}", f"{stored}.bias_{key}_{layer}"
        yield WeightPart(f"{name}.{side}", rows, columns, weight, bias)


def pack_weights(
    config: ModelConfig,
    tensors: Mapping[str, Array],
    *,
    shared: bool = False,
    type: Type = "float32",  # noqa: A002  the word of every tool
    sizes: tuple[int, int] | None = None,
    where: str = "",
) -> dict[str, PackedWeights]:
    """The parts of a model by their names in jumok.h, from the tensors of its state dict.

    `shared` says that both sides have one embedding; `sizes` of the vocabularies are those of the embeddings
    unless given. What is tied or shared is packed once. A tensor that is
    missing, of another shape or not finite is a ModelError with its name; `where` names the file.
    """
    tensors = _under_every_name(tensors, where, shared=shared)
    check_layers(config, len(tensors), where)
    if sizes is None:
        sizes = (len(tensors["source_embedding.weight"]), len(tensors["target_embedding.weight"]))
    parts = layout(config, *sizes)
    shapes = {part.weight: part.shape for part in parts}
    shapes |= {part.bias: part.bias_shape for part in parts if part.bias}
    expected = {name: ("float32", shape) for name, shape in shapes.items()}
    if faults := differences(expected, {name: (str(a.dtype), a.shape) for name, a in tensors.items()}):
        raise wrong_weights(faults, where)
    once, packed = dict[tuple[int, bool], PackedWeights](), dict[str, PackedWeights]()
    for part in parts:
        weight, bias = tensors[part.weight], tensors[part.bias] if part.bias else None
        key = (weight.ctypes.data, part.packed)
        if key not in once:
            once[key] = _pack(part, weight, type, where)
        one = once[key]
        packed[part.name] = one if bias is None else replace(one, bias=_pack_bias(part, bias, where))
    return packed


def unpack_weights(
    config: ModelConfig, parts: Mapping[str, PackedWeights], *, shared: bool
) -> dict[str, Array]:
    """The state dict of a packed model, in float32: what int8 codes stand for."""
    tensors: dict[str, Array] = {}
    sizes = (parts[f"{side}_embedding"].rows for side in ("source", "target"))
    for part in layout(config, *sizes):
        packed = parts[part.name]
        if part.bias and packed.bias is not None:
            tensors[part.bias] = packed.bias[: part.rows].reshape(part.bias_shape).copy()
        if part.weight in tensors:
            continue
        if part.name == "source_embedding" and shared:
            tensors[part.weight] = tensors["target_embedding.weight"]
            continue
        tensors[part.weight] = part.stored(packed.unpacked() if part.packed else packed.data)
    return tensors


Kinds = Mapping[str, tuple[str, tuple[int, ...]]]
"""The type and the shape of tensors by their names."""


def differences(expected: Kinds, stored: Kinds) -> list[str]:
    """What is missing in a state dict, too much, or of another shape or kind."""
    faults = [f"{name} is missing" for name in expected if name not in stored]
    faults += [f"{name[:80]} is unexpected" for name in stored if name not in expected]
    for name, (kind, shape) in stored.items():
        wanted = expected.get(name, (kind, shape))
        if (("float" in kind), shape) != (("float" in wanted[0]), wanted[1]):
            faults.append(f"{name} is {kind} {shape}, not {wanted[0]} {wanted[1]}")
    return faults


def parameter_count(config: ModelConfig, source_vocab: int, target_vocab: int, *, shared: bool) -> int:
    """How many numbers a model has; what is tied or shared counts once."""
    sizes: dict[str, int] = {}
    for part in layout(config, source_vocab, target_vocab):
        sizes |= {part.weight: prod(part.shape), **({part.bias: part.rows} if part.bias else {})}
    return sum(size for name, size in sizes.items() if not (shared and name == "source_embedding.weight"))


def check_layers(config: ModelConfig, tensors: int, where: str) -> None:
    """Refuse settings with more layers than a file has tensors: a forged number must not take all memory."""
    layers = sum(config.depths)
    if layers > tensors:
        raise wrong_weights([f"config.json has {layers:,} layers, and the file {tensors:,} tensors"], where)


def wrong_weights(faults: list[str], where: str) -> ModelError:
    """The error for weights of another model than the settings."""
    more = f", and {len(faults) - 5} more" if len(faults) > 5 else ""
    return ModelError(
        f"the weights do not fit the model's settings: {'; '.join(faults[:5])}{more}",
        where=where,
        hint="config.json and the weights come from different models: copy the folder again",
        code="wrong_weights",
    )


def padded(count: int, unit: int = BLOCK) -> int:
    """The next multiple of a unit."""
    return -(-count // unit) * unit


def _under_every_name(tensors: Mapping[str, Array], where: str, *, shared: bool) -> dict[str, Array]:
    """One embedding may be stored once; here both sides have it, and it is one array."""
    names = ("target_embedding.weight", "source_embedding.weight")
    known = [tensors[name] for name in names if name in tensors]
    if not known:
        raise wrong_weights([f"{names[0]} is missing"], where)
    both = shared or len(known) == 1
    return {**tensors, **(dict.fromkeys(names, known[0]) if both else {})}


def _check_finite(name: str, array: Array, where: str) -> None:
    if not np.isfinite(array).all():
        bad = int(array.size - np.isfinite(array).sum())
        raise ModelError(
            f"{name}: {bad:,} of {array.size:,} numbers are not finite",
            where=where,
            hint="the weights are damaged or diverged: use an older checkpoint",
            code="non_finite",
        )


def _pack_bias(part: WeightPart, bias: Array, where: str) -> NDArray[np.float32]:
    _check_finite(part.bias, bias, where)
    row = _aligned(4 * padded(part.rows)).view(np.float32)
    row[:] = 0
    row[: part.rows] = bias.reshape(-1)
    return row


def _pack(part: WeightPart, weight: Array, type_: Type, where: str) -> PackedWeights:
    N, K, c = part.rows, part.columns, library().c
    matrix = part.matrix(weight)
    if not part.packed:
        _check_finite(part.weight, weight, where)
        return PackedWeights(N, K, matrix.reshape(part.shape).copy())
    if type_ == "int8":
        codes, scale = _aligned(c.jm_packed_i8(N, K)), _aligned(4 * padded(N)).view(np.float32)
        if c.jm_pack_i8(matrix.ctypes.data, N, K, codes.ctypes.data, scale.ctypes.data):
            _check_finite(part.weight, weight, where)
        return PackedWeights(N, K, codes, scale)
    data = _aligned(c.jm_packed_f32(N, K)).view(np.float32)
    if c.jm_pack_f32(matrix.ctypes.data, N, K, data.ctypes.data):
        _check_finite(part.weight, weight, where)
    return PackedWeights(N, K, data)


def _aligned(size: int) -> NDArray[np.uint8]:
    """So many bytes that begin at a multiple of 64."""
    memory = np.empty(size + 64, dtype=np.uint8)
    first = -memory.ctypes.data % 64
    return memory[first : first + size]
