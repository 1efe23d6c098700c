"""Every named size is a valid configuration."""

import pytest

from jumok.config import ARCHS, Arch, TransformerConfig
from jumok.errors import ConfigError
from jumok.presets import PRESETS, preset
from jumok.settings import nest, parse_config


@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize("name", PRESETS)
def test_every_preset_of_every_architecture_is_a_valid_model(name: str, arch: str) -> None:
    settings = preset(name, arch)
    model = parse_config(nest(settings)).model
    assert model.arch == arch
    for key, value in settings.items():
        assert getattr(model, key.removeprefix("model.")) == value


def test_the_names_are_those_of_the_handbook() -> None:
    assert PRESETS == ("tiny", "small", "base", "big", "fast")


def test_base_is_the_papers_model() -> None:
    assert parse_config(nest(preset("base", "transformer"))).model == TransformerConfig()


@pytest.mark.parametrize("arch", ARCHS)
def test_sizes_grow_from_tiny_to_big(arch: str) -> None:
    widths = [preset(name, arch)["model.width"] for name in ("tiny", "small", "base", "big")]
    assert widths == sorted(set(widths))


def test_fast_has_a_deep_encoder_and_a_shallow_decoder() -> None:
    fast = preset("fast", "transformer")
    assert (fast["model.encoder_layers"], fast["model.decoder_layers"]) == (12, 1)


@pytest.mark.parametrize("arch", ["rnn", "luong"])
def test_fast_is_as_wide_as_base_and_less_deep(arch: Arch) -> None:
    fast, base = preset("fast", arch), preset("base", arch)
    assert fast["model.width"] == base["model.width"]
    assert fast["model.layers"] < base["model.layers"]


def test_an_unknown_preset_offers_the_nearest() -> None:
    with pytest.raises(ConfigError) as caught:
        preset("tinny", "rnn")
    assert str(caught.value) == "unknown preset 'tinny'\n  given by --preset\n  did you mean 'tiny'?"


def test_an_unknown_preset_far_from_all_lists_them() -> None:
    with pytest.raises(ConfigError, match="known: base, big, fast, small, tiny"):
        preset("enormous", "transformer")


def test_an_unknown_architecture_offers_the_nearest() -> None:
    with pytest.raises(ConfigError) as caught:
        preset("tiny", "transfomer")
    assert str(caught.value) == "unknown architecture 'transfomer'\n  did you mean 'transformer'?"
    assert caught.value.code == "unknown_arch"
