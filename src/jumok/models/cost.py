"""What a model costs, by formula: parameters, FLOPs and bytes for given lengths, before anything is run.

Letters of the formulas: S source and T target length, D width, F inner width of the feed-forward network,
H heads of K numbers, E = H·K all of them together (D, unless model.head_width says otherwise), V target
vocabulary, N_e encoder and N_d decoder layers, P learned positions, R buckets of relative ones;
G gates of a recurrent cell (tanh 1, GRU 3, LSTM 4), N its layers, d directions of the encoder, h = D/d.

A matrix product (n, m) x (m, k) takes 2·n·m·k FLOPs (a multiplication and an addition each) and leaves n·k
numbers. Costs count the matrix products; norms, softmax and the like are less than a few percent.
"""

from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch.utils.flop_counter import FlopCounterMode

from jumok.backends.recording import RecordingBackend
from jumok.config import LuongConfig, ModelConfig, RnnConfig, TransformerConfig
from jumok.errors import ConfigError
from jumok.models.interface import Seq2Seq
from jumok.models.sentences import Sentences
from jumok.nn.patches import Patches

GATES = {"rnn": 1, "gru": 3, "lstm": 4}
NUMBER = 4  # bytes of a float32


@dataclass(frozen=True)
class Parameters:
    """The parameters of one part of a model, with the formula that gives them."""

    part: str
    formula: str
    count: int


@dataclass(frozen=True)
class Product:
    """`count` matrix products (rows, inner) x (inner, columns)."""

    rows: int
    inner: int
    columns: int
    count: int = 1

    @property
    def flops(self) -> int:
        return 2 * self.rows * self.inner * self.columns * self.count

    @property
    def numbers(self) -> int:
        return self.rows * self.columns * self.count


@dataclass(frozen=True)
class PartCost:
    """One part of a forward pass: its FLOPs by formula, and the matrix products that they are."""

    part: str
    formula: str
    products: tuple[Product, ...]

    @property
    def flops(self) -> int:
        return sum(product.flops for product in self.products)

    @property
    def numbers(self) -> int:
        return sum(product.numbers for product in self.products)


@dataclass(frozen=True)
class Cost:
    """One teacher-forced forward pass of one pair of sentences, in float32."""

    source_length: int
    target_length: int
    work: tuple[PartCost, ...]
    state_bytes: int
    """What decoding keeps for one hypothesis after T steps: cached keys and values, or recurrent states."""

    @property
    def flops(self) -> int:
        return sum(work.flops for work in self.work)

    @property
    def activation_bytes(self) -> int:
        """What the matrix products leave; training keeps it until the backward pass."""
        return NUMBER * sum(work.numbers for work in self.work)

    def to_dict(self) -> dict[str, Any]:
        return {
            "source_length": self.source_length,
            "target_length": self.target_length,
            "flops": self.flops,
            "activation_bytes": self.activation_bytes,
            "state_bytes": self.state_bytes,
            "parts": [{"part": w.part, "formula": w.formula, "flops": w.flops} for w in self.work],
        }


