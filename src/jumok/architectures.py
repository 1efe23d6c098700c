"""The settings of each architecture, as frozen dataclasses. An object that exists is valid. No torch."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import inf
from types import MappingProxyType
from typing import ClassVar, Literal

from jumok.errors import ConfigError

Arch = Literal["rnn", "luong", "transformer"]
ARCHS: tuple[Arch, ...] = ("rnn", "luong", "transformer")

Kind = Literal["enc_self", "dec_self", "cross", "copy"]
"""Of attention; `copy` is where a model that copies points."""
Scoring = Literal["scaled_dot", "dot", "general", "concat"]
Placing = Literal["sinusoidal", "learned", "rotary", "relative", "none"]
Activation = Literal["relu", "gelu", "gelu_tanh", "silu"]

STRICT = {"extra": "forbid"}  # pydantic reads these classes at the edge; unknown keys are errors there


def require(holds: bool, key: str, value: object, advice: str) -> None:  # noqa: FBT001
    """Refuse a setting that cannot work, by its full name."""
    if not holds:
        raise ConfigError(f"{key}={value} cannot work", hint=advice)


RANGES: Mapping[str, tuple[Callable[[float], bool], str]] = MappingProxyType(
    {
        "above 0": (lambda value: 0 < value < inf, "choose a number above 0"),
        "from 0": (lambda value: 0 <= value < inf, "choose 0 or more"),
        "below 1": (lambda value: 0 <= value < 1, "choose a share from 0 up to, but not including, 1"),
        "to 1": (lambda value: 0 <= value <= 1, "choose a share from 0 to 1"),
    }
)
"""What a number may be, and what to choose instead."""


MOST: Mapping[str, int] = MappingProxyType(
    {
        "model.width": 65_536,
        "model.layers": 1_024,
        "model.encoder_layers": 1_024,
        "model.decoder_layers": 1_024,
        "model.heads": 4_096,
        "model.feedforward": 1 << 20,
        "model.max_positions": 1 << 20,
        "model.buckets": 65_536,
        "model.max_distance": 1 << 20,
        "model.head_width": 8_192,
        "data.max_length": 1 << 20,
        "training.batch_tokens": 1 << 26,
        "decoding.beam": 4_096,
        "decoding.n_best": 4_096,
        "decoding.max_len": 1 << 20,
        "decoding.batch_tokens": 1 << 26,
    }
)
"""How much the settings of a run or of a model folder may ask for, far above what anyone trains today.

Whoever sends a model folder could otherwise make the reader's machine ask for all of its memory.
"""


def check_range(config: object, section: str, which: str, *names: str) -> None:
    """Refuse settings outside one of `RANGES`, or above `MOST`."""
    holds, advice = RANGES[which]
    for name in names:
        key, value = f"{section}.{name}", getattr(config, name)
        require(holds(value), key, value, advice)
        most = MOST.get(key, inf)
        require(value <= most, key, value if value < 10**20 else "…", f"choose {most:,} or less")


def check(config: object, section: str, *rules: tuple[str, bool, str]) -> None:
    """Refuse settings that cannot work: each rule names one, says whether it can, and gives advice."""
    for name, holds, advice in rules:
        require(holds, f"{section}.{name}", getattr(config, name), advice)


@dataclass(frozen=True, slots=True)
class AlignHead:
    """What says which source token a target token came from: a head of the attention to the source."""

    layer: int
    """Of the decoder, from 0."""
    head: int | None = None
    """From 0; None: the mean of the layer's heads."""
    after: bool = False
    """It looks for a token once that has been read, one step after it was written."""


def taught_head(layers: int) -> AlignHead:
    """The head that `training.align` teaches: the first of the last layer but one (Garg et al. 2019).

    It knows the token that it looks for, which is easier than to foresee it (Chen et al. 2020).
    """
    return AlignHead(max(layers - 2, 0), 0, after=True)


