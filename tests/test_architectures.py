"""The settings of the architectures; what they refuse is tested beside all others in test_config.py."""

from typing import get_args

import pytest

from jumok.architectures import (
    ARCHS,
    LuongConfig,
    ModelConfig,
    RnnConfig,
    TransformerConfig,
    copies,
    require,
)
from jumok.errors import ConfigError


def test_every_architecture_has_its_settings() -> None:
    assert tuple(kind().arch for kind in get_args(ModelConfig)) == ARCHS


def test_the_defaults_are_the_papers() -> None:
    paper = TransformerConfig()
    assert (paper.width, paper.heads, paper.feedforward, paper.encoder_layers) == (512, 8, 2048, 6)
    assert (paper.norm, paper.residual, paper.scaled, paper.positions) == ("post", True, True, "sinusoidal")
    assert (RnnConfig().bidirectional, LuongConfig().score) == (False, "general")


def test_only_a_transformer_may_copy_and_only_when_asked() -> None:
    assert not any(copies(kind()) for kind in get_args(ModelConfig))
    assert copies(TransformerConfig(copy=True))


def test_what_cannot_work_is_named() -> None:
    with pytest.raises(ConfigError, match=r"model\.width=0 cannot work"):
        RnnConfig(width=0)
    with pytest.raises(ConfigError, match="a=1 cannot work") as found:
        require(False, "a", 1, "choose 2")  # noqa: FBT003
    assert found.value.hint == "choose 2"