def parameters(
    config: ModelConfig, source_vocab: int, target_vocab: int, *, shared: bool, patches: Patches | None = None
) -> tuple[Parameters, ...]:
    """Every part of a model with its exact number of parameters.

    embedding      V·D, once for a shared vocabulary, else for each side
    encoder RNN    N·d·G·h·(D + h + 2) with h = D/d           torch's cells have two biases
    decoder RNN    G·D·(D_in + D + 2) + (N-1)·G·D·(2D + 2)    D_in = 2D with input feeding, else D
    Luong          W_a: 0 dot, D² general, 2D² + D concat; W_c: 2D²
    encoder layer  4(D² + D) attention + 2DF + F + D feed-forward + 2·2D norms
    decoder layer  8(D² + D) attention + 2DF + F + D feed-forward + 3·2D norms
    attention      4DE + 3E + D for 4(D² + D) where heads have a width of their own
    feed-forward   DF + F more with model.gated
    norms          pre-norm ends each stack with one more, 2·2D; none with model.norm=none; two more with
                   model.embedding_norm; D for 2D with model.rms_norm
    positions      2·P·D when learned, 2·R·H when relative
    copying        2D² + 3D + 1: query, key and gate, with model.copy
    patches        (P + 1)·D + S·D for a source of S patches with P numbers each, instead of its embedding;
                   without positions (P + 1)·D
    output         D·V, none when tied; V more with model.logits_bias
    """
    D, V = config.width, target_vocab
    rows, formula = (V, "V·D") if shared else (source_vocab + V, "(V_s + V_t)·D")
    embedded = [Parameters("embedding", formula, rows * D)]
    if patches is not None:
        numbers, places = patches.numbers, patches.places
        located = not isinstance(config, TransformerConfig) or config.positions != "none"
        places, formula = (places, "(P + 1)·D + S·D") if located else (0, "(P + 1)·D")
        embedded = [Parameters("patches", formula, (numbers + 1 + places) * D)]
        embedded += [Parameters("embedding", "V·D", V * D)]
    output = Parameters("output", "tied" if config.tied else "D·V", 0 if config.tied else D * V)
    if isinstance(config, TransformerConfig) and config.logits_bias:
        output = Parameters("output", "V" if config.tied else "D·V + V", output.count + V)
    match config:
        case TransformerConfig():
            return (*embedded, *_transformer_parameters(config, sides=1 if patches else 2), output)
        case RnnConfig() | LuongConfig():
            return (*embedded, *_recurrent_parameters(config), output)
        case _:
            raise no_formula(config)


def no_formula(config: ModelConfig) -> ConfigError:
    return ConfigError(
        f"there are no formulas for the cost of a {config.arch} model",
        hint="jumok inspect without --cost has its number of parameters",
    )


def _recurrent_parameters(config: RnnConfig | LuongConfig) -> Iterator[Parameters]:
    D, N, G = config.width, config.layers, GATES[config.cell]
    d = 2 if config.bidirectional else 1
    h = D // d
    yield Parameters("encoder", "N·d·G·h·(D + h + 2)", N * d * G * h * (D + h + 2))
    D_in = _decoder_input(config)
    first, later = G * D * (D_in + D + 2), G * D * (2 * D + 2)
    yield Parameters("decoder", "G·D·(D_in + D + 2) + (N-1)·G·D·(2D + 2)", first + (N - 1) * later)
    if isinstance(config, LuongConfig):
        formula, scores = {
            "dot": ("2D²", 0),
            "general": ("D² + 2D²", D * D),
            "concat": ("2D² + D + 2D²", 2 * D * D + D),
        }[config.score]
        yield Parameters("attention", formula, scores + 2 * D * D)


def _transformer_parameters(config: TransformerConfig, sides: int) -> Iterator[Parameters]:
    D, F, N_e, N_d = config.width, config.feedforward, config.encoder_layers, config.decoder_layers
    E = config.heads * config.d_k
    each = "4(D² + D)" if E == D else "(4DE + 3E + D)"
    yield Parameters("attention", f"(N_e + 2N_d)·{each}", (N_e + 2 * N_d) * (4 * D * E + 3 * E + D))
    each, size = (
        ("(3DF + 2F + D)", 3 * D * F + 2 * F + D) if config.gated else ("(2DF + F + D)", 2 * D * F + F + D)
    )
    yield Parameters("feed-forward", f"(N_e + N_d)·{each}", (N_e + N_d) * size)
    yield _norms(config)
    if config.positions == "learned":
        formula = "2·P·D" if sides == 2 else "P·D"
        yield Parameters("positions", formula, sides * config.max_positions * D)
    elif config.positions == "relative":
        yield Parameters("positions", "2·R·H", 2 * config.buckets * config.heads)
    if config.copy:
        yield Parameters("copying", "2D² + 3D + 1", 2 * D * D + 3 * D + 1)


