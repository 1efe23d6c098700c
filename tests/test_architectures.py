"""The settings of the architectures; what they refuse is tested beside all others in test_config.py."""

from functools import partial
from typing import Any, get_args

import pytest

from jumok.architectures import (
    ARCHS,
    MOST,
    Architecture,
    LuongConfig,
    ModelConfig,
    RnnConfig,
    TransformerConfig,
    copies,
    require,
)
from jumok.config import DataConfig, DecodingConfig, TrainingConfig
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


@pytest.mark.parametrize(
    ("config", "depths", "kinds", "scoring", "placing", "native"),
    [
        (RnnConfig(layers=2), (2, 2), {}, None, None, True),
        (LuongConfig(score="dot"), (1, 1), {"cross": (1, 1)}, "dot", None, True),
        (
            TransformerConfig(encoder_layers=3, copy=True, scaled=False),
            (3, 6),
            {"enc_self": (3, 8), "dec_self": (6, 8), "cross": (6, 8), "copy": (1, 1)},
            "dot",
            "sinusoidal",
            False,
        ),
    ],
    ids=["rnn", "luong", "transformer"],
)
def test_settings_say_what_a_model_has(
    config: ModelConfig, depths: Any, kinds: Any, scoring: Any, placing: Any, *, native: bool
) -> None:
    assert (config.depths, config.attention) == (depths, kinds)
    assert (config.scoring, config.placing, config.is_native) == (scoring, placing, native)
    assert config.table_rows is None
    assert copies(config) is ("copy" in kinds)


@pytest.mark.parametrize(
    ("settings", "said", "hint"),
    [
        (
            {"positions": "relative", "buckets": 2},
            "model.buckets=2 cannot work",
            "half of the buckets are for tokens before, half for those behind: choose an even number from 4",
        ),
        (
            {"positions": "relative", "buckets": 33},
            "model.buckets=33 cannot work",
            "half of the buckets are for tokens before, half for those behind: choose an even number from 4",
        ),
        (
            {"positions": "relative", "max_distance": 16},
            "model.max_distance=16 cannot work",
            "half of model.buckets=32 count the nearest distances one by one: choose more than 16",
        ),
        ({"max_distance": 0}, "model.max_distance=0 cannot work", "choose a number above 0"),
        ({"norm_epsilon": 0.0}, "model.norm_epsilon=0.0 cannot work", "choose a number above 0"),
        (
            {"norm_epsilon": 1.0},
            "model.norm_epsilon=1.0 cannot work",
            "choose a share from 0 up to, but not including, 1",
        ),
        ({"head_width": -1}, "model.head_width=-1 cannot work", "choose 0 or more"),
        (
            {"head_width": 7, "positions": "rotary"},
            "model.positions=rotary cannot work",
            "rotary positions turn pairs of numbers: model.head_width must be even",
        ),
        (
            {"heads": 64, "head_width": 2048},
            "model.head_width=2048 cannot work",
            "all model.heads=64 together may be 65,536 wide",
        ),
    ],
)
def test_options_that_cannot_work_are_named(settings: dict[str, Any], said: str, hint: str) -> None:
    with pytest.raises(ConfigError) as found:
        TransformerConfig(**settings)
    assert (found.value.message, found.value.hint) == (said, hint)


@pytest.mark.parametrize("share", [1.0, 1.5])
@pytest.mark.parametrize("kind", get_args(ModelConfig))
def test_not_everything_can_be_dropped(kind: type[ModelConfig], share: float) -> None:
    with pytest.raises(ConfigError, match=rf"model\.dropout={share} cannot work"):
        kind(dropout=share)
    assert kind(dropout=0.99).dropout == 0.99


def test_buckets_matter_only_to_relative_positions() -> None:
    assert TransformerConfig(buckets=3, max_distance=1).buckets == 3
    assert TransformerConfig(positions="relative", buckets=4, max_distance=3).placing == "relative"


def test_heads_may_have_a_width_of_their_own() -> None:
    assert TransformerConfig().d_k == 64
    assert TransformerConfig(width=10, heads=3, head_width=6).d_k == 6  # which need not divide the width


def test_only_learned_positions_have_a_table() -> None:
    assert TransformerConfig(positions="learned", max_positions=7).table_rows == 7


def test_an_architecture_that_says_nothing_has_no_attention() -> None:
    bare = Architecture()
    assert (bare.depths, bare.attention, bare.scoring, bare.placing) == ((0, 0), {}, None, None)
    assert not bare.is_native
    assert bare.table_rows is None


@pytest.mark.parametrize(("key", "most"), MOST.items())
def test_settings_have_an_end(key: str, most: int) -> None:
    """At the limit a setting is taken, one above it is refused, and so is one that no line could print."""
    section, name = key.split(".")
    kinds = {"data": DataConfig, "training": TrainingConfig, "decoding": DecodingConfig}
    model = RnnConfig if name == "layers" else TransformerConfig
    build = partial(kinds.get(section, model), **{"beam": most} if name == "n_best" else {})
    if name == "heads":
        build = partial(build, width=65_536 // most * most)
    if name == "buckets":  # the limit itself must be of use
        build = partial(build, positions="relative", max_distance=MOST["model.max_distance"])
    assert getattr(build(**{name: most}), name) == most
    for value, said in ((most + 1, str(most + 1)), (10**4000, "…")):
        with pytest.raises(ConfigError) as found:
            build(**{name: value})
        assert found.value.message == f"{key}={said} cannot work"
        assert found.value.hint == f"choose {most:,} or less"