class Architecture:
    """What anyone may ask of a model's settings, whichever it is. A subclass says where it differs."""

    __slots__ = ()

    @property
    def depths(self) -> tuple[int, int]:
        """Layers of the encoder and of the decoder."""
        both = getattr(self, "layers", 0)
        return getattr(self, "encoder_layers", both), getattr(self, "decoder_layers", both)

    @property
    def attention(self) -> dict[Kind, tuple[int, int]]:
        """Layers and heads of each kind of attention that the model has."""
        return {}

    @property
    def mean_head(self) -> AlignHead | None:
        """The mean of the last layer's heads, which aligns where no head is known; None without attention."""
        if "cross" not in self.attention:
            return None
        return AlignHead(self.attention["cross"][0] - 1)

    @property
    def scoring(self) -> Scoring | None:
        """How a query and a key are compared; None without attention."""
        return None

    @property
    def placing(self) -> Placing | None:
        """How the model knows the order of tokens; None if it reads them one by one."""
        return None

    @property
    def table_rows(self) -> int | None:
        """Positions that a learned table has; None: no table sets a limit."""
        return None

    @property
    def is_native(self) -> bool:
        """Whether the C library has it."""
        return False


@dataclass(frozen=True, slots=True, kw_only=True)
class RnnConfig(Architecture):
    """RNN encoder-decoder joined by one fixed vector (Cho et al. 2014; Sutskever et al. 2014)."""

    arch: Literal["rnn"] = "rnn"
    cell: Literal["rnn", "gru", "lstm"] = "gru"
    """Recurrent cell: plain tanh, GRU or LSTM."""
    width: int = 256
    """Width D of embeddings and states."""
    layers: int = 1
    """Recurrent layers in the encoder and again in the decoder."""
    bidirectional: bool = False
    """The encoder also reads from right to left; each direction has half the width."""
    dropout: float = 0.1
    """Share of the numbers that training sets to zero, against learning by heart."""
    tied: bool = True
    """The output projection is the transposed target embedding."""
    __pydantic_config__: ClassVar = STRICT

    def __post_init__(self) -> None:
        _check_recurrent(self)

    @property
    def is_native(self) -> bool:
        return True


@dataclass(frozen=True, slots=True, kw_only=True)
class LuongConfig(Architecture):
    """RNN encoder-decoder with global attention (Luong et al. 2015)."""

    arch: Literal["luong"] = "luong"
    cell: Literal["rnn", "gru", "lstm"] = "gru"
    """Recurrent cell: plain tanh, GRU or LSTM."""
    width: int = 256
    """Width D of embeddings and states."""
    layers: int = 1
    """Recurrent layers in the encoder and again in the decoder."""
    bidirectional: bool = True
    """The encoder also reads from right to left; each direction has half the width."""
    dropout: float = 0.1
    """Share of the numbers that training sets to zero, against learning by heart."""
    tied: bool = True
    """The output projection is the transposed target embedding."""
    score: Literal["dot", "general", "concat"] = "general"
    """How a decoder state is compared with an encoder state."""
    input_feeding: bool = False
    """Feed the attentional state to the next step. Slower: training loops over time."""
    __pydantic_config__: ClassVar = STRICT

    def __post_init__(self) -> None:
        _check_recurrent(self)

    @property
    def attention(self) -> dict[Kind, tuple[int, int]]:
        return {"cross": (1, 1)}

    @property
    def scoring(self) -> Scoring:
        return self.score

    @property
    def is_native(self) -> bool:
        return True


