"""The settings of the fourth model: what would stand in architectures.py."""

from dataclasses import dataclass
from typing import ClassVar, Literal

from jumok.architectures import STRICT, Architecture, Kind, Placing, Scoring, check_range


@dataclass(frozen=True, slots=True, kw_only=True)
class CnnConfig(Architecture):
    """Convolutional encoder-decoder (Gehring et al. 2017)."""

    arch: Literal["cnn"] = "cnn"
    encoder_layers: int = 3
    decoder_layers: int = 3
    width: int = 256
    window: int = 3
    dropout: float = 0.1
    tied: bool = True
    __pydantic_config__: ClassVar = STRICT

    def __post_init__(self) -> None:
        check_range(self, "model", "above 0", "encoder_layers", "decoder_layers", "width", "window")
        check_range(self, "model", "below 1", "dropout")

    @property
    def attention(self) -> dict[Kind, tuple[int, int]]:
        return {"cross": (self.decoder_layers, 1)}

    @property
    def scoring(self) -> Scoring:
        return "dot"

    @property
    def placing(self) -> Placing:
        return "sinusoidal"
