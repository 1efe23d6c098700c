"""The settings of the fourth model: what would stand in architectures.py."""

from dataclasses import dataclass
from typing import ClassVar, Literal

from jumok.architectures import STRICT, check_positive, check_share


@dataclass(frozen=True, slots=True, kw_only=True)
class CnnConfig:
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
        check_positive(model__width=self.width, model__window=self.window)
        check_share("model.dropout", self.dropout)