def _norms(config: TransformerConfig) -> Parameters:
    """Two in each layer of the encoder and three in each of the decoder, and those around the stacks."""
    N_e, N_d = config.encoder_layers, config.decoder_layers
    around = (2 if config.norm == "pre" else 0) + (2 if config.embedding_norm else 0)
    inside, count = ("2N_e + 3N_d", 2 * N_e + 3 * N_d) if config.norm != "none" else ("", 0)
    counted = " + ".join(filter(None, (inside, str(around or ""))))
    if not counted:
        return Parameters("norms", "none", 0)
    counted = f"({counted})" if inside else counted
    size, D = ("D", config.width) if config.rms_norm else ("2D", 2 * config.width)
    return Parameters("norms", f"{counted}·{size}", (count + around) * D)


def forward_cost(
    config: ModelConfig,
    source_length: int,
    target_length: int,
    target_vocab: int,
    *,
    patches: Patches | None = None,
) -> Cost:
    """FLOPs and bytes of one forward pass, by part.

    Transformer   projections   8·N_e·S·D² + 12·N_d·T·D² + 4·N_d·S·D²    K, V of cross-attention: S rows
                  attention     4·D·(N_e·S² + N_d·T² + N_d·T·S)          the n²·d of the paper's table 1
                  feed-forward  4·D·F·(N_e·S + N_d·T)                    6·D·F with model.gated
                  heads of their own width: E for one D of each of the first two
                  copying       2·(T + S)·D² + 4·T·S·D + 4·T·D           with model.copy
    RNN           encoder       2·N·d·S·G·h·(D + h),  decoder 2·T·G·D·(D_in + D) for each layer
    Luong         scores        2·T·S·D, with W_a + 2·T·D²; context 2·T·S·D; W_c 4·T·D²
    all           output        2·T·D·V
    pictures      patches       2·S·P·D                                  P numbers of a patch to the width
    """
    S, T, D = source_length, target_length, config.width
    read = () if patches is None else (PartCost("patches", "2·S·P·D", (Product(S, patches.numbers, D),)),)
    output = PartCost("output", "2·T·D·V", (Product(T, D, target_vocab),))
    match config:
        case TransformerConfig():
            work = (*read, *_transformer_work(config, S, T), output)
        case RnnConfig() | LuongConfig():
            work = (*read, *_recurrent_work(config, S, T), output)
        case _:
            raise no_formula(config)
    return Cost(S, T, work, NUMBER * _state_numbers(config, S, T))


def _recurrent_work(config: RnnConfig | LuongConfig, S: int, T: int) -> Iterator[PartCost]:
    D, N, G = config.width, config.layers, GATES[config.cell]
    d = 2 if config.bidirectional else 1
    h = D // d
    yield PartCost(
        "encoder", "2·N·d·S·G·h·(D + h)", (Product(S, D, G * h, N * d), Product(S, h, G * h, N * d))
    )
    first = (Product(T, _decoder_input(config), G * D), Product(T, D, G * D))
    yield PartCost(
        "decoder",
        "2·T·G·D·(D_in + D) + (N-1)·2·T·G·D·2D",
        (*first, Product(T, D, G * D, 2 * (N - 1))),
    )
    if isinstance(config, LuongConfig):
        yield from _luong_work(config, S, T)


def _luong_work(config: LuongConfig, S: int, T: int) -> Iterator[PartCost]:
    D = config.width
    compare = Product(T, D, S)
    match config.score:
        case "dot":
            yield PartCost("scores", "2·T·S·D", (compare,))
        case "general":
            yield PartCost("scores", "2·T·D² + 2·T·S·D", (Product(T, D, D), compare))
        case "concat":
            sides = (Product(T, D, D), Product(S, D, D))
            yield PartCost("scores", "2·T·D² + 2·S·D² + 2·T·S·D", (*sides, compare))
    yield PartCost("context", "2·T·S·D", (Product(T, S, D),))
    yield PartCost("[c; s] W_c", "4·T·D²", (Product(T, 2 * D, D),))


