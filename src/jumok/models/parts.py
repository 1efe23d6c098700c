"""The parts of a Transformer that its settings choose: norms, networks, positions."""

from torch import Tensor, nn

from jumok.config import TransformerConfig
from jumok.models.sentences import Sentences
from jumok.nn.layers import FeedForward, Residual, make_norm
from jumok.nn.positions import LearnedPositions, NoPositions, SinusoidalPositions
from jumok.nn.relative import Relative, RelativeBias


def make_residual(config: TransformerConfig) -> Residual:
    return Residual(
        config.width,
        config.dropout,
        config.norm,
        add=config.residual,
        rms=config.rms_norm,
        epsilon=config.norm_epsilon,
    )


def norm_of(config: TransformerConfig) -> nn.Module:
    return make_norm(config.width, rms=config.rms_norm, epsilon=config.norm_epsilon)


def make_network(config: TransformerConfig) -> FeedForward:
    return FeedForward(config.width, config.feedforward, config.activation, gated=config.gated)


def make_bias(config: TransformerConfig, *, both: bool) -> RelativeBias | None:
    """The table of a stack with relative positions; an encoder looks in `both` directions."""
    if config.positions != "relative":
        return None
    return RelativeBias(config.buckets, config.heads, config.max_distance, config.width, both=both)


def relative_to(bias: RelativeBias | None, positions: Tensor | None, sentences: Sentences) -> Relative | None:
    """What a pass over these sentences adds to its scores; None: nothing, or tokens have no positions."""
    if bias is None or positions is None:
        return None
    moved = None if positions is sentences.positions else positions
    return Relative(bias, sentences.longest, moved)


def make_positions(config: TransformerConfig) -> nn.Module:
    match config.positions:
        case "sinusoidal":
            return SinusoidalPositions()
        case "learned":
            return LearnedPositions(config.max_positions, config.width)
        case "rotary" | "relative" | "none":
            return NoPositions()  # rotary turns queries and keys inside attention, relative adds to scores