@dataclass(frozen=True, slots=True, kw_only=True)
class TransformerConfig(Architecture):
    """Transformer encoder-decoder (Vaswani et al. 2017). The defaults are the paper's base model."""

    arch: Literal["transformer"] = "transformer"
    encoder_layers: int = 6
    """Layers that read the source."""
    decoder_layers: int = 6
    """Layers that write the target; each step of a translation runs them all."""
    width: int = 512
    """Model width D; must be a multiple of `heads`, unless `head_width` is given."""
    heads: int = 8
    """Attention heads, each of width `width / heads`."""
    feedforward: int = 2048
    """Inner width of the position-wise feed-forward network."""
    dropout: float = 0.1
    """Share of the numbers that training sets to zero, against learning by heart."""
    norm: Literal["post", "pre", "none"] = "post"
    """Layer norm after each residual sum (the paper), before each sub-layer, or nowhere."""
    residual: bool = True
    """Each sub-layer adds to its input; without it, it replaces its input."""
    scaled: bool = True
    """Divide the scores by the square root of a head's width before the softmax."""
    positions: Placing = "sinusoidal"
    """How the model knows the order of tokens: computed waves, a learned table, turned queries and keys, or a
    learned number for each distance, added to the scores (relative, as in T5).

    Patches of a picture have a learned table of their own, unless it is none.
    """
    max_positions: int = 1024
    """Rows of the table of learned positions; the other kinds have no limit."""
    buckets: int = 32
    """Of relative positions: how many distances are told apart, near ones one by one."""
    max_distance: int = 128
    """Of relative positions: from here on all distances are one."""
    activation: Activation = "relu"
    """What stands between the two matrices of the feed-forward network."""
    gated: bool = False
    """The feed-forward network multiplies the activation by a second product of its input."""
    rms_norm: bool = False
    """Norms divide by the root mean square alone, without taking off the mean or adding a bias."""
    norm_epsilon: float = 1e-5
    """What norms add to the variance before its root."""
    head_width: int = 0
    """Width of one head, where it is not `width / heads`; 0: it is."""
    embedding_norm: bool = False
    """Embeddings, with their positions, go through a norm before the first layer."""
    embedding_scaled: bool = True
    """Embeddings are multiplied by the square root of the width."""
    logits_bias: bool = False
    """Each token of the target has a number of its own that is added to its logits."""
    projection: Literal["merged", "split"] = "merged"
    """Project Q, K, V of all heads with one matrix each side, or with one matrix per head."""
    tied: bool = True
    """The output projection is the transposed target embedding."""
    copy: bool = False
    """A token may also be written by pointing at it in the source: names, numbers, rare words."""
    __pydantic_config__: ClassVar = STRICT

    def __post_init__(self) -> None:
        sizes = ("encoder_layers", "decoder_layers", "width", "heads", "feedforward", "max_positions")
        check_range(self, "model", "above 0", *sizes, "max_distance", "norm_epsilon")
        check_range(self, "model", "below 1", "dropout", "norm_epsilon")
        check_range(self, "model", "from 0", "head_width", "buckets")
        if not self.head_width and self.width % self.heads:
            near = self.width - self.width % self.heads
            raise ConfigError(
                f"model.width={self.width} does not split into model.heads={self.heads} equal heads",
                hint=f"set model.width to {near or self.heads} or {near + self.heads}, or change model.heads",
            )
        pairs = "rotary positions turn pairs of numbers: model.width / model.heads must be even"
        if self.head_width:
            pairs = "rotary positions turn pairs of numbers: model.head_width must be even"
        waves = "sinusoidal positions come in pairs of sine and cosine: choose an even width"
        wide = f"all model.heads={self.heads} together may be {MOST['model.width']:,} wide"
        check(
            self,
            "model",
            ("head_width", self.heads * self.head_width <= MOST["model.width"], wide),
            ("positions", self.positions != "rotary" or self.d_k % 2 == 0, pairs),
            ("width", self.positions != "sinusoidal" or self.width % 2 == 0, waves),
        )
        if self.positions == "relative":
            _check_buckets(self)

    @property
    def d_k(self) -> int:
        """The width of one head."""
        return self.head_width or self.width // self.heads

    @property
    def attention(self) -> dict[Kind, tuple[int, int]]:
        encoder, decoder = (self.encoder_layers, self.heads), (self.decoder_layers, self.heads)
        copy: dict[Kind, tuple[int, int]] = {"copy": (1, 1)} if self.copy else {}
        return {"enc_self": encoder, "dec_self": decoder, "cross": decoder, **copy}

    @property
    def scoring(self) -> Scoring:
        return "scaled_dot" if self.scaled else "dot"

    @property
    def placing(self) -> Placing:
        return self.positions

    @property
    def table_rows(self) -> int | None:
        return self.max_positions if self.positions == "learned" else None

    @property
    def is_native(self) -> bool:
        return not self.copy


ModelConfig = RnnConfig | LuongConfig | TransformerConfig


def copies(config: ModelConfig) -> bool:
    """Whether such a model may point at tokens of its source."""
    return "copy" in config.attention


def _check_recurrent(config: RnnConfig | LuongConfig) -> None:
    check_range(config, "model", "above 0", "width", "layers")
    check_range(config, "model", "below 1", "dropout")
    halves = "a bidirectional encoder gives half of the width to each direction: choose an even number"
    check(config, "model", ("width", not config.bidirectional or config.width % 2 == 0, halves))


def _check_buckets(config: TransformerConfig) -> None:
    halves = "half of the buckets are for tokens before, half for those behind: choose an even number from 4"
    beyond = (
        f"half of model.buckets={config.buckets} count the nearest distances one by one: "
        f"choose more than {config.buckets // 2}"
    )
    check(
        config,
        "model",
        ("buckets", config.buckets >= 4 and config.buckets % 2 == 0, halves),
        ("max_distance", config.max_distance > config.buckets // 2, beyond),
    )