def _transformer_work(config: TransformerConfig, S: int, T: int) -> Iterator[PartCost]:
    D, F, H, N_e, N_d = (
        config.width,
        config.feedforward,
        config.heads,
        config.encoder_layers,
        config.decoder_layers,
    )
    K = config.d_k
    E = H * K
    formula = "8·N_e·S·D² + 12·N_d·T·D² + 4·N_d·S·D²"
    yield PartCost(
        "projections",
        formula if E == D else formula.replace("D²", "D·E"),
        (
            Product(S, D, E, 3 * N_e),  # Q, K, V of the encoder
            Product(S, E, D, N_e),  # O
            Product(T, D, E, 3 * N_d),  # Q, K, V of masked self-attention
            Product(T, E, D, 2 * N_d),  # O of both attentions
            Product(T, D, E, N_d),  # Q of cross-attention
            Product(S, D, E, 2 * N_d),  # K, V of cross-attention
        ),
    )
    sizes = ((S, S, N_e), (T, T, N_d), (T, S, N_d))
    attention = [(Product(q, K, k, H * N), Product(q, k, K, H * N)) for q, k, N in sizes]  # QK^T, weights V
    formula = f"4·{'D' if E == D else 'E'}·(N_e·S² + N_d·T² + N_d·T·S)"
    yield PartCost("attention", formula, tuple(product for pair in attention for product in pair))
    wide = 2 if config.gated else 1
    feedforward = (
        *(Product(S, D, F, wide * N_e), Product(S, F, D, N_e)),
        *(Product(T, D, F, wide * N_d), Product(T, F, D, N_d)),
    )
    yield PartCost("feed-forward", f"{2 + 2 * wide}·D·F·(N_e·S + N_d·T)", feedforward)
    if config.copy:
        point = (Product(T, D, D), Product(S, D, D), Product(T, D, S), Product(T, S, D), Product(T, 2 * D, 1))
        yield PartCost("copying", "2·(T + S)·D² + 4·T·S·D + 4·T·D", point)


def _state_numbers(config: ModelConfig, S: int, T: int) -> int:
    """Numbers that decoding keeps for one hypothesis.

    Transformer 2·N_d·E·(T + S): keys and values, and 2·S·D to point at with model.copy; RNN N·C·D: the last
    states (C is 2 for LSTM, else 1); Luong the same and S·D + D: the memory and the attentional state, and
    with "concat" S·D more: the memory as it is compared.
    """
    if isinstance(config, TransformerConfig):
        pointed = 2 * S * config.width if config.copy else 0
        return 2 * config.decoder_layers * config.heads * config.d_k * (T + S) + pointed
    states = config.layers * (2 if config.cell == "lstm" else 1) * config.width
    if not isinstance(config, LuongConfig):
        return states
    return states + ((2 if config.score == "concat" else 1) * S + 1) * config.width


def _decoder_input(config: RnnConfig | LuongConfig) -> int:
    feeding = isinstance(config, LuongConfig) and config.input_feeding
    return 2 * config.width if feeding else config.width


def count_parameters(model: Seq2Seq) -> int:
    """Numbers in the model's own tensors, each counted once: what `parameters` must equal."""
    return sum(parameter.numel() for parameter in model.parameters())


def measured_flops(
    model: Seq2Seq, source_length: int, target_length: int, *, patches: Patches | None = None
) -> int:
    """FLOPs that torch counts while the model runs: what `forward_cost` predicts."""
    # The kernels that hide their products (oneDNN's LSTM, cuDNN) take no float64 on a CPU.
    twin = deepcopy(model).to("cpu", torch.float64).eval()
    ids, lengths = torch.zeros(source_length, dtype=torch.int64), np.array([source_length])
    if patches is not None:
        ids = torch.zeros(source_length, patches.numbers, dtype=torch.uint8)
    source = Sentences.of(ids, lengths)
    target = Sentences.lay([[0] * target_length], torch.device("cpu"))
    # The back end whose products torch can see; a fused kernel does the same sums.
    twin = twin.using(RecordingBackend())
    counter = FlopCounterMode(display=False)
    with torch.no_grad(), counter:
        twin(source, target).logits()
    return counter.get_total_flops()
